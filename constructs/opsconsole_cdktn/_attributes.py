"""Attributes of constructs as descriptors: reading gives a token, assigning declares a value.

jsii makes a token when it is first read, once for each construct and attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, Never, Protocol, Self, TypeAlias, TypeVar, overload

import cdktn
import jsii

from opsconsole.bounds import UNBOUNDED, Bounds
from opsconsole_cdktn._rules import Kind, checked
from opsconsole_cdktn._trees import Tree

Out = TypeVar("Out")
In = TypeVar("In")
Chosen = TypeVar("Chosen", bound=str)


class Holder(Protocol):
    """An object with attributes that may be declared."""

    _values: dict[str, Any]

    def _assign(self, name: str, value: Any) -> None: ...


class Named:
    """A descriptor that knows its name and what it is for."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


class Output(Named, Generic[Out]):
    """An attribute that only the console supplies; reading it gives a token."""

    def __init__(self, doc: str, *, token: Callable[[Any, str], Out]) -> None:
        super().__init__(doc)
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
                tree.handed_out[token] = (construct, self.name)
        return tokens[self.name]

    def __set__(self, construct: Any, value: Never) -> None:
        raise AttributeError(f"{self.name} is supplied by the console: it cannot be declared")


class Declarable(Named, Generic[In]):
    """An attribute that may be declared."""

    def __init__(self, doc: str, bounds: Bounds = UNBOUNDED, *, kind: Kind) -> None:
        Named.__init__(self, doc)  # in an argument, `super()` is `Output`
        self._kind = kind
        self._bounds = bounds

    def checked(self, value: Any) -> Any:
        """Return `value` as it is synthesised; TypeError or ValueError where it cannot be."""
        return checked(self._kind, self._bounds, value)

    def __set__(self, construct: Holder, value: In | None) -> None:
        construct._assign(self.name, value)


class Argument(Declarable[In], Output[Out], Generic[Out, In]):
    """An attribute that may be declared; reading it gives a token for what Terraform knows."""

    def __init__(
        self, doc: str, bounds: Bounds = UNBOUNDED, *, token: Callable[[Any, str], Out], kind: Kind
    ) -> None:
        super().__init__(doc, bounds, kind=kind)
        self._token = token


class Setting(Declarable[In]):
    """A setting of the provider. Nothing can refer to it: reading gives the declared value."""

    @overload
    def __get__(self, construct: None, owner: type) -> Self: ...
    @overload
    def __get__(self, construct: Holder, owner: type) -> In | None: ...
    def __get__(self, construct: Holder | None, owner: type) -> Any:
        return self if construct is None else construct._values.get(self.name)


class Declaration(Generic[In]):
    """`NAME_input`: the value that is declared for an argument, or None."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._argument = name.removesuffix("_input")
        self.__doc__ = f"The value declared for `{self._argument}`, or None."

    @overload
    def __get__(self, construct: None, owner: type) -> Self: ...
    @overload
    def __get__(self, construct: Holder, owner: type) -> In | None: ...
    def __get__(self, construct: Holder | None, owner: type) -> Any:
        return self if construct is None else construct._values.get(self._argument)

    def __set__(self, construct: Any, value: Never) -> None:
        raise AttributeError(f"assign to `{self._argument}` instead")


DeclaredChoice: TypeAlias = Declaration[Chosen | cdktn.IResolvable]
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


def _string(construct: Any, name: str) -> Any:
    return jsii.invoke(construct, "getStringAttribute", [name])


def _number(construct: Any, name: str) -> Any:
    return jsii.invoke(construct, "getNumberAttribute", [name])


def _boolean(construct: Any, name: str) -> Any:
    return jsii.invoke(construct, "getBooleanAttribute", [name])


def _list(construct: Any, name: str) -> Any:
    return jsii.invoke(construct, "getListAttribute", [name])


def _set(construct: Any, name: str) -> Any:
    # An element of a set has no index: Terraform wants a list for that.
    return cdktn.Fn.tolist(_list(construct, name))


class Choice(Argument[Chosen, Chosen | cdktn.IResolvable]):
    """A string that may be declared, one of those that its type allows."""

    def __init__(self, doc: str, bounds: Bounds) -> None:
        super().__init__(doc, bounds, token=_string, kind=Kind.TEXT)


class ChosenSetting(Setting[Chosen | cdktn.IResolvable]):
    """A string among the provider's settings, one of those that its type allows."""

    def __init__(self, doc: str, bounds: Bounds) -> None:
        super().__init__(doc, bounds, kind=Kind.TEXT)


# What the console supplies, by type.
text_output = partial(Output[str], token=_string)
whole_output = partial(Output[int], token=_number)
flag_output = partial(Output[cdktn.IResolvable], token=_boolean)
texts_output = partial(Output[list[str]], token=_list)
text_set_output = partial(Output[list[str]], token=_set)

# What may be declared, by type.
text = partial(Argument[str, str], token=_string, kind=Kind.TEXT)
whole = partial(Argument[int, int | cdktn.IResolvable], token=_number, kind=Kind.WHOLE)
number = partial(Argument[float, int | float], token=_number, kind=Kind.NUMBER)
flag = partial(
    Argument[cdktn.IResolvable, bool | cdktn.IResolvable], token=_boolean, kind=Kind.FLAG
)
texts = partial(Argument[list[str], Sequence[str]], token=_list, kind=Kind.TEXTS)
text_set = partial(Argument[list[str], Sequence[str]], token=_set, kind=Kind.TEXTS)

# The provider's settings, by type.
text_setting = partial(Setting[str], kind=Kind.TEXT)
whole_setting = partial(Setting[int | cdktn.IResolvable], kind=Kind.WHOLE)
number_setting = partial(Setting[int | float], kind=Kind.NUMBER)
flag_setting = partial(Setting[bool | cdktn.IResolvable], kind=Kind.FLAG)
text_set_setting = partial(Setting[Sequence[str]], kind=Kind.TEXTS)
text_map_setting = partial(Setting[Mapping[str, str]], kind=Kind.TEXT_MAP)
