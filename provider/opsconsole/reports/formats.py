"""The formats of a drift report and of a notification by name; nothing is rendered here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, cast

from opsconsole.drift.report import DriftReport


@dataclass(frozen=True, slots=True)
class Format:
    """A format of a drift report; its module is imported on use, as templates take time to load."""

    module: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Callable[..., str]:
        """Import and return the function that renders a report, with the options of its format.

        Raises:
            ModuleNotFoundError: The format needs an extra that is not installed.
        """
        return cast(Callable[..., str], import_module(f"opsconsole.reports.{self.module}").render)

    def __call__(self, report: DriftReport, **options: Any) -> str:
        """Return the report as text."""
        return self.load()(report, **self.options, **options)


FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {
        "terminal": Format("drift_text"),
        "json": Format("drift_json"),
        "markdown": Format("drift_markdown"),
        "github-issue": Format("drift_markdown", {"limit": 65_000}),
        "junit": Format("junit"),
        "prometheus": Format("prometheus"),
        "html": Format("html.drift_page"),
    }
)
NOTIFICATIONS: Final = ("json", "slack", "teams")
"""The formats of a notification; `notification` renders them."""
