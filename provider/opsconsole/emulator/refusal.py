"""The error shape of the document, as exceptions that a rule raises and the server answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Refusal(Exception):
    """A request that is refused, in the words of the document's Errors part.

    `field` is set when one input is at fault, `errors` when several are.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        field: str | None = None,
        errors: Sequence[tuple[str, str]] = (),
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field
        self.errors = errors
        self.details = details

    @property
    def explained(self) -> str:
        """What is wrong, in one line."""
        return "; ".join(f"{name} {text}" for name, text in self.errors) or self.message

    def body(self, request_id: str) -> dict[str, Any]:
        """Return the error body; members that say nothing are left out."""
        body: dict[str, Any] = {
            "code": self.code,
            "message": self.message,
            "request_id": request_id,
        }
        if self.field is not None:
            body["field"] = self.field
        if self.errors:
            body["errors"] = [{"field": name, "message": text} for name, text in self.errors]
        if self.details is not None:
            body["details"] = self.details
        return body


def malformed(message: str, field: str | None = None) -> Refusal:
    """400: the body, or a parameter, cannot be read."""
    return Refusal(400, "BAD_REQUEST", message, field)


def invalid(errors: Sequence[tuple[str, str]]) -> Refusal:
    """400: one or several inputs are missing, malformed, or not allowed."""
    if len(errors) == 1:
        name, text = errors[0]
        return Refusal(400, "VALIDATION_FAILED", f"{name} {text}", name)
    return Refusal(400, "VALIDATION_FAILED", f"{len(errors)} fields are at fault", None, errors)


def unauthorized(message: str) -> Refusal:
    """401: no credentials, or the key is invalid, revoked or expired."""
    return Refusal(401, "UNAUTHORIZED", message)


def not_found(what: str, row_id: str) -> Refusal:
    """404: no such row that this caller can see."""
    return Refusal(404, "NOT_FOUND", f"no {what} {row_id}")


def license_cap() -> Refusal:
    """403: the license allows no more objects."""
    return Refusal(403, "LICENSE_CAP_REACHED", "the license allows no more hosts or agents")


def conflict(message: str, details: dict[str, Any] | None = None) -> Refusal:
    """409. The name of its code is not shown in the document."""
    return Refusal(409, "CONFLICT", message, details=details)
