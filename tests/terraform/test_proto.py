"""The generated modules are what the `.proto` files say."""

from scripts.protobuf import HERE, SOURCE_ROOT, regenerate


def test_generated_modules_are_up_to_date(tmp_path):
    regenerate(tmp_path)
    written = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert [path.name for path in written] == sorted(path.name for path in HERE.glob("*_pb2.py*"))
    for path in written:
        assert path.read_text() == (SOURCE_ROOT / path.relative_to(tmp_path)).read_text()
