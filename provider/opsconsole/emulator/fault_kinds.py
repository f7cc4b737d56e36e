"""The faults by name: what a console, a gateway before it or the line between may do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_HTML = {"text": "<html><h1>Bad gateway</h1></html>", "content_type": "text/html"}


def _error(status: int, code: str, **more: Any) -> dict[str, Any]:
    return {"status": status, "code": code, **more}


KINDS: Mapping[str, Mapping[str, Any]] = {
    # The line.
    "reset_before": {"cut": "before"},
    "reset_after": {"cut": "after"},
    "cut_answer": {"truncate": 10},
    "late_answer": {"answer_delay": 1.5},
    "late_effect": {"delay": 1.5},
    # The console refuses; nothing is done.
    "bad_request": _error(400, "BAD_REQUEST"),
    "bad_field": _error(400, "VALIDATION_FAILED", field="name"),
    "bad_fields": _error(
        400,
        "VALIDATION_FAILED",
        errors=[{"field": "name", "message": "is bad"}, {"field": "tags", "message": "are bad"}],
    ),
    "invalid_cursor": _error(400, "INVALID_CURSOR"),
    "unauthorized": _error(401, "UNAUTHORIZED"),
    "forbidden": _error(403, "FORBIDDEN"),
    "org_denied": _error(403, "ORG_ACCESS_DENIED"),
    "license_cap": _error(403, "LICENSE_CAP_REACHED"),
    "license_expired": _error(403, "LICENSE_EXPIRED"),
    "not_found": _error(404, "NOT_FOUND"),
    "conflict": _error(409, "CONFLICT", details={"agent_id": "agt_elsewhere"}),
    "too_large": _error(413, "BAD_REQUEST"),
    "rate_limited": _error(429, "RATE_LIMITED"),
    "rate_limited_seconds": _error(429, "RATE_LIMITED", headers={"Retry-After": "0"}),
    "rate_limited_date": _error(429, "RATE_LIMITED", retry_after_date=0),
    # Somebody between may say so, before the console did it or after.
    "request_timeout": _error(408, "TIMEOUT"),
    "request_timeout_after": _error(408, "TIMEOUT", handled=True),
    "internal_error": _error(500, "INTERNAL_ERROR"),
    "internal_error_after": _error(500, "INTERNAL_ERROR", handled=True),
    "bad_gateway": {"status": 502, **_HTML},
    "bad_gateway_after": {"status": 502, "handled": True, **_HTML},
    "unavailable": _error(503, "UNAVAILABLE"),
    "unavailable_after": _error(503, "UNAVAILABLE", handled=True),
    "gateway_timeout": _error(504, "GATEWAY_TIMEOUT"),
    "gateway_timeout_after": _error(504, "GATEWAY_TIMEOUT", handled=True),
    # The console did it, and answers something else.
    "wrong_shape": {"answer": "array"},
    "empty_object": {"answer": "bare"},
    "null_answer": {"answer": "null"},
    "other_object": {"answer": "other"},
    "ids_null": {"ids": "null"},
    "ids_number": {"ids": "number"},
    "ids_dots": {"ids": "dots"},
    "ids_empty": {"ids": "empty"},
    "ids_huge": {"ids": "huge"},
    "ids_crossed": {"ids": "crossed"},
    "garbage": {"garbage": 256},
    "redirect_same": {"redirect": "same"},
    "redirect_other": {"redirect": "other"},
    "gzip_bomb": {"inflates_to": 1 << 30},
    "endless": {"endless": True},
}
"""Name to the members of `faults.Fault` that make it."""
