"""The parts of a state, and their JSON as Terraform writes it.

Keys are in order, two spaces indent a level, and characters are escaped as in Go.

A state holds fields that this program does not know, and numbers that no float can hold. So text is
decoded only when a value is needed. `fields_of` and `items_of` return the parts of an object or
array undecoded, as `Raw`. `encode` writes a `Raw` unchanged.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import DecodeError, Raw

from opsconsole.diagnostics import AttributePath
from opsconsole.errors import UserError
from opsconsole.state.address import InstanceKey

INSTANCE_FIELDS = (
    "index_key",
    "status",
    "deposed",
    "schema_version",
    "attributes",
    "attributes_flat",
    "sensitive_attributes",
    "identity_schema_version",
    "identity",
    "private",
    "dependencies",
    "create_before_destroy",
)


class InstanceObject(NamedTuple):
    """One object of a resource instance, as Terraform keeps it.

    Attributes:
        provider: The provider's address in state, `provider["registry.terraform.io/ns/name"]`.
        private: The provider's own bytes; opaque.
        dependencies: Configuration addresses, without keys.
        sensitive_attributes: Paths as state writes them. None leaves the stored paths unchanged.
        create_before_destroy: None leaves the stored value unchanged.
        skip_destroy: Whether OpenTofu noted that the object must never be destroyed, only
            forgotten. Read, never changed.
    """

    provider: str
    attributes: dict[str, Any]
    schema_version: int = 0
    private: bytes = b""
    dependencies: Sequence[str] = ()
    tainted: bool = False
    sensitive_attributes: list[Any] | None = None
    create_before_destroy: bool | None = None
    skip_destroy: bool = False

    @property
    def sensitive_paths(self) -> frozenset[AttributePath]:
        """The paths of the object's sensitive values."""
        written = self.sensitive_attributes or ()
        return frozenset(tuple(_steps(path)) for path in written if isinstance(path, list))


class StateOutput(NamedTuple):
    """A root output; `type` is written as in state: `"string"` or `["list", "string"]`."""

    value: Any
    type: Any
    sensitive: bool = False


class StateChange(NamedTuple):
    """One change of a state, described by its result.

    Attributes:
        address: The instance's address, or the output's name.
        deposed: The deposed key, or empty for the current object.
        object_json: The object's JSON, or None if the object was removed.
        previous_id: The `id` of the object before the change. Empty if that object has no `id`,
            None if there was no object.
        previous_digest: The `short_digest` of the object's JSON before the change; empty without
            an object.
    """

    kind: Literal["instance", "output"]
    address: str
    object_json: str | None
    provider: str = ""
    deposed: str = ""
    previous_id: str | None = None
    previous_digest: str = ""


