"""The list of calls whose outcome nobody knows, kept beside the state until someone says it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from opsconsole.errors import UserError
from opsconsole.state.failures import refused
from opsconsole.state.local import replace_durably
from opsconsole.state.records import Intent


def read_unresolved(path: Path) -> list[Intent]:
    """Return the listed calls; none when there is no list.

    Raises:
        UserError: The list cannot be read.
    """
    try:
        return [Intent(**item) for item in json.loads(path.read_bytes())["calls"]]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise refused("read", path, error, "Nothing was changed.") from error
    except (ValueError, LookupError, TypeError) as error:
        raise UserError(f"{path} is not a list of calls of unknown outcome: {error}.") from error


def write_unresolved(path: Path, calls: Iterable[Intent]) -> None:
    """Write the list, durably; an empty one is no file.

    Raises:
        UserError: It cannot be written; it is as it was.
    """
    listed = [asdict(call) for call in calls]
    if listed:
        replace_durably(path, json.dumps({"version": 1, "calls": listed}, indent=2).encode())
        return
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise refused("remove", path, error, "It is as it was.") from error
