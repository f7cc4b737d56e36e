"""Rows of data: empty cells, lists in one cell, bounds, tokens.

A token passes every rule: only Terraform knows its value.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, get_args

import cdktf
from pydantic import (
    BaseModel,
    ConfigDict,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from opsconsole.definition import ResourceDefinition
from opsconsole_cdktf._rules import is_token

_SEPARATOR = ";"
"""Between the items of a list in one cell of a table."""
_ONE_REFERENCE = re.compile(r"\$\{[^{}]*\}|#\{TfToken\[[^]]*\]\}")


def items_of(cell: str) -> list[str]:
    """Return the items of a list that is written in one cell."""
    return [item.strip() for item in cell.split(_SEPARATOR) if item.strip()]


class Row(BaseModel):
    """A row, checked by the bounds that the constructs and the provider check.

    Attributes:
        DEFINITION: The resource whose bounds apply to its attributes among the fields.
        LITERAL: Fields without tokens, as the running program needs them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)
    DEFINITION: ClassVar[ResourceDefinition | None] = None
    LITERAL: ClassVar[frozenset[str]] = frozenset()

    @field_validator("*", mode="wrap")
    @classmethod
    def _read_cell(
        cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> Any:
        name = info.field_name or ""
        several = _is_list_field(cls, name)
        # A table has no null: an empty cell says nothing.
        if isinstance(value, str) and not value.strip():
            value = None
        # A token is text, even for a value of another type: `handler` would refuse it.
        if name not in cls.LITERAL and _is_whole_token(value, several):
            return value.strip() if isinstance(value, str) else value
        if several and isinstance(value, str):
            value = items_of(value)
        elif several and isinstance(value, list):
            value = [_as_text(item) for item in value]
        return handler(value)

    @field_validator("*", mode="after")
    @classmethod
    def _keep_bounds(cls, value: Any, info: ValidationInfo) -> Any:
        attribute = cls.DEFINITION and cls.DEFINITION.by_name.get(info.field_name or "")
        for item in value if isinstance(value, list) else [value]:
            violation = None if is_token(item) or not attribute else attribute.bounds.check(item)
            if violation is not None:
                raise ValueError(f"{violation.problem}: {violation.expected}")
        return value


def _is_whole_token(value: Any, several: bool) -> bool:
    """Return whether a token stands for the whole value, and not for one item of a cell."""
    # A cell may hold a token beside other items, and is then taken apart.
    if several and isinstance(value, str):
        return _ONE_REFERENCE.fullmatch(value.strip()) is not None
    return is_token(value)


def _as_text(item: Any) -> Any:
    """Return an item of a list; a token that is an object becomes its text."""
    return cdktf.Token.as_string(item) if is_token(item) and not isinstance(item, str) else item


def _is_list_field(row: type[Row], name: str) -> bool:
    # The annotation may be `list[str] | None`, of which one part is the list.
    kind = row.model_fields[name].annotation
    return any(str(part).startswith("list[") for part in (kind, *get_args(kind)))
