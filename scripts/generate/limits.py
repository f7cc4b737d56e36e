"""`docs/limits.md`: what the API document leaves open, and what is done about it, on one page."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, TypeAlias

from scripts.cdktn_twin import ROOT
from scripts.generate.layout import TEMPLATES

from opsconsole.resources import PROVIDER
from opsconsole.resources.capabilities import Reach, capabilities
from opsconsole.v1.operations import DOCUMENTED
from opsconsole.v1.settings import ENVIRONMENT, Settings

PATH = "docs/limits.md"
LEDGER = ROOT / "docs" / "ledger.toml"

Clause: TypeAlias = Mapping[str, Any]
"""One clause of the document: its `section`, what it says is `not_shown`, and `rows`, one for each
assumption: what is `open`, what is `assumed`, the `settings` and the emulator's `switches`."""

_REACH = {Reach.FULL: "done", Reach.PARTIAL: "done in part", Reach.NONE: "not done"}


def limits_files() -> dict[str, str]:
    """Return the page by its path in the checkout."""
    settings = Settings(base_url="https://console.example.com", api_key="svc_ak_none")
    sections: dict[str, list[Mapping[str, Any]]] = {}
    for clause in read_ledger():
        sections.setdefault(clause["section"], []).extend(clause["rows"])
    named = {name for rows in sections.values() for row in rows for name in row.get("settings", ())}
    page = TEMPLATES.get_template("limits.md.j2").render(
        sections=sections,
        documented=len(DOCUMENTED),
        capabilities=[item for item in capabilities(settings) if item.lifted_by],
        settings=[setting for setting in PROVIDER.attributes if setting.name in named],
        REACH=_REACH,
        ENVIRONMENT=ENVIRONMENT,
    )
    return {PATH: page}


def read_ledger() -> list[Clause]:
    """Return what the document leaves open, clause by clause, in its order."""
    clauses: list[Clause] = tomllib.loads(LEDGER.read_text("utf-8"))["clause"]
    return clauses