def read_instance(text: bytes, provider: str) -> InstanceObject:
    """Decode an instance, without repeating the checks of `parse`.

    Raises:
        UserError: Its private data is not base64.
    """
    fields = decode(text)
    try:
        private = base64.b64decode(fields.get("private") or "", validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise UserError("The state holds an instance whose private data is not base64.") from error
    return InstanceObject(
        # OpenTofu writes a provider with each instance if the instances have their own providers.
        provider=fields.get("provider") or provider,
        attributes=fields.get("attributes") or {},
        schema_version=fields.get("schema_version", 0),
        private=private,
        dependencies=tuple(fields.get("dependencies") or ()),
        tainted=fields.get("status") == "tainted",
        sensitive_attributes=fields.get("sensitive_attributes"),
        create_before_destroy=bool(fields.get("create_before_destroy", False)),
        skip_destroy=fields.get("skip_destroy") is True,
    )


def write_instance(
    instance: InstanceObject, key: InstanceKey, deposed: str, old: bytes | None
) -> bytes:
    """Encode an instance; unknown fields of `old` keep their place."""
    fields = {
        "index_key": key,
        "status": "tainted" if instance.tainted else None,
        "deposed": deposed or None,
        "schema_version": instance.schema_version,
        "attributes": Raw(encode(instance.attributes, sort=True)),
        "attributes_flat": None,
        "private": base64.b64encode(instance.private).decode() if instance.private else None,
        "dependencies": sorted(instance.dependencies) or None,
    }
    if instance.sensitive_attributes is not None or old is None:
        fields["sensitive_attributes"] = instance.sensitive_attributes or []
    if instance.create_before_destroy is not None:
        fields["create_before_destroy"] = instance.create_before_destroy or None
    return with_fields(old or b"{}", **fields)


def with_fields(instance: bytes, **changes: Any) -> bytes:
    """Return an instance with these fields set; fields that are None are left out."""
    fields: dict[str, Any] = fields_of(instance)
    if not fields:
        fields = {n: value for n in INSTANCE_FIELDS if (value := changes.get(n)) is not None}
        return encode(fields)
    for name, value in changes.items():
        if value is None:
            fields.pop(name, None)
        elif name in fields:
            fields[name] = value
        else:
            fields = set_field(fields, name, value, INSTANCE_FIELDS)
    return encode(fields)


def set_field(
    fields: dict[str, Any], name: str, value: Any, order: Sequence[str]
) -> dict[str, Any]:
    """Return `fields` with one field set; a new field follows its last predecessor in `order`."""
    if name in fields:
        return {**fields, name: value}
    before = order[: order.index(name)]
    place = 1 + max((at for at, known in enumerate(fields) if known in before), default=-1)
    listed = list(fields.items())
    return dict([*listed[:place], (name, value), *listed[place:]])


def _steps(path: Sequence[Any]) -> Iterator[str | int]:
    """Yield the steps of a path, up to the first step of an unknown form."""
    for step in path:
        value = step.get("value") if isinstance(step, dict) else None
        if isinstance(value, dict):
            value = value.get("value")
        if not isinstance(value, str | int):
            return
        yield value


def paths_to_state(paths: Iterable[AttributePath]) -> list[Any]:
    """Return paths as `sensitive_attributes` writes them (state version 4)."""
    return [[_written_step(step) for step in path] for path in sorted(paths, key=str)]


def _written_step(step: str | int) -> dict[str, Any]:
    if isinstance(step, str):
        return {"type": "get_attr", "value": step}
    return {"type": "index", "value": {"value": step, "type": "number"}}


class _Attributes(msgspec.Struct, frozen=True):
    id: Raw = Raw(b'""')


class _Identified(msgspec.Struct, frozen=True):
    attributes: _Attributes = _Attributes()


_IDENTIFIED = msgspec.json.Decoder(_Identified)


def object_id(text: bytes | str | None) -> str | None:
    """Return the `id` attribute of an instance; empty without an `id`, None without an instance.

    Raises:
        UserError: The text is not JSON.
    """
    if text is None:
        return None
    try:
        value = decode(_IDENTIFIED.decode(text).attributes.id)
    except ValueError as error:
        raise UserError(f"The state holds an object that is not JSON: {error}.") from error
    return value if isinstance(value, str) else ""


def short_digest(text: bytes | str | None) -> str:
    """Return a short digest of an object's JSON; empty if there is no object."""
    text = text.encode() if isinstance(text, str) else text
    return hashlib.blake2b(text, digest_size=8).hexdigest() if text else ""


_INVALID = (DecodeError, UnicodeDecodeError, RecursionError)


class WrittenNumber(float):
    """A number with a fraction or an exponent, with its original text."""

    text: str

    def __new__(cls, text: str) -> WrittenNumber:
        number = super().__new__(cls, text)
        number.text = text
        return number


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_VALUES = msgspec.json.Decoder(float_hook=WrittenNumber)
_ENCODER = msgspec.json.Encoder(enc_hook=lambda number: Raw(number.text.encode()))
# Go's encoder escapes these characters, which occur in JSON only within strings.
_GO_ESCAPES = tuple((c.encode(), f"\\u{ord(c):04x}".encode()) for c in "<>&\u2028\u2029")


def decode(text: bytes | str) -> Any:
    """Decode JSON. A number with a fraction keeps its original text.

    Raises:
        ValueError: The text is not JSON, or is nested too deeply.
    """
    try:
        return _VALUES.decode(text)
    except _INVALID:
        # The standard library gives the position, and accepts lone surrogates, like Go.
        return _decode_slowly(text)


def _decode_slowly(text: bytes | str) -> Any:
    try:
        return json.loads(text, parse_float=WrittenNumber, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


fields_of = msgspec.json.Decoder(dict[str, Raw]).decode
"""Returns the undecoded fields of a JSON object by name; a ValueError for any other text."""
items_of = msgspec.json.Decoder(list[Raw] | None).decode
"""Returns the undecoded items of a JSON array; None for null; a ValueError for any other text."""


def compact(text: bytes) -> bytes:
    """Return JSON without spaces; raises as `decode` does."""
    try:
        return msgspec.json.format(text, indent=-1)
    except _INVALID:
        return encode(_decode_slowly(text))


def encode(value: Any, *, sort: bool = False) -> bytes:
    """Return a value as compact JSON with Go's escapes.

    Args:
        sort: Sort the keys of every object, as Terraform does for attributes.
    """
    return escape_as_go(_ENCODER.encode(_sort(value) if sort else value))


def escape_as_go(text: bytes) -> bytes:
    """Escape the characters in JSON that Go's encoder escapes."""
    for letter, escape in _GO_ESCAPES:
        text = text.replace(letter, escape)
    return text


_NESTED: Final = (dict, list, tuple)


def _sort(value: Any) -> Any:
    if isinstance(value, dict):
        # Terraform writes a value of dynamic type in this order; all other keys are sorted.
        names = value if list(value) == ["value", "type"] else sorted(value)
        # Most values are scalars, for which a call would take longer than this test.
        return {
            name: _sort(item) if isinstance(item := value[name], _NESTED) else item
            for name in names
        }
    if isinstance(value, list | tuple):
        return [_sort(item) for item in value]
    return value


def lay_out(text: bytes) -> bytes:
    """Return compact JSON in the layout of a state file: two spaces a level, a final line break."""
    return msgspec.json.format(text, indent=2) + b"\n"
