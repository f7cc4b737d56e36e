"""A native command is killed or interrupted at every request and file operation; then either
engine goes on.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from crash_scene import KILLED, STEP, Scene
from crash_story import STORIES
from engines import Terraform
from extent import EVERYTHING
from killed_run import KILL, WHAT

SAMPLED = {
    ("apply", KILL): 2,
    ("apply", "interrupt"): 1,
    ("destroy", KILL): 1,
    ("destroy", "interrupt-twice"): 1,
    ("import", "terminate"): 1,
    ("drift", "interrupt-again"): 1,
}
"""How many points of a story are taken where not every point is wanted."""

AGAIN = 4
"""One of so many killed runs is killed a second time."""

EARLY = 40
"""A run that is killed a second time has passed fewer points than this."""

RARELY = 4
"""After a signal, Terraform goes on at one of so many points: what is left is a plain state."""

CASES = [(story, what) for story in STORIES for what in WHAT] if EVERYTHING else list(SAMPLED)


@pytest.fixture
def make_scene(
    terraform: Callable[..., Terraform], tmp_path: Path
) -> Iterator[Callable[[str], Scene]]:
    with ExitStack() as cleanup:
        yield lambda story: Scene(terraform({}), tmp_path, cleanup, STORIES[story])


def points(scene: Scene, story: str, what: str) -> range:
    """Return the points that are tried."""
    ended = scene.stop_at(0)
    assert ended.code == 0, ended
    if story != "import":
        scene.check_all_is_there()
    total = int(ended.err.strip().splitlines()[-1])
    assert total > {"apply": 200, "destroy": 30}.get(story, 2)
    if EVERYTHING:
        # A few more: runs differ in how their requests fall together.
        return range(1, total + 6, STEP)
    wanted = SAMPLED[story, what]
    # Most of what can be lost is in flight in the later half.
    return range(total * 3 // 5, total, max(1, total // 4))[:wanted]


@pytest.mark.terraform
@pytest.mark.crash
@pytest.mark.timeout(36000 if EVERYTHING else 300)
@pytest.mark.parametrize(("story", "what"), CASES)
def test_nothing_is_lost_wherever_a_command_ends(
    story: str, what: str, make_scene: Callable[[str], Scene]
) -> None:
    scene = make_scene(story)
    failures: list[str] = []
    for point in points(scene, story, what):
        scene.put_back("before")
        ended = scene.stop_at(point, what)
        if not ended.point:
            continue
        try:
            if what != KILL:
                scene.check_it_ended_well(ended, what)
            else:
                assert ended.code == KILLED, ended
            scene.check_only_planned_is_gone()
        except AssertionError:
            failures.append(f"point {point}, {ended.point}: {traceback.format_exc(limit=-2)}")
        scene.keep("ended")
        for go_on in continuations(story, what, point):
            scene.put_back("ended")
            try:
                go_on(scene, point)
            except Exception:
                told = traceback.format_exc(limit=-3)
                failures.append(f"point {point}, {ended.point}, {go_on.__name__}: {told}")
    assert not failures, "\n".join(failures)


def continuations(story: str, what: str, point: int) -> list[Callable[[Scene, int], None]]:
    """Return how things go on after a point."""
    if story == "drift":
        return [nothing_happened]
    found = [natively]
    if what == KILL and story == "apply" and point % AGAIN == 0:
        found.append(natively_after_another_crash)
    if (what == KILL or point % RARELY == 0) and (EVERYTHING or what in (KILL, "interrupt-twice")):
        found.append(with_terraform)
    return found


def nothing_happened(scene: Scene, _point: int) -> None:
    """A command that only reads has left console and state as they were."""
    scene.check_unchanged()
    scene.check_all_is_there()


def natively(scene: Scene, _point: int = 0) -> None:
    """What was left is taken in, and the native engine runs the command again."""
    scene.command("state", "fold")
    scene.check_nothing_is_lost()
    left = scene.unsettled()
    if scene.story.adopts:
        import_again(scene)
    else:
        scene.command(*scene.story.words, expect=(1,) if left else (0,))
    scene.check_nothing_is_lost()
    if left:
        scene.tell_what_became_of(left)
        scene.command(*scene.story.words)
    scene.check_all_is_there()


def natively_after_another_crash(scene: Scene, point: int) -> None:
    """The native engine runs again, is killed early, and runs a third time."""
    scene.stop_at(1 + 7 * (point // AGAIN) % EARLY)
    natively(scene)


def with_terraform(scene: Scene, _point: int) -> None:
    """What was left is taken in, and Terraform runs."""
    scene.command("state", "fold")
    scene.check_nothing_is_lost()
    left = scene.unsettled()
    if scene.story.adopts:
        import_again(scene)
    run = scene.terraform.destroy if scene.story.destroys else scene.terraform.apply
    run(expect=(1,) if left else (0,))
    scene.check_nothing_is_lost()
    if left:
        scene.tell_what_became_of(left)
        run()
    scene.check_all_is_there()


def import_again(scene: Scene) -> None:
    """Import what the ended run did not: the state says whether it did."""
    address = scene.story.words[-2]
    scene.command(*scene.story.words, expect=(1,) if address in scene.instances() else (0,))
