"""Rows in memory, by id, in order of creation, with indexes that are built when first asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Row = dict[str, Any]
"""A row: only the fields that are set. It is replaced, never changed in place."""

LISTS = (
    "additional_names",
    "tags",
    "eligible_subnets",
    "jump_host_ids",
    "read_orgs",
    "write_orgs",
)


def fault_of_row(fields: Row) -> str | None:
    """Return what breaks the rules in a row from outside the API, or None."""
    for name, value in fields.items():
        if name == "id":
            good = type(value) is str and value.encode("utf-8", "replace").decode() == value
        elif name.endswith("_id"):
            good = value is None or type(value) is str
        elif name in LISTS:
            good = value is None or (
                type(value) is list and all(type(item) is str for item in value)
            )
        else:
            good = name != "name" or type(value) is str
        if not good:
            return f"{name} cannot be {value!r}"
    return None


class Table:
    """One collection of rows.

    `dirty` holds the ids that were written or removed since it was last cleared, and `version`
    counts the writes.
    """

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.dirty: dict[str, None] = {}
        self.version = 0
        self._indexes: dict[str, dict[Any, dict[str, None]]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows.values())

    def get(self, row_id: str) -> Row | None:
        """Return the row, or None."""
        return self.rows.get(row_id)

    def put(self, row: Row) -> None:
        """Add the row, or replace the one that has its id."""
        row_id = row["id"]
        if self._indexes:
            self._reindex(row_id, self.rows.get(row_id), row)
        self.rows[row_id] = row
        self.dirty[row_id] = None
        self.version += 1

    def remove(self, row_id: str) -> Row | None:
        """Take the row out and return it, or None where there is none."""
        row = self.rows.pop(row_id, None)
        if row is not None:
            self._reindex(row_id, row, None)
            self.dirty[row_id] = None
            self.version += 1
        return row

    def find(self, field: str, value: Any) -> list[Row]:
        """Return the rows whose `field` is `value`, or, for a list, holds it."""
        index = self._indexes.get(field)
        if index is None:
            index = self._indexes[field] = {}
            for row_id, row in self.rows.items():
                for key in _keys(row.get(field)):
                    index.setdefault(key, {})[row_id] = None
        return [self.rows[row_id] for row_id in index.get(value, ())]

    def clear(self) -> None:
        """Remove every row."""
        self.dirty.update(dict.fromkeys(self.rows))
        self.rows.clear()
        self._indexes.clear()
        self.version += 1

    def _reindex(self, row_id: str, old: Row | None, new: Row | None) -> None:
        for field, index in self._indexes.items():
            before = old.get(field) if old is not None else None
            after = new.get(field) if new is not None else None
            if before == after:
                continue
            for key in _keys(before):
                entry = index.get(key)
                if entry is not None:
                    entry.pop(row_id, None)
                    if not entry:
                        del index[key]
            for key in _keys(after):
                index.setdefault(key, {})[row_id] = None


def _keys(value: Any) -> tuple[Any, ...]:
    if value is None or isinstance(value, dict):
        return ()
    if isinstance(value, list):
        return tuple(item for item in value if isinstance(item, str))
    return (value,)
