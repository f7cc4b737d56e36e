"""Whoever comes while a native apply is at work is told who holds the state, or waits for it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from crash_scene import Scene
from crash_story import STORIES
from engines import Terraform
from opsconsole.state.lock import LockInfo, info_file


@pytest.fixture
def scene(terraform: Callable[..., Terraform], tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as cleanup:
        scene = Scene(terraform({}), tmp_path, cleanup, STORIES["apply"])
        # The first run is paused with a request in flight, for as long as the others need.
        scene.terraform.environment["OPSCONSOLE_REQUEST_TIMEOUT"] = "3600"
        scene.console.fault(method="POST", path="/agents$", delay=4)
        yield scene


WAITING_APPLY = ("apply", "-input=false", "-no-color", "-auto-approve", "-lock-timeout=600s")


def holder(scene: Scene) -> LockInfo:
    """Wait until a native apply holds the state and is in the middle of its changes."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        found = LockInfo.read(info_file(scene.folder / "terraform.tfstate"))
        if found is not None and not scene.console.waiting_faults():
            return found
        time.sleep(0.02)
    raise AssertionError("nobody took the lock")


@pytest.mark.terraform
def test_others_are_refused_by_name_and_a_terraform_that_waits_loses_nothing(scene: Scene) -> None:
    with scene.start(0) as first, ExitStack() as at_the_end:
        at_the_end.callback(first.kill)  # a paused process would be waited for without an end
        held = holder(scene)
        first.send_signal(signal.SIGSTOP)
        with scene.start(0) as second:
            _, said = second.communicate(timeout=300)
        assert second.returncode == 1
        assert held.who in said and "opsconsole apply" in said
        refused = scene.terraform.apply(expect=(1,))
        assert held.id in refused.text and held.who in refused.text
        with scene.terraform.start(*WAITING_APPLY) as waiting:
            assert waiting.stdout is not None
            seen = ""
            while "Acquiring state lock" not in seen:
                line = waiting.stdout.readline()
                assert line, f"Terraform did not wait:\n{seen}"
                seen += line
            first.send_signal(signal.SIGCONT)
            assert first.wait(300) == 0
            first.communicate()
            out, _ = waiting.communicate(timeout=300)
        assert waiting.returncode == 0
    assert "0 added, 0 changed, 0 destroyed" in out
    scene.check_nothing_is_lost()
    scene.check_all_is_there()
