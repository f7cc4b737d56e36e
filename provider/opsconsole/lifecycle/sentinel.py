"""The id that stands for "sent, but its outcome is not known".

A create whose answer was lost is never repeated blindly. The resource stays in state under such an
id until the user says which it was: `state rm` (never created), or `state rm` and `import`.
"""

from __future__ import annotations

import secrets

from opsconsole.diagnostics import Diagnostic, error, warning

_PREFIX = "outcome-unknown/"


def new_sentinel() -> str:
    """Return a new id that stands for an unknown outcome."""
    return _PREFIX + secrets.token_hex(8)


def is_sentinel(resource_id: object) -> bool:
    """Tell whether `resource_id` stands for an unknown outcome."""
    return isinstance(resource_id, str) and resource_id.startswith(_PREFIX)


def _remedy(import_id: str, address: str) -> str:
    where = address or "ADDRESS"
    return (
        f"Look it up in the console. If it was never created: `terraform state rm {where}` and "
        f"apply again. If it was: `terraform state rm {where}` and "
        f"`terraform import {where} {import_id}`."
    )


def outcome_lost(name: str, why: str, import_id: str, address: str) -> Diagnostic:
    """Say that a create was sent and its outcome is not known."""
    return error(
        f"Nobody knows whether the {name} was created",
        f"The create was sent, but no whole answer came: {why} It is not sent again, so that "
        f"nothing is created twice. {_remedy(import_id, address)}",
    )


def still_unsettled(name: str, import_id: str, address: str) -> Diagnostic:
    """Say at plan time that an earlier create is still unsettled."""
    return warning(
        f"Nobody knows whether the {name} was created",
        "An earlier run ended before it knew; applying refuses to touch it. "
        + _remedy(import_id, address),
    )


def replacement_refused(name: str, import_id: str, address: str) -> Diagnostic:
    """Refuse to replace what may exist already."""
    return error(
        f"The {name} may exist already",
        "An earlier run ended before it knew, so a second one would perhaps stand beside it. "
        + _remedy(import_id, address),
    )
