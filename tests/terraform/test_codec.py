"""Wire values to Terraform's bytes and back."""

import json
import math
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsconsole.definition import Attribute, Kind
from opsconsole.terraform.codec import CodecError, ObjectCodec
from opsconsole.terraform.proto.tfplugin6_pb2 import DynamicValue
from opsconsole.values import UNKNOWN

TEXT = st.text(max_size=4)
NULL_OR_UNKNOWN = st.sampled_from([None, UNKNOWN])
FRACTIONS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not x.is_integer())


def values(attribute: Attribute, absent: Any) -> Any:
    """Any value of an attribute; `absent` draws null, and unknown where that is allowed."""
    elements = TEXT | absent
    entries = objects(attribute.attributes, absent)
    drawn: dict[Kind, Any] = {
        Kind.STRING: TEXT,
        Kind.INTEGER: st.integers(),
        Kind.NUMBER: st.integers() | FRACTIONS,
        Kind.BOOLEAN: st.booleans(),
        Kind.STRING_SET: st.sets(TEXT, max_size=3).map(sorted),
        Kind.STRING_LIST: st.lists(elements, max_size=3),
        Kind.STRING_MAP: st.dictionaries(TEXT, elements, max_size=3),
        Kind.OBJECT: entries,
        Kind.OBJECT_LIST: st.lists(entries | absent, max_size=2),
    }
    return drawn[attribute.kind] | absent


def objects(attributes: Any, absent: Any) -> Any:
    return st.fixed_dictionaries({item.name: values(item, absent) for item in attributes})


def attribute(kind: Kind, name: str = "it", *nested: Attribute) -> Attribute:
    return Attribute(name=name, kind=kind, description="", attributes=nested)


SIMPLE = tuple(kind for kind in Kind if kind not in (Kind.OBJECT, Kind.OBJECT_LIST))
EVERY_KIND = (
    *(attribute(kind, kind.name) for kind in SIMPLE),
    attribute(Kind.OBJECT, "one", *(attribute(kind, kind.name) for kind in SIMPLE)),
    attribute(Kind.OBJECT_LIST, "many", attribute(Kind.INTEGER), attribute(Kind.STRING, "text")),
)


@given(value=objects(EVERY_KIND, NULL_OR_UNKNOWN))
def test_round_trip(value):
    codec = ObjectCodec(EVERY_KIND)
    assert codec.decode(codec.encode(value)) == value


@given(value=objects(EVERY_KIND, st.none()))
def test_json_says_the_same(value):
    codec = ObjectCodec(EVERY_KIND)
    body = json.dumps(value).encode()
    assert codec.decode(DynamicValue(json=body)) == value
    assert codec.decode_state(body) == value


def one(kind: Kind) -> ObjectCodec:
    return ObjectCodec([attribute(kind)])


def read(kind: Kind, raw: Any) -> Any:
    decoded = one(kind).decode(DynamicValue(msgpack=msgpack.packb({"it": raw})))
    return decoded["it"]


def written(kind: Kind, value: Any) -> Any:
    return msgpack.unpackb(one(kind).encode({"it": value}).msgpack)["it"]


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (22, 22),
        (22.0, 22),
        ("22", 22),
        ("1e3", 1000),
        ("0.1", 0.1),
        (22.5, 22.5),
        (str(1 << 70), 1 << 70),
        (-(1 << 63), -(1 << 63)),
    ],
)
def test_numbers_are_read_as_integers_where_they_are_whole(raw, value):
    number = read(Kind.NUMBER, raw)
    assert (number, type(number)) == (value, type(value))


@pytest.mark.parametrize(
    ("value", "raw"), [(22, "22"), (22.0, "22"), (0.1, "0.1"), (-1, "-1"), (1 << 70, str(1 << 70))]
)
def test_numbers_are_written_as_decimal_text(value, raw):
    assert written(Kind.NUMBER, value) == raw


def test_sets_are_sorted_and_hold_each_member_once():
    unknown = msgpack.ExtType(0, b"\0")
    assert read(Kind.STRING_SET, ["b", unknown, "a", "b"]) == ["a", "b", UNKNOWN]
    assert written(Kind.STRING_SET, ["b", "a", "b"]) == ["a", "b"]


@pytest.mark.parametrize("code", [0, 12, 99])
def test_every_extension_is_unknown(code):
    payload = msgpack.packb({1: False, 2: "hst_"}) if code == 12 else b"\0"
    assert read(Kind.STRING, msgpack.ExtType(code, payload)) is UNKNOWN


def test_unknown_is_written_as_the_plain_extension():
    assert one(Kind.STRING).encode({"it": UNKNOWN}).msgpack == b"\x81\xa2it\xd4\x00\x00"


def test_null_objects():
    codec = one(Kind.STRING)
    assert codec.encode(None).msgpack == b"\xc0"
    assert codec.decode(DynamicValue(msgpack=b"\xc0")) is None
    assert codec.decode(DynamicValue(json=b"null")) is None
    assert codec.decode(DynamicValue()) is None
    assert codec.decode_state(b"null") is None


def test_what_a_value_lacks_is_null():
    assert one(Kind.STRING).encode({}).msgpack == b"\x81\xa2it\xc0"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Kind.STRING, 1),
        (Kind.BOOLEAN, "true"),
        (Kind.INTEGER, True),
        (Kind.INTEGER, "many"),
        (Kind.NUMBER, math.nan),
        (Kind.NUMBER, math.inf),
        (Kind.STRING_SET, "abc"),
        (Kind.STRING_LIST, [1]),
        (Kind.STRING_MAP, ["a"]),
        (Kind.STRING_MAP, {"a": 1}),
        (Kind.STRING, object()),
        (Kind.OBJECT, {"surplus": 1}),
        (Kind.OBJECT, "text"),
        (Kind.OBJECT_LIST, {"it": 1}),
    ],
)
def test_values_of_another_type_are_not_written(kind, value):
    with pytest.raises(CodecError, match="it"):
        one(kind).encode({"it": value})


@pytest.mark.parametrize(
    "body",
    [b"\xc1", b"\x92\x01\x02", b"\x01", msgpack.packb({"that": 1}), b"\x81\xa2it", b"\xa2it"],
)
def test_other_bytes_are_not_read(body):
    with pytest.raises(CodecError):
        one(Kind.STRING).decode(DynamicValue(msgpack=body))


@pytest.mark.parametrize("body", [b"{", b"[1]", b'"text"', b"\xff", b'{"it": "many"}'])
def test_other_states_are_not_read(body):
    with pytest.raises(CodecError):
        one(Kind.INTEGER).decode_state(body)


@pytest.mark.parametrize("read", ["decode", "decode_state"])
def test_values_nested_deeply_are_not_read(read):
    body = b'{"it": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    given = body if read == "decode_state" else DynamicValue(json=body)
    with pytest.raises(CodecError, match="unreadable"):
        getattr(one(Kind.STRING), read)(given)


def test_no_message_quotes_a_value():
    with pytest.raises(CodecError) as problem:
        one(Kind.INTEGER).encode({"it": "svc_ak_0"})
    assert "svc_ak_0" not in str(problem.value)
