"""What rows of data have in common: empty cells, lists in one cell, bounds. No field here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

from opsconsole.bounds import UNBOUNDED, Bounds

_SEPARATOR = ";"
"""Between the items of a list in one cell of a table."""


def items_of(cell: str) -> list[str]:
    """Return the items of a list that is written in one cell."""
    return [item.strip() for item in cell.split(_SEPARATOR) if item.strip()]


class Row(BaseModel):
    """A row, checked by the bounds that the constructs and the provider check."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)
    BOUNDS: ClassVar[Mapping[str, Bounds]] = {}

    @field_validator("*", mode="before")
    @classmethod
    def _read_cell(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, str) and not value.strip():
            return None
        if isinstance(value, str) and _holds_list(cls, info.field_name or ""):
            return items_of(value)
        return value

    @field_validator("*", mode="after")
    @classmethod
    def _keep_bounds(cls, value: Any, info: ValidationInfo) -> Any:
        bounds = cls.BOUNDS.get(info.field_name or "", UNBOUNDED)
        for item in value if isinstance(value, list) else [value]:
            broken = bounds.broken(item)
            if broken is not None:
                raise ValueError(f"{broken.found}: {broken.wanted}")
        return value


def _holds_list(row: type[Row], name: str) -> bool:
    kind = row.model_fields[name].annotation
    return any(str(part).startswith("list[") for part in (kind, *get_args(kind)))
