"""Objects inside attributes: how they are declared, and how their fields are referred to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import cdktf

from opsconsole.bounds import Bounds
from opsconsole_cdktf._attributes import Argument, Output
from opsconsole_cdktf._rules import Kind, checked, is_token

Check: TypeAlias = tuple[Kind, Bounds]
"""What one field of an object may be."""


class Struct:
    """The declaration of an object: a dataclass, and what each of its fields may be."""

    __slots__ = ()
    CHECKS: ClassVar[Mapping[str, Check]]


class Fields(cdktf.ComplexObject):
    """The tokens of one object's fields."""

    def __init__(self, parent: Any, attribute: str, index: int | str | None = None) -> None:
        self._tokens: dict[str, Any] = {}
        super().__init__(parent, attribute, False, index)


FieldsT = TypeVar("FieldsT", bound=Fields)
StructT = TypeVar("StructT", bound=Struct)


class ObjectList(cdktf.ComplexList, Generic[FieldsT]):
    """The tokens of a list of objects; `all_with_map_key` makes an iterator of it."""

    def __init__(self, parent: Any, attribute: str, fields: type[FieldsT]) -> None:
        self._parent = parent
        self._attribute = attribute
        self._fields = fields
        super().__init__(parent, attribute, False)

    def get(self, index: int) -> FieldsT:
        """Return the tokens of the object at `index`, from 0."""
        return self._fields(self._parent, self._attribute, index)


def _checked_struct(struct: type[StructT], value: Any) -> Any:
    if is_token(value):
        return value
    if isinstance(value, Mapping):
        value = struct(**value)
    if not isinstance(value, struct):
        raise TypeError(f"expected {struct.__name__} or a mapping, got {type(value).__name__}")
    result = {}
    for name, (kind, bounds) in struct.CHECKS.items():
        try:
            item = checked(kind, bounds, getattr(value, name))
        except (TypeError, ValueError) as failure:
            raise type(failure)(f"{name}: {failure}") from None
        if item is not None:
            result[name] = item
    return result


class ObjectArgument(Argument[FieldsT, StructT | Mapping[str, Any]]):
    """An object that may be declared."""

    def __init__(self, doc: str, struct: type[StructT], fields: type[FieldsT]) -> None:
        super().__init__(doc, token=fields, kind=Kind.TEXT)
        self._struct = struct

    def checked(self, value: Any) -> Any:
        return None if value is None else _checked_struct(self._struct, value)


class ObjectsArgument(
    Argument[ObjectList[FieldsT], Sequence[StructT | Mapping[str, Any]] | cdktf.IResolvable]
):
    """A list of objects that may be declared."""

    def __init__(self, doc: str, struct: type[StructT], fields: type[FieldsT]) -> None:
        super().__init__(doc, token=partial(ObjectList, fields=fields), kind=Kind.TEXTS)
        self._struct = struct

    def checked(self, value: Any) -> Any:
        if value is None or is_token(value):
            return value
        if isinstance(value, (str, Mapping)) or not isinstance(value, Sequence):
            raise TypeError(f"expected a list, got {type(value).__name__}")
        return [_checked_struct(self._struct, item) for item in value]


def objects_output(doc: str, fields: type[FieldsT]) -> Output[ObjectList[FieldsT]]:
    """A list of objects that the console supplies."""
    return Output(doc, token=partial(ObjectList, fields=fields))
