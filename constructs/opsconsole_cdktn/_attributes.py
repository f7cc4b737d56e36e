"""Attributes of constructs as descriptors: reading gives a token, assigning declares a value.

A token is asked of jsii when it is first read, once for each construct and attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Never, Protocol, Self, TypeVar, overload

import cdktn
import jsii

from opsconsole.bounds import UNBOUNDED, Bounds
from opsconsole_cdktn._rules import Kind, checked
from opsconsole_cdktn._trees import Tree

Out = TypeVar("Out")
In = TypeVar("In")
Chosen = TypeVar("Chosen", bound=str)


class Holder(Protocol):
    """What has attributes that may be declared."""

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

    def __init__(self, doc: str, token: Callable[[Any, str], Out]) -> None:
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


class Argument(Output[Out], Generic[Out, In]):
    """An attribute that may be declared; reading it gives a token for what Terraform knows."""

    def __init__(
        self, doc: str, token: Callable[[Any, str], Out], kind: Kind, bounds: Bounds = UNBOUNDED
    ) -> None:
        super().__init__(doc, token)
        self._kind = kind
        self._bounds = bounds

    def checked(self, value: Any) -> Any:
        """Return `value` as it is synthesised; TypeError or ValueError where it cannot be."""
        return checked(self._kind, self._bounds, value)

    def __set__(self, construct: Holder, value: In) -> None:
        construct._assign(self.name, value)


class Setting(Named, Generic[In]):
    """A setting of the provider. Nothing can refer to it: reading gives the declared value."""

    def __init__(self, doc: str, kind: Kind, bounds: Bounds = UNBOUNDED) -> None:
        super().__init__(doc)
        self._kind = kind
        self._bounds = bounds

    def checked(self, value: Any) -> Any:
        """Return `value` as it is synthesised; TypeError or ValueError where it cannot be."""
        return checked(self._kind, self._bounds, value)

    @overload
    def __get__(self, construct: None, owner: type) -> Self: ...
    @overload
    def __get__(self, construct: Holder, owner: type) -> In | None: ...
    def __get__(self, construct: Holder | None, owner: type) -> Any:
        return self if construct is None else construct._values.get(self.name)

    def __set__(self, construct: Holder, value: In | None) -> None:
        construct._assign(self.name, value)


class Choice(Argument[Chosen, Chosen | cdktn.IResolvable | None], Generic[Chosen]):
    """A string that may be declared, one of those that its type allows."""

    def __init__(self, doc: str, bounds: Bounds) -> None:
        super().__init__(doc, _string, Kind.TEXT, bounds)


class ChosenSetting(Setting[Chosen | cdktn.IResolvable], Generic[Chosen]):
    """A string among the provider's settings, one of those that its type allows."""

    def __init__(self, doc: str, bounds: Bounds) -> None:
        super().__init__(doc, Kind.TEXT, bounds)


class Declaration(Generic[In]):
    """`NAME_input`: the value that is declared for an argument, or None."""

    def __init__(self, argument: str) -> None:
        self.__doc__ = f"The value declared for `{argument}`, or None."
        self._argument = argument

    @overload
    def __get__(self, construct: None, owner: type) -> Self: ...
    @overload
    def __get__(self, construct: Holder, owner: type) -> In | None: ...
    def __get__(self, construct: Holder | None, owner: type) -> Any:
        return self if construct is None else construct._values.get(self._argument)

    def __set__(self, construct: Any, value: Never) -> None:
        raise AttributeError(f"assign to `{self._argument}` instead")


class DeclaredChoice(Declaration[Chosen | cdktn.IResolvable], Generic[Chosen]):
    """`NAME_input` of an argument that is one of several strings."""


class Reset:
    """`reset_NAME()`: take the declaration of an argument back."""

    def __init__(self, argument: str) -> None:
        self.__doc__ = f"Take the declaration of `{argument}` back."
        self._argument = argument

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


def text_output(doc: str) -> Output[str]:
    """A string that the console supplies."""
    return Output(doc, _string)


def whole_output(doc: str) -> Output[int]:
    """A whole number that the console supplies."""
    return Output(doc, _number)


def flag_output(doc: str) -> Output[cdktn.IResolvable]:
    """A boolean that the console supplies."""
    return Output(doc, _boolean)


def texts_output(doc: str) -> Output[list[str]]:
    """A list of strings that the console supplies."""
    return Output(doc, _list)


def text_set_output(doc: str) -> Output[list[str]]:
    """A set of strings that the console supplies."""
    return Output(doc, _set)


def text(doc: str, bounds: Bounds = UNBOUNDED) -> Argument[str, str | None]:
    """A string that may be declared."""
    return Argument(doc, _string, Kind.TEXT, bounds)


def whole(doc: str, bounds: Bounds = UNBOUNDED) -> Argument[int, int | cdktn.IResolvable | None]:
    """A whole number that may be declared."""
    return Argument(doc, _number, Kind.WHOLE, bounds)


def number(doc: str, bounds: Bounds = UNBOUNDED) -> Argument[float, int | float | None]:
    """A number that may be declared."""
    return Argument(doc, _number, Kind.NUMBER, bounds)


def flag(doc: str) -> Argument[cdktn.IResolvable, bool | cdktn.IResolvable | None]:
    """A boolean that may be declared."""
    return Argument(doc, _boolean, Kind.FLAG, UNBOUNDED)


def texts(doc: str, bounds: Bounds = UNBOUNDED) -> Argument[list[str], Sequence[str] | None]:
    """A list of strings that may be declared."""
    return Argument(doc, _list, Kind.TEXTS, bounds)


def text_set(doc: str, bounds: Bounds = UNBOUNDED) -> Argument[list[str], Sequence[str] | None]:
    """A set of strings that may be declared."""
    return Argument(doc, _set, Kind.TEXTS, bounds)


def text_setting(doc: str, bounds: Bounds = UNBOUNDED) -> Setting[str]:
    """A string among the provider's settings."""
    return Setting(doc, Kind.TEXT, bounds)


def whole_setting(doc: str, bounds: Bounds = UNBOUNDED) -> Setting[int | cdktn.IResolvable]:
    """A whole number among the provider's settings."""
    return Setting(doc, Kind.WHOLE, bounds)


def number_setting(doc: str, bounds: Bounds = UNBOUNDED) -> Setting[int | float]:
    """A number among the provider's settings."""
    return Setting(doc, Kind.NUMBER, bounds)


def flag_setting(doc: str) -> Setting[bool | cdktn.IResolvable]:
    """A boolean among the provider's settings."""
    return Setting(doc, Kind.FLAG)


def text_set_setting(doc: str, bounds: Bounds = UNBOUNDED) -> Setting[Sequence[str]]:
    """A set of strings among the provider's settings."""
    return Setting(doc, Kind.TEXTS, bounds)


def text_map_setting(doc: str) -> Setting[Mapping[str, str]]:
    """A map of strings among the provider's settings."""
    return Setting(doc, Kind.TEXT_MAP)
