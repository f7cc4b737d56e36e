"""Rows of data before they are checked, and the error for unusable ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from opsconsole_cdktf.rows import HostRow

Columns: TypeAlias = Mapping[str, str | None]
"""Name of a column to the name of a row's field; None: the column is not read."""


class BadRows(ValueError):
    """Rows that cannot be used: one line each, with file, line, field and problem."""


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """A row, and its place: `hosts.csv:17`."""

    place: str
    values: HostRow | Mapping[str, Any]
