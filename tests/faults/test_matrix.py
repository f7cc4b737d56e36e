"""Every cell of the fault matrix: a run under the fault, then a clean one, and what is left then.

`expected.txt` says what must happen. All cells run with OPSCONSOLE_TEST_EVERYTHING=1 (`make
faults`), else a sixteenth that OPSCONSOLE_SEED chooses; the end of a test run prints it.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fault_cells import ALL_KINDS, CellResult, PreparedScenes, play, play_drift, play_import
from fault_scenes import DRIFT_TARGETS, IMPORT_TARGETS, TARGETS, Target
from opsconsole.emulator.document import DOCUMENTED, EXTRA
from sampling import sample
from text_groups import read_groups

Cell = tuple[str, str, str]


def targets_of(column: str) -> dict[str, Target]:
    return {"drift": DRIFT_TARGETS, "import": IMPORT_TARGETS}.get(column, TARGETS)


CELLS: list[Cell] = [
    (column, target, kind)
    for column in ("native", "terraform", "drift", "import")
    for target in targets_of(column)
    for kind in ALL_KINDS
]


def read_expected() -> dict[Cell, tuple[str, str]]:
    """Return how the run under a fault ends, and how the one after it, for each cell."""
    groups = read_groups(Path(__file__).with_name("expected.txt"))
    sets = dict(line.split(": ") for line in groups.pop("kinds"))
    found: dict[Cell, tuple[str, str]] = {}
    for places, lines in groups.items():
        for line in lines:
            entry, words = line.split(": ")
            first, after = entry.split(" | ")
            kinds = [kind for word in words.split() for kind in sets.get(word, word).split()]
            for column, *targets in map(str.split, places.split("; ")):
                for target in targets:
                    found |= {(column, target, kind): (first, after) for kind in kinds}
    return found


EXPECTED = read_expected()
CHOSEN = sample(CELLS, len(CELLS) // 16)


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PreparedScenes]:
    """The scenes, each made when it is first asked for."""
    with ExitStack() as stack:
        yield PreparedScenes(tmp_path_factory.mktemp("faults"), stack)


def test_every_operation_has_a_target():
    targets = (TARGETS | DRIFT_TARGETS | IMPORT_TARGETS).values()
    assert {target.operation for target in targets} == (DOCUMENTED | EXTRA).keys()


def played(scenes: PreparedScenes, column: str, name: str, kind: str) -> CellResult:
    target = targets_of(column)[name]
    if column == "drift":
        return play_drift(scenes.scene("native", target.scene), target, kind)
    if column == "import":
        return play_import(scenes.scene("native", target.scene), target, kind)
    return play(scenes.scene(column, target.scene), target, kind)


@pytest.mark.faults
@pytest.mark.parametrize(("column", "name", "kind"), CHOSEN, ids=map("-".join, CHOSEN))
def test_a_cell(scenes, column, name, kind):
    seen = played(scenes, column, name, kind)
    told = f"\n{seen.first.text}\n----- then:\n{seen.second.text}"
    assert not seen.wrong, "; ".join(seen.wrong) + told
    entry = EXPECTED[column, name, kind]
    if entry == ("alone", "warned") and kind in ("refused", "unauthorized") and seen.adopted:
        # The adoption runs beside the failed call. Where it ends first, no warning is left.
        entry = ("alone", "complete")
    assert (seen.word, seen.after) == entry, told


def test_every_cell_has_an_entry():
    assert {*CELLS} == {*EXPECTED}
