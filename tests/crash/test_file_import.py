"""`hosts import` of a file is killed or interrupted at every point; no id is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from crash_scene import KILLED, STEP, Scene
from crash_story import NOBODYS, SETTINGS, STORIES
from engines import Terraform
from extent import EVERYTHING
from killed_run import KILL, TWICE, WHAT

NAMES = {f"row-{number}" for number in range(7)}
SAMPLE = 8


@pytest.mark.terraform
@pytest.mark.crash
@pytest.mark.timeout(36000 if EVERYTHING else 300)
@pytest.mark.parametrize("what", WHAT if EVERYTHING else ("interrupt", "interrupt-twice"))
def test_every_id_is_printed_and_a_second_import_creates_nothing_twice(
    what: str, terraform: Callable[..., Terraform], tmp_path: Path
) -> None:
    with ExitStack() as cleanup:
        story = replace(STORIES["drift"], words=("hosts", "import", "rows.json"))
        scene = Scene(terraform({}), tmp_path, cleanup, story)
        rows = [{"name": name, "external_id": name} for name in sorted(NAMES)]
        (scene.folder / "rows.json").write_text(json.dumps(rows))
        ended = scene.stop_at(0)
        assert ended.code == 0, ended
        total = int(ended.err.strip().splitlines()[-1])
        points = range(1, total + 3, STEP) if EVERYTHING else (SAMPLE,)
        for point in points:
            scene.put_back("before")
            check(scene, point, what)


def check(scene: Scene, point: int, what: str) -> None:
    """Import, stopped at a point, and import again."""
    ended = scene.stop_at(point, what)
    told = f"point {point}, {ended.point}\n{ended.out}\n{ended.err}"
    if what == KILL:
        assert ended.code == (KILLED if ended.point else 0), told
    else:
        scene.check_it_ended_well(ended, what)
    created = [row for row in scene.living("hosts") if row["name"] in NAMES]
    missing = [row["id"] for row in created if row["id"] not in ended.out]
    # What was in flight when nobody waited for the answer any more is one request.
    assert len(missing) <= (SETTINGS["import_chunk_size"] if what in (KILL, *TWICE) else 0), told
    scene.command(*scene.story.words)
    names = sorted(row["name"] for row in scene.living("hosts"))
    assert names == sorted({*NAMES, *scene.story.hosts, NOBODYS}), told
    scene.check_only_planned_is_gone()
