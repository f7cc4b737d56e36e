"""Diagnostics (errors and warnings for the user), and the paths of attributes.

Diagnostics are collected and returned, not raised.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from opsconsole.errors import Cause, OpsconsoleError, UserError

AttributePath = tuple[str | int, ...]
"""From a resource's root to an attribute: names and list indexes. Empty: the whole resource."""


class Severity(Enum):
    """The severity of a diagnostic: only an error stops the resource that it is about."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error or warning for the user, in words and in facts for other software.

    Attributes:
        summary: The problem, on one line without a full stop.
        detail: The observation and the remedy, without the text of `cause`.
        path: The attribute at fault, or empty.
        cause: The error behind it, such as an answer of the console.
        addresses: The resources that it is about, as far as the engine knows them.
        location: `FILE:LINE` of the declaration at fault, or empty.
    """

    severity: Severity
    summary: str
    detail: str = ""
    path: AttributePath = ()
    cause: Cause | None = None
    addresses: tuple[str, ...] = ()
    location: str = ""

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR

    @property
    def text(self) -> str:
        """The detail and the text of the cause, for formats with one field for both."""
        return "\n".join(filter(None, (self.detail, self.cause.text if self.cause else "")))

    def about(self, address: str) -> Diagnostic:
        """Return this diagnostic as one about `address`, unless it already names resources."""
        if self.addresses or not address:
            return self
        return replace(self, addresses=(address,))


def error(
    summary: str, detail: str = "", path: AttributePath = (), cause: Cause | None = None
) -> Diagnostic:
    """Make a diagnostic that stops the resource that it is about."""
    return Diagnostic(Severity.ERROR, summary, detail, path, cause)


def warning(
    summary: str, detail: str = "", path: AttributePath = (), cause: Cause | None = None
) -> Diagnostic:
    """Make a diagnostic that stops nothing."""
    return Diagnostic(Severity.WARNING, summary, detail, path, cause)


def has_error(diagnostics: Iterable[Diagnostic]) -> bool:
    return any(item.is_error for item in diagnostics)


class Mistakes(UserError):
    """Several mistakes in one input."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(dict.fromkeys(diagnostics))
        lines = (f"{item.summary}. {item.detail}".rstrip() for item in self.diagnostics)
        super().__init__("\n".join(lines))


def diagnostics_of(problem: OpsconsoleError) -> tuple[Diagnostic, ...]:
    """Return an error of input as diagnostics: the first line of its message is the summary."""
    if isinstance(problem, Mistakes):
        return problem.diagnostics
    summary, _, rest = problem.message.partition("\n")
    return (error(summary.removesuffix("."), f"{rest}\n{problem.remedy}".strip("\n")),)


def are_temporary(diagnostics: Iterable[Diagnostic]) -> bool:
    """Return whether there are errors and all of them report only that the console was too busy."""
    errors = [item for item in diagnostics if item.is_error]
    return bool(errors) and all(item.cause and item.cause.is_temporary for item in errors)


def leading_names(paths: Iterable[AttributePath]) -> frozenset[str]:
    """Return the names of the attributes at which paths begin; an empty path has none."""
    return frozenset(str(path[0]) for path in paths if path)
