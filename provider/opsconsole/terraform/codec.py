"""Terraform's messages: definitions as schemas, values as DynamicValue and back, diagnostics.

Values have the object wire format of Terraform's protocol documents: MessagePack with an extension
for unknown values, or JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

import msgpack

from opsconsole.definition import (
    SCHEMA_VERSION,
    Attribute,
    DataSourceDefinition,
    Kind,
    ProviderDefinition,
    ResourceDefinition,
)
from opsconsole.diagnostics import AttributePath, Diagnostic, Severity
from opsconsole.redaction import Redaction
from opsconsole.resources import DATA_SOURCES, PROVIDER, RESOURCES
from opsconsole.terraform.proto import tfplugin6_pb2 as pb
from opsconsole.values import UNKNOWN, Value, Values

_UNKNOWN_EXTENSION: Final = msgpack.ExtType(0, b"\x00")
_NULL: Final[bytes] = msgpack.packb(None)
_Convert = Callable[[Any], Any]
"""A conversion of one known value that is not null."""
_Scalars = Mapping[Kind, _Convert]
"""The conversions of strings, numbers and booleans, if they need one."""


class CodecError(Exception):
    """Bytes, or a value, whose shape differs from the schema."""


class ObjectCodec:
    """The codec of one object type: a resource, a data source, or the provider's settings."""

    def __init__(self, attributes: Iterable[Attribute]) -> None:
        self.attributes = {attribute.name: attribute for attribute in attributes}
        self._read = _object(self.attributes.values(), _READERS)
        self._write = _object(self.attributes.values(), _WRITERS)

    def decode(self, value: pb.DynamicValue) -> Values | None:
        """Return the values, or None for a null object; raise CodecError for another type."""
        try:
            raw = json.loads(value.json or b"null")
            if value.msgpack:
                raw = msgpack.unpackb(value.msgpack, ext_hook=_read_extension)
            return None if raw is None else self._read(raw)
        except (
            TypeError,
            ValueError,
            AttributeError,
            RecursionError,
            msgpack.UnpackException,
        ) as problem:
            raise CodecError(f"unreadable value: {problem}") from problem

    def decode_state(self, body: bytes) -> Values | None:
        """Return the values of a stored state's JSON; raise CodecError for another type.

        Missing attributes are null, and attributes unknown to this version are dropped.
        """
        try:
            raw = json.loads(body)
            if isinstance(raw, dict):
                # Another version of the provider, with other attributes, may have written it.
                raw = {name: raw.get(name) for name in self.attributes}
            return None if raw is None else self._read(raw)
        except (TypeError, ValueError, AttributeError, RecursionError) as problem:
            raise CodecError(f"unreadable state: {problem}") from problem

    def encode(self, value: Values | None) -> pb.DynamicValue:
        """Return `value` for Terraform, missing attributes as null; CodecError for wrong ones."""
        if value is None:
            return pb.DynamicValue(msgpack=_NULL)
        try:
            return pb.DynamicValue(msgpack=msgpack.packb(self._write(value), default=_pack_unknown))
        except (TypeError, ValueError, AttributeError) as problem:
            raise CodecError(f"no value of this type: {problem}") from problem


def _read_extension(code: int, data: bytes) -> Value:
    """Treat every extension as unknown: the wire format allows ignoring refinements."""
    return UNKNOWN


def _pack_unknown(value: Any) -> Any:
    if value is UNKNOWN:
        return _UNKNOWN_EXTENSION
    raise TypeError(f"{type(value).__name__} is not a wire value")


def _check_kind(value: Any, kind: type, words: str) -> Any:
    """Return `value` if it is of a kind; `words` name the kind in an error."""
    if isinstance(value, kind):
        return value
    raise TypeError(f"{words} was expected, not {type(value).__name__}")


_text = partial(_check_kind, kind=str, words="a string")
_flag = partial(_check_kind, kind=bool, words="true or false")


def _object(attributes: Iterable[Attribute], scalars: _Scalars) -> Callable[[Values], Values]:
    """Return a conversion of objects; attributes without a converter cost next to nothing."""
    attributes = tuple(attributes)
    nothing: Values = {attribute.name: None for attribute in attributes}
    special = [
        (item.name, convert) for item in attributes if (convert := _converter(item, scalars))
    ]

    def convert_object(value: Values) -> Values:
        _check_kind(value, dict, "an object")
        converted = {**nothing, **value}
        if len(converted) != len(nothing):
            raise ValueError(f"unexpected attributes {sorted(converted.keys() - nothing.keys())}")
        for name, convert in special:
            inner = converted[name]
            if inner is not None and inner is not UNKNOWN:
                converted[name] = _at(name, convert, inner)
        return converted

    return convert_object


def _at(name: str, convert: _Convert, value: Any) -> Any:
    """Convert `value`; an error names the attribute, and never the value."""
    try:
        return convert(value)
    except (TypeError, ValueError) as problem:
        raise type(problem)(f"{name}: {problem}") from None


def _each(convert: _Convert) -> _Convert:
    def convert_list(value: list[Any]) -> list[Any]:
        _check_kind(value, list, "a list")
        return [item if item is None or item is UNKNOWN else convert(item) for item in value]

    return convert_list


def _text_map(value: dict[str, Any]) -> dict[str, Any]:
    _check_kind(value, dict, "a map")
    return {
        _text(key): item if item is None or item is UNKNOWN else _text(item)
        for key, item in value.items()
    }


