"""Every cell of the fault matrix: a run under the fault, then a clean one, and what is left then.

`fault_table` says what must happen. All cells run with OPSCONSOLE_TEST_EVERYTHING=1 (`make
faults`), else a sixteenth that OPSCONSOLE_SEED chooses; the end of a test run prints it.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from fault_cells import ALL_KINDS, CellResult, PreparedScenes, play, play_drift, play_import
from fault_scenes import DRIFT_TARGETS, IMPORT_TARGETS, TARGETS, Target
from fault_table import COLUMNS, expected
from sampling import sample

Cell = tuple[str, str, str]


def targets_of(column: str) -> dict[str, Target]:
    return {"drift": DRIFT_TARGETS, "import": IMPORT_TARGETS}.get(column, TARGETS)


CELLS: list[Cell] = [
    (column, target, kind)
    for column in COLUMNS
    for target in targets_of(column)
    for kind in ALL_KINDS
]

CHOSEN = sample(CELLS, len(CELLS) // 16)


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PreparedScenes]:
    """The scenes, each made when it is first asked for."""
    with ExitStack() as stack:
        yield PreparedScenes(tmp_path_factory.mktemp("faults"), stack)


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
    entry = expected(column, name, kind)
    if entry == ("alone", "warned") and kind in ("refused", "unauthorized") and seen.adopted:
        # The adoption runs beside the failed call. Where it ends first, no warning is left.
        entry = ("alone", "complete")
    assert (seen.word, seen.after) == entry, told


def test_every_cell_has_an_entry():
    missing = [cell for cell in CELLS if expected(*cell) is None]
    assert missing == []
