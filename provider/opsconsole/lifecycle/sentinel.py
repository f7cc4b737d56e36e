"""What is remembered and said of a create that was sent and whose outcome is not known.

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

_STATUS, _SENT, _NOTED = "dry_run_said", "sent_at", "noted_at"
_ARRIVES_WITHIN = 900
"""Seconds after which a console no longer carries out what it was sent."""


def sent_now(dry_run_status: str) -> dict[str, Any]:
    """Return what is remembered of a create that is of unknown outcome from now on.

    Args:
        dry_run_status: What a dry run called it before it was sent, or empty.
    """
    return {_STATUS: dry_run_status, _SENT: int(time.time())}


def sent_by_a_run_that_ended(dry_run_status: str) -> dict[str, Any]:
    """Return what is remembered of a create that matters only if its run ends before it.

    Args:
        dry_run_status: As for `sent_now`.
    """
    return {_STATUS: dry_run_status, _SENT: 0, _NOTED: int(time.time())}


def dry_run_status_of(remembered: Mapping[str, Any]) -> str:
    """Return what a dry run called such a create before it was sent, or nothing."""
    status = remembered.get(_STATUS)
    return status if isinstance(status, str) else ""


def may_still_arrive(remembered: Mapping[str, Any]) -> bool:
    """Return whether such a create was sent so lately that it may yet take effect."""
    sent = remembered.get(_SENT)
    return not isinstance(sent, int) or _is_recent(sent)


def was_noted_lately(remembered: Mapping[str, Any]) -> bool:
    """Return whether such a create may yet take effect, also where the run that sent it has ended.

    The end of a run does not call back what the console has taken.
    """
    noted = remembered.get(_NOTED)
    return may_still_arrive(remembered) or (isinstance(noted, int) and _is_recent(noted))


def was_sent_lately(at: str) -> bool:
    """Return whether a create may yet take effect that was sent at this time (ISO 8601)."""
    try:
        sent = datetime.fromisoformat(at)
    except ValueError:
        return True
    return _is_recent(sent.timestamp())


def _is_recent(sent: float) -> bool:
    return time.time() - sent < _ARRIVES_WITHIN


def remedy(import_id: str, address: str, command: str) -> str:
    """Return what a user does about a create whose outcome stays unknown."""
    where = f"'{address}'" if address else "ADDRESS"
    return (
        f"Look it up in the console. If it was never created: `{command} state rm {where}` and "
        f"apply again. If it was: `{command} state rm {where}` and "
        f"`{command} import {where} {import_id}`."
    )


def outcome_lost(name: str, cause: Cause, import_id: str, address: str, command: str) -> Diagnostic:
    """Say that a create was sent and its outcome is not known; `command` is the engine's own."""
    return error(
        f"It is not known whether the {name} was created",
        "The create was sent, and no answer shows whether it took place. It is not sent again, so "
        f"that nothing is created twice. {remedy(import_id, address, command)}",
        cause=cause,
    )


def still_unsettled(name: str, import_id: str, address: str, command: str) -> Diagnostic:
    """Say at plan time that an earlier create is still unsettled."""
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
