"""Diagnostics: what a user is told. They are collected and returned, not thrown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

Path = tuple[str | int, ...]
"""From a resource's root to an attribute: names and list indexes. Empty: the whole resource."""


class Severity(Enum):
    """How grave a diagnostic is: an error stops the resource it speaks of, a warning nothing."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message to the user.

    Attributes:
        summary: One line without a full stop: what is wrong.
        detail: What was seen, and the remedy.
        path: The attribute at fault, or empty.
    """

    severity: Severity
    summary: str
    detail: str = ""
    path: Path = ()


def error(summary: str, detail: str = "", path: Path = ()) -> Diagnostic:
    """Make a diagnostic that stops the resource it speaks of."""
    return Diagnostic(Severity.ERROR, summary, detail, path)


def warning(summary: str, detail: str = "", path: Path = ()) -> Diagnostic:
    """Make a diagnostic that stops nothing."""
    return Diagnostic(Severity.WARNING, summary, detail, path)


def has_error(diagnostics: Iterable[Diagnostic]) -> bool:
    """Tell whether any of `diagnostics` is an error."""
    return any(item.severity is Severity.ERROR for item in diagnostics)
