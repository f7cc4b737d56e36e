"""The generated modules are what the `.proto` files say, and the protocol's numbers are kept."""

import pytest
from scripts.protobuf import HERE, SOURCE_ROOT, regenerate

from opsconsole.terraform.proto import tfplugin6_pb2 as pb


def test_generated_modules_are_up_to_date(tmp_path):
    regenerate(tmp_path)
    written = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert [path.name for path in written] == sorted(path.name for path in HERE.glob("*_pb2.py*"))
    for path in written:
        assert path.read_text() == (SOURCE_ROOT / path.relative_to(tmp_path)).read_text()


@pytest.mark.parametrize(
    ("message", "encoded"),
    [
        (pb.DynamicValue(msgpack=b"\xc0"), b"\x0a\x01\xc0"),
        (pb.ServerCapabilities(plan_destroy=True), b"\x08\x01"),
        (
            pb.Schema.Attribute(
                name="a", nested_type=pb.Schema.Object(nesting=pb.Schema.Object.MAP)
            ),
            b"\x0a\x01a\x52\x02\x18\x04",
        ),
        (pb.GetProviderSchema.Response(server_capabilities=pb.ServerCapabilities()), b"\x32\x00"),
        (pb.PlanResourceChange.Response(planned_private=b"p"), b"\x1a\x01p"),
        (pb.ApplyResourceChange.Response(private=b"p"), b"\x12\x01p"),
        (pb.StopProvider.Response(Error="e"), b"\x0a\x01e"),
    ],
)
def test_numbers_of_fields(message, encoded):
    assert message.SerializeToString() == encoded  # type: ignore[attr-defined]  # any message
