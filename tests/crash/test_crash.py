"""A native apply is killed at every request and file operation; then either engine goes on."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from crash_scene import KILLED, Scene
from engines import Terraform

EVERYTHING = os.environ.get("OPSCONSOLE_TEST_EVERYTHING", "") not in ("", "0")
PARTS = 6 if EVERYTHING else 2
SAMPLE = 3
"""How many points each part takes where not every point is wanted."""

AGAIN = 4
"""One of so many crashed runs crashes a second time."""

EARLY = 40
"""A run that is killed a second time has passed fewer points than this."""


@pytest.fixture
def scene(terraform: Callable[..., Terraform], tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as cleanup:
        yield Scene(terraform({}), tmp_path, cleanup)


def points(scene: Scene, part: int) -> range:
    """Return the points that a part of the test takes."""
    code, said = scene.kill_at(0)
    assert code == 0
    scene.check_all_is_there()
    total = int(said)
    assert total > 200
    if EVERYTHING:
        # A few more: runs differ in how their requests fall together.
        return range(1 + part, total + PARTS, PARTS)
    step = total // (SAMPLE * PARTS)
    return range(1 + part * step, total, step * PARTS)[:SAMPLE]


@pytest.mark.terraform
@pytest.mark.crash
@pytest.mark.timeout(7200 if EVERYTHING else 300)
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_is_lost_wherever_an_apply_dies(part: int, scene: Scene) -> None:
    failures: list[str] = []
    for point in points(scene, part):
        scene.put_back("before")
        code, said = scene.kill_at(point)
        if code != KILLED:
            continue
        scene.keep("killed")
        again = (natively_after_another_crash,) if point % AGAIN == 0 else ()
        for go_on in (natively, *again, with_terraform):
            scene.put_back("killed")
            try:
                go_on(scene, point)
            except Exception:
                told = traceback.format_exc(limit=-3)
                failures.append(f"point {point}, {said}, {go_on.__name__}: {told}")
    assert not failures, "\n".join(failures)


def natively(scene: Scene, _point: int = 0) -> None:
    """The native engine runs again."""
    scene.native_run()
    scene.check_nothing_is_lost()
    left = scene.unsettled()
    if left:
        scene.tell_what_became_of(left)
        _, applied = scene.native_run()
        assert applied.complete, applied.diagnostics
    scene.check_all_is_there()


def natively_after_another_crash(scene: Scene, point: int) -> None:
    """The native engine runs again, is killed early, and runs a third time."""
    scene.kill_at(1 + 7 * (point // AGAIN) % EARLY)
    natively(scene)


def with_terraform(scene: Scene, _point: int) -> None:
    """What was left is taken in, and Terraform runs."""
    scene.native_run(apply=False)
    left = scene.unsettled()
    scene.terraform.apply(expect=(1,) if left else (0,))
    scene.check_nothing_is_lost()
    if left:
        scene.tell_what_became_of(left)
        scene.terraform.apply()
    scene.check_all_is_there()
