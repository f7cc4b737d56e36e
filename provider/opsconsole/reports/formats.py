"""The formats of a drift report by name, and the one function behind each.

Renderers are imported when they are used: templates and metrics take time to load.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final, cast

from opsconsole.drift.report import DriftReport

_HERE = "opsconsole.reports"


def _drift(module: str) -> Callable[[DriftReport], str]:
    def render(report: DriftReport) -> str:
        return cast(str, import_module(f"{_HERE}.{module}").render(report))

    return render


FORMATS: Final[Mapping[str, Callable[[DriftReport], str]]] = MappingProxyType(
    {
        "terminal": _drift("drift_text"),
        "json": _drift("drift_json"),
        "markdown": _drift("drift_markdown"),
        "junit": _drift("junit"),
        "sarif": _drift("sarif"),
        "prometheus": _drift("prometheus"),
        "html": _drift("html.drift_page"),
    }
)
"""The formats of a drift report."""
