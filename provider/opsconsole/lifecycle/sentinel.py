"""The record of a create that was sent and whose outcome is not known, and the messages about it.

It is never repeated blindly. The resource stays in state under a sentinel id until the user says
which it was: `state rm` (never created), or `state rm` and `import`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import Cause

_STATUS, _SENT = "dry_run_said", "sent_at"
_ARRIVES_WITHIN = 900
"""Seconds after which a console no longer carries out what it was sent."""


def sent_now(dry_run_status: str) -> dict[str, Any]:
    """Return the record of a create whose outcome is unknown from now on.

    Args:
        dry_run_status: What a dry run called it before it was sent, or empty.
    """
    return {_STATUS: dry_run_status, _SENT: int(time.time())}


def dry_run_status_of(remembered: Mapping[str, Any]) -> str:
    """Return the status that a dry run gave such a create before it was sent, or nothing."""
    status = remembered.get(_STATUS)
    return status if isinstance(status, str) else ""


def may_still_arrive(remembered: Mapping[str, Any]) -> bool:
    """Return whether such a create was sent so recently that it may still take effect."""
    sent = remembered.get(_SENT)
    return not isinstance(sent, int) or _is_recent(sent)


def was_sent_lately(at: str) -> bool:
    """Return whether a create that was sent at this time (ISO 8601) may still take effect."""
    try:
        sent = datetime.fromisoformat(at)
    except ValueError:
        return True
    return _is_recent(sent.timestamp())


def _is_recent(sent: float) -> bool:
    return time.time() - sent < _ARRIVES_WITHIN


def remedy(import_id: str, address: str, command: str) -> str:
    """Return what the user can do about a create whose outcome stays unknown."""
    where = f"'{address}'" if address else "ADDRESS"
    return (
        f"Look it up in the console. If it was never created: `{command} state rm {where}` and "
        f"apply again. If it was: `{command} state rm {where}` and "
        f"`{command} import {where} {import_id}`."
    )


def outcome_lost(name: str, cause: Cause, import_id: str, address: str, command: str) -> Diagnostic:
    """Report that a create was sent and its outcome is not known; `command` is the engine's own."""
    return error(
        f"It is not known whether the {name} was created",
        "The create was sent, and no answer shows whether it took place. It is not sent again, so "
        f"that nothing is created twice. {remedy(import_id, address, command)}",
        cause=cause,
    )


def still_unsettled(name: str, import_id: str, address: str, command: str) -> Diagnostic:
    """Warn at plan time that the outcome of an earlier create is still not known."""
    return warning(
        f"It is not known whether the {name} was created",
        "An earlier run ended before it knew; applying does not touch it. "
        + remedy(import_id, address, command),
    )


def replacement_refused(name: str, import_id: str, address: str, command: str) -> Diagnostic:
    """Refuse to replace what may exist already."""
    return error(
        f"The {name} may exist already",
        "An earlier run ended before it knew, so applying might create a second one. "
        + remedy(import_id, address, command),
    )
