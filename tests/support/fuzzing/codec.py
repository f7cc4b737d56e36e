"""Values and messages of the plugin protocol: msgpack, JSON and protobuf."""

import json

import msgpack
from google.protobuf.message import DecodeError

from opsconsole.resources import DATA_SOURCES, PROVIDER, RESOURCES
from opsconsole.terraform.codec import CodecError, ObjectCodec
from opsconsole.terraform.proto import tfplugin6_pb2

_DEFINITIONS = [*RESOURCES.values(), *DATA_SOURCES.values(), PROVIDER]
_CODECS = [ObjectCodec(definition.attributes) for definition in _DEFINITIONS]
_HOST = {**RESOURCES["opsconsole_host"].empty(), "name": "a", "tags": ["a:b"], "target_port": 22}
_MESSAGES = [
    getattr(tfplugin6_pb2, name).Request
    for name in ("PlanResourceChange", "ApplyResourceChange", "ReadResource", "ConfigureProvider")
]
SEEDS = [
    msgpack.packb(_HOST),
    json.dumps(_HOST).encode(),
    tfplugin6_pb2.PlanResourceChange.Request(
        type_name="opsconsole_host", config=tfplugin6_pb2.DynamicValue(msgpack=msgpack.packb(_HOST))
    ).SerializeToString(),
]


def check(data: bytes) -> None:
    """Read `data` as a value of every kind, and as messages that hold values."""
    for codec in _CODECS:
        for value in (
            tfplugin6_pb2.DynamicValue(msgpack=data),
            tfplugin6_pb2.DynamicValue(json=data),
        ):
            try:
                found = codec.decode(value)
                codec.encode(found)
            except CodecError as error:
                str(error)
        try:
            codec.decode_state(data)
        except CodecError as error:
            str(error)
    for message in _MESSAGES:
        try:
            found = message.FromString(data)
        except DecodeError:
            continue
        for field in ("config", "prior_state", "proposed_new_state", "current_state"):
            if hasattr(found, field):
                try:
                    _CODECS[0].decode(getattr(found, field))
                except CodecError as error:
                    str(error)
