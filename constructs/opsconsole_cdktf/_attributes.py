"""Attributes of constructs as descriptors: reading gives a token, assigning declares a value.

jsii makes a token when it is first read, once for each construct and attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Generic, Never, Protocol, Self, TypeAlias, TypeVar, overload

import cdktf
import jsii

from opsconsole.definition import (
    Attribute,
    DataSourceDefinition,
    ProviderDefinition,
    ResourceDefinition,
)
from opsconsole_cdktf._rules import check_value, is_token
from opsconsole_cdktf._trees import Tree

Out = TypeVar("Out")
In = TypeVar("In")
Chosen = TypeVar("Chosen", bound=str)


Definition: TypeAlias = Attribute | DataSourceDefinition | ProviderDefinition | ResourceDefinition
"""An owner of attributes, nested ones too."""


class Holder(Protocol):
    """An object with attributes that may be declared."""

    _values: dict[str, Any]

    def _assign(self, name: str, value: Any) -> None: ...


class Described(Protocol):
    """A class whose descriptors take their descriptions and bounds from a definition."""

    _definition: ClassVar[Definition]


class Named:
    """A descriptor with its name and its description."""

    name = ""
    _attribute: Attribute

    def __set_name__(self, owner: type[Described], name: str) -> None:
        self.name = name
        self._attribute = next(item for item in owner._definition.attributes if item.name == name)
        self.__doc__ = self._attribute.full_description


class Output(Named, Generic[Out]):
    """An attribute that only the console supplies; reading it gives a token."""

    def __init__(self, *, token: Callable[[Any, str], Out]) -> None:
        self._token = token

    @overload
    def __get__(self, construct: None, owner: type) -> Self: ...
    @overload
    def __get__(self, construct: Any, owner: type) -> Out: ...
    def __get__(self, construct: Any, owner: type) -> Any:
        if construct is None:
            return self
        tokens = construct._tokens
        if self.name not in tokens:
            token = tokens[self.name] = self._token(construct, self.name)
            tree: Tree | None = getattr(construct, "_tree", None)
            if tree is not None and isinstance(token, str):
                tree.token_owners[token] = (construct, self.name)
        return tokens[self.name]

    def __set__(self, construct: Any, value: Never) -> None:
        raise AttributeError(f"{self.name} is supplied by the console: it cannot be declared")


class Settable(Named, Generic[In]):
    """An attribute that may be declared."""

    def check(self, value: Any) -> Any:
        """Return `value` as it is synthesised; raise TypeError or ValueError for a wrong one."""
        return check_value(self._attribute.kind, self._attribute.bounds, value)

    def __set__(self, construct: Holder, value: In | None) -> None:
        construct._assign(self.name, value)


class Argument(Settable[In], Output[Out], Generic[Out, In]):
    """An attribute that may be declared; reading it gives a token for the value in Terraform."""


class DeclaredValue(Generic[In]):
    """Reading gives the declared value of an argument, or None."""

    name: str

    @overload
    def __get__(self, construct: None, owner: type) -> Self: ...
    @overload
    def __get__(self, construct: Holder, owner: type) -> In | None: ...
    def __get__(self, construct: Holder | None, owner: type) -> Any:
        return self if construct is None else construct._values.get(self.name)


class Setting(Settable[In], DeclaredValue[In]):
    """A setting of the provider. Nothing can refer to it: reading gives the declared value."""


class Declaration(DeclaredValue[In]):
    """`NAME_input`: the value that is declared for an argument, or None."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name.removesuffix("_input")
        self.__doc__ = f"The value declared for `{self.name}`, or None."

    def __set__(self, construct: Any, value: Never) -> None:
        raise AttributeError(f"assign to `{self.name}` instead")


DeclaredChoice: TypeAlias = Declaration[Chosen | cdktf.IResolvable]
"""`NAME_input` of an argument that is one of several strings."""


