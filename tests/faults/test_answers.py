"""Each field of the answers of operations, spoilt: both engines say the same.

A field is dropped, null, empty, or of another type, in the first answer of its operation. What must
never be is judged by the console's rows, as for every cell of the fault matrix.
"""

import copy
import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from consoles import in_process
from fault_cells import CellResult, PreparedScenes, play
from fault_scenes import SCENES, TARGETS
from opsconsole.emulator import application
from sampling import sample

SPOILT = ("dropped", "null", "empty", "another type")
EXTRA = (
    *("host_get", "agent_get", "agent_update", "agent_delete"),
    *("specialty_create", "specialty_update"),
)
"""Operations of extra endpoints that are met too."""
OPERATIONS = [
    name for name, at in TARGETS.items() if SCENES[at.scene].profile == "default" or name in EXTRA
]
FIELDS = 26
"""No answer has more; the numbers beyond are of no field."""
CELLS = list(itertools.product(OPERATIONS, range(FIELDS), SPOILT))
Place = tuple[str | int, ...]


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Yield each field of an answer; of its lists, those of the first entry."""
    pairs = value.items() if isinstance(value, dict) else list(enumerate(value))[:1]
    for name, item in pairs:
        if isinstance(value, dict):
            yield (*at, name)
        if isinstance(item, dict | list):
            yield from places(item, (*at, name))


def spoil(answer: Any, place: Sequence[str | int], how: str) -> Any:
    """Return an answer with one field spoilt."""
    whole = holder = copy.deepcopy(answer)
    for name in place[:-1]:
        holder = holder[name]
    value = holder[place[-1]]
    if how == "dropped":
        del holder[place[-1]]
    elif how == "null":
        holder[place[-1]] = None
    elif how == "empty":
        holder[place[-1]] = type(value)() if value is not None else ""
    else:
        holder[place[-1]] = {"x": 1} if isinstance(value, str | bool | int) else "x"
    return whole


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PreparedScenes]:
    """The scenes, on consoles in this process."""
    with ExitStack() as stack:
        yield PreparedScenes(tmp_path_factory.mktemp("answers"), stack, in_process)


def means_so(name: str, wrong: str) -> bool:
    """Return whether the answer says what is called wrong: state follows an Agent that is shown.

    A deletion that is not confirmed stays in state until the next run.
    """
    if name in ("plugin_attach", "plugin_detach", "agent_update"):
        claims = "state claims name" in wrong or "state claims host_id" in wrong
        return claims or "the next plan exits with" in wrong
    return "_delete" in name and wrong.startswith("after the fault: state claims")


@pytest.mark.meetings
@pytest.mark.parametrize(("name", "field", "how"), sample(CELLS, 40))
def test_a_field_of_an_answer(scenes, name, field, how, monkeypatch):
    met: list[Place] = []

    def spoilt(console: Any, operation: str, fault: Any, answer: Any) -> Any:
        fields = list(places(answer))
        assert len(fields) <= FIELDS
        met.append([*fields, *[()] * FIELDS][field])
        return spoil(answer, met[-1], how) if met[-1] else answer

    monkeypatch.setattr(application, "spoil_answer", spoilt)
    seen: dict[str, CellResult] = {}
    for engine in ("native", "terraform"):
        seen[engine] = play(
            scenes.scene(engine, TARGETS[name].scene), TARGETS[name], "empty_object"
        )
    told = "".join(
        f"\n===== {engine}: {one.word}, then {one.after}\n{one.first.text}\n----- {one.second.text}"
        for engine, one in seen.items()
    )
    where = f"{name} {met} {how}"
    for engine, one in seen.items():
        wrong = [text for text in one.wrong if not means_so(name, text)]
        assert not wrong, f"{where}: {engine}: {'; '.join(wrong)}{told}"
    assert len({one.word in ("complete", "warned") for one in seen.values()}) == 1, where + told
