"""The formats of a drift report by name, and the one function behind each.

Renderers are imported when they are used: templates and metrics take time to load.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, cast

from opsconsole.drift.report import DriftReport


def _rendered(module: str, report: DriftReport, **options: Any) -> str:
    return cast(str, import_module(f"opsconsole.reports.{module}").render(report, **options))


FORMATS: Final[Mapping[str, Callable[..., str]]] = MappingProxyType(
    {
        "terminal": partial(_rendered, "drift_text"),
        "json": partial(_rendered, "drift_json"),
        "markdown": partial(_rendered, "drift_markdown"),
        "junit": partial(_rendered, "junit"),
        "sarif": partial(_rendered, "sarif"),
        "prometheus": partial(_rendered, "prometheus"),
        "html": partial(_rendered, "html.drift_page"),
    }
)
"""Renders a report, with the options that its format has."""