class Reset:
    """`reset_NAME()`: take the declaration of an argument back."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._argument = name.removeprefix("reset_")
        self.__doc__ = f"Take the declaration of `{self._argument}` back."

    @overload
    def __get__(self, construct: None, owner: type) -> Self: ...
    @overload
    def __get__(self, construct: Holder, owner: type) -> Callable[[], None]: ...
    def __get__(self, construct: Holder | None, owner: type) -> Any:
        return self if construct is None else lambda: construct._assign(self._argument, None)


def _getter(method: str) -> Callable[[Any, str], Any]:
    """Return a function that gets the token of an attribute by a method of cdktf."""
    return lambda construct, name: jsii.invoke(construct, method, [name])


_string = _getter("getStringAttribute")
_number = _getter("getNumberAttribute")
_boolean = _getter("getBooleanAttribute")
_list = _getter("getListAttribute")
_map = _getter("getStringMapAttribute")


def _set(construct: Any, name: str) -> Any:
    # An element of a set has no index: Terraform wants a list for that.
    return cdktf.Fn.tolist(_list(construct, name))


class Choice(Argument[Chosen, Chosen | cdktf.IResolvable]):
    """A string that may be declared, of a fixed set."""

    def __init__(self) -> None:
        super().__init__(token=_string)


ChosenSetting: TypeAlias = Setting[Chosen | cdktf.IResolvable]
"""A string among the provider's settings, of a fixed set."""


# Attributes that the console supplies, by type.
text_output = partial(Output[str], token=_string)
whole_output = partial(Output[int], token=_number)
number_output = partial(Output[float], token=_number)
flag_output = partial(Output[cdktf.IResolvable], token=_boolean)
texts_output = partial(Output[list[str]], token=_list)
text_set_output = partial(Output[list[str]], token=_set)
text_map_output = partial(Output[dict[str, str]], token=_map)

# Attributes that may be declared, by type.
text = partial(Argument[str, str], token=_string)
whole = partial(Argument[int, int | cdktf.IResolvable], token=_number)
number = partial(Argument[float, int | float], token=_number)
flag = partial(Argument[cdktf.IResolvable, bool | cdktf.IResolvable], token=_boolean)
texts = partial(Argument[list[str], Sequence[str]], token=_list)
text_set = partial(Argument[list[str], Sequence[str]], token=_set)
text_map = partial(Argument[dict[str, str], Mapping[str, str]], token=_map)

# The provider's settings, by type.
text_setting = Setting[str]
whole_setting = Setting[int | cdktf.IResolvable]
number_setting = Setting[int | float]
flag_setting = Setting[bool | cdktf.IResolvable]
text_map_setting = Setting[Mapping[str, str]]


class Struct:
    """The declaration of an object: a dataclass whose fields are checked by a definition."""

    __slots__ = ()
    _definition: ClassVar[Definition]


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
        return self._fields(self._parent, self._attribute, index)


def _checked_struct(struct: type[StructT], value: Any) -> Any:
    if is_token(value):
        return value
    if isinstance(value, Mapping):
        value = struct(**value)
    if not isinstance(value, struct):
        raise TypeError(f"expected {struct.__name__} or a mapping, got {type(value).__name__}")
    result = {}
    for field in struct._definition.attributes:
        try:
            item = check_value(field.kind, field.bounds, getattr(value, field.name))
        except (TypeError, ValueError) as problem:
            raise type(problem)(f"{field.name}: {problem}") from None
        if item is not None:
            result[field.name] = item
    return result


class ObjectArgument(Argument[FieldsT, StructT | Mapping[str, Any]]):
    """An object that may be declared."""

    def __init__(self, struct: type[StructT], fields: type[FieldsT]) -> None:
        super().__init__(token=fields)
        self._struct = struct

    def check(self, value: Any) -> Any:
        return None if value is None else _checked_struct(self._struct, value)


class ObjectsArgument(
    Argument[ObjectList[FieldsT], Sequence[StructT | Mapping[str, Any]] | cdktf.IResolvable]
):
    """A list of objects that may be declared."""

    def __init__(self, struct: type[StructT], fields: type[FieldsT]) -> None:
        super().__init__(token=partial(ObjectList, fields=fields))
        self._struct = struct

    def check(self, value: Any) -> Any:
        if value is None or is_token(value):
            return value
        if isinstance(value, (str, Mapping)) or not isinstance(value, Sequence):
            raise TypeError(f"expected a list, got {type(value).__name__}")
        return [_checked_struct(self._struct, item) for item in value]


def objects_output(fields: type[FieldsT]) -> Output[ObjectList[FieldsT]]:
    """A list of objects that the console supplies."""
    return Output(token=partial(ObjectList, fields=fields))
