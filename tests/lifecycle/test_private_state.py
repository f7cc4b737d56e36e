"""The private bytes: what they hold, how short they are, and what becomes of others' bytes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsconsole.lifecycle.answers import PrivateState
from opsconsole.resources import RESOURCES

NAMES = sorted(
    {item.name for definition in RESOURCES.values() for item in definition.answer_fields}
)


@given(st.frozensets(st.sampled_from(NAMES)), st.booleans(), st.none() | st.just({"mac": "02:00"}))
def test_what_is_written_is_read(observed, kept, declared):
    memory = PrivateState(observed, declared, kept=kept)  # type: ignore[arg-type]  # one of PrivateState's own
    assert PrivateState.decode(memory.encode()) == memory


def test_every_name_has_a_bit() -> None:
    spelled = json.loads(PrivateState(frozenset(NAMES)).encode())["observed"].split()[1:]
    assert spelled == [], "append these names to _LISTED in lifecycle/answers.py"


def test_a_name_without_a_bit_is_written_in_full_beside_the_others() -> None:
    memory = PrivateState(frozenset({"id", "a_name_of_tomorrow"}))
    assert json.loads(memory.encode()) == {"observed": "1 a_name_of_tomorrow"}
    assert PrivateState.decode(memory.encode()) == memory


@pytest.mark.parametrize(
    ("private", "observed"),
    [
        (b'{"observed":"3"}', {"id", "name"}),
        (b'{"observed":"200000000000"}', {"text_hash"}),
        (b'{"observed":"1000000000000000000000001"}', {"id"}),
        (b'{"observed":"no number"}', set()),
        (b'{"observed":["id","name"]}', set()),
        (b'{"observed":7}', set()),
        (b"[]", set()),
        (b"\xff", set()),
        (b"", set()),
    ],
)
def test_bytes_of_others(private, observed):
    assert PrivateState.decode(private).observed == observed