def _converter(attribute: Attribute, scalars: _Scalars) -> _Convert | None:
    """Return the conversion of a value of `attribute`, or None if values need no conversion."""
    match attribute.kind:
        case Kind.STRING_SET:
            return _set
        case Kind.STRING_LIST:
            return _each(_text)
        case Kind.STRING_MAP:
            return _text_map
        case Kind.OBJECT:
            return _object(attribute.attributes, scalars)
        case Kind.OBJECT_LIST:
            return _each(_object(attribute.attributes, scalars))
    return scalars.get(attribute.kind)


def _set(value: list[Any]) -> list[Any]:
    members = _each(_text)(value)
    known = sorted({member for member in members if isinstance(member, str)})
    return known + [member for member in members if not isinstance(member, str)]


def _read_number(value: Any) -> int | float:
    """Return the number as an int if it is whole."""
    if isinstance(value, str):
        # Terraform writes a number that does not fit a float as a decimal string.
        value = _parse_number(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("a finite number was expected")
        return int(value) if value.is_integer() else value
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise TypeError(f"a number was expected, not {type(value).__name__}")


def _parse_number(text: str) -> int | float:
    # int first: a float would lose digits of a large whole number.
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    raise ValueError("a number was expected, not this string")


def _write_number(value: Any) -> str:
    # Terraform's numbers are decimal fractions of high precision. As a binary float, 0.1 would
    # differ from the 0.1 of a configuration. Terraform reads a MessagePack integer with a different
    # precision than the same number in state. Terraform 1.11 compares the precisions too, so a
    # refresh-only plan would exit with 2 although nothing changed.
    return repr(_read_number(value))


_READERS: Final[_Scalars] = {Kind.INTEGER: _read_number, Kind.NUMBER: _read_number}
_WRITERS: Final[_Scalars] = {
    Kind.STRING: _text,
    Kind.BOOLEAN: _flag,
    Kind.INTEGER: _write_number,
    Kind.NUMBER: _write_number,
}


_SEVERITIES: Final = {
    Severity.ERROR: pb.Diagnostic.ERROR,
    Severity.WARNING: pb.Diagnostic.WARNING,
}


_Step = pb.AttributePath.Step


def attribute_path(path: AttributePath, attributes: Mapping[str, Attribute]) -> pb.AttributePath:
    """Return `path` in Terraform's form, up to a set or a name that does not exist."""
    steps: list[_Step] = []
    kind: Kind | None = None
    for step in path:
        # The elements of a set have no address.
        if kind is Kind.STRING_SET:
            break
        if isinstance(step, int):
            steps.append(_Step(element_key_int=step))
        elif kind is Kind.STRING_MAP:
            steps.append(_Step(element_key_string=step))
        elif step in attributes:
            steps.append(_Step(attribute_name=step))
            kind = attributes[step].kind
            attributes = {item.name: item for item in attributes[step].attributes}
        else:
            break
    return pb.AttributePath(steps=steps)


def render_diagnostics(
    diagnostics: Iterable[Diagnostic],
    attributes: Mapping[str, Attribute],
    redaction: Redaction,
) -> list[pb.Diagnostic]:
    return [
        pb.Diagnostic(
            severity=_SEVERITIES[diagnostic.severity],
            summary=redaction.hide(diagnostic.summary),
            detail=redaction.hide(diagnostic.text),
            attribute=attribute_path(diagnostic.path, attributes) if diagnostic.path else None,
        )
        for diagnostic in diagnostics
    ]


CAPABILITIES: Final = pb.ServerCapabilities(plan_destroy=True, get_provider_schema_optional=True)


def schema(definition: ResourceDefinition | DataSourceDefinition | ProviderDefinition) -> pb.Schema:
    """Return the schema of a resource, a data source, or the provider's settings."""
    return pb.Schema(
        version=SCHEMA_VERSION,
        block=pb.Schema.Block(
            version=SCHEMA_VERSION,
            attributes=_attributes(definition.attributes),
            description=definition.description,
            description_kind=pb.MARKDOWN,
        ),
    )


def _attributes(attributes: Iterable[Attribute]) -> list[pb.Schema.Attribute]:
    return [_attribute(attribute) for attribute in attributes]


def _attribute(attribute: Attribute) -> pb.Schema.Attribute:
    rendered = pb.Schema.Attribute(
        name=attribute.name,
        description=attribute.description,
        description_kind=pb.MARKDOWN,
        required=attribute.required,
        optional=attribute.optional,
        computed=attribute.computed,
        sensitive=attribute.sensitive,
    )
    kind = attribute.kind
    if kind.is_nested:
        mode = pb.Schema.Object.LIST if kind is Kind.OBJECT_LIST else pb.Schema.Object.SINGLE
        rendered.nested_type.nesting = mode
        rendered.nested_type.attributes.extend(_attributes(attribute.attributes))
    else:
        rendered.type = json.dumps(kind.terraform_type, separators=(",", ":")).encode()
    return rendered


def provider_schema() -> pb.GetProviderSchema.Response:
    return pb.GetProviderSchema.Response(
        provider=schema(PROVIDER),
        resource_schemas={name: schema(item) for name, item in RESOURCES.items()},
        data_source_schemas={name: schema(item) for name, item in DATA_SOURCES.items()},
        server_capabilities=CAPABILITIES,
    )
