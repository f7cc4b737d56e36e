"""The formats of a drift report and of a notification by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from opsconsole.drift.model import DriftReport


@dataclass(frozen=True, slots=True)
class Format:
    """A format of a drift report; its module is imported on use, as templates take time to load.

    Attributes:
        readable: Whether it renders the report for readers, not the values of the check.
    """

    module: str
    options: Mapping[str, Any] = field(default_factory=dict)
    readable: bool = False

    def load(self) -> Callable[..., str]:
        """Import and return the rendering function; ModuleNotFoundError without its extra."""
        render: Callable[..., str] = resolve_name(f"opsconsole.reports.{self.module}:render")
        return render

    def __call__(self, report: DriftReport, **options: Any) -> str:
        if not self.readable:
            return self.load()(report)
        from opsconsole.reports.drift_view import make_view

        return self.load()(make_view(report), **self.options, **options)


FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {
        "terminal": Format("terminal", readable=True),
        "json": Format("drift_json"),
        "markdown": Format("markdown", readable=True),
        # GitHub refuses an issue of more than 65,536 characters.
        "github-issue": Format("markdown", {"limit": 65_000}, readable=True),
        "junit": Format("junit"),
        "prometheus": Format("prometheus"),
        "html": Format("html.page", readable=True),
    }
)
NOTIFICATIONS: Final = ("json", "slack", "teams")
"""The formats of a notification; `notification` renders them."""
