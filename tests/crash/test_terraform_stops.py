"""Terraform is interrupted or terminated, with its provider, at every request of the provider.

SIGKILL is left out: a Terraform that is killed loses what it has not written to its state, and no
provider can help that.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from crash_scene import STEP, Scene
from crash_story import STORIES
from engines import Terraform
from extent import EVERYTHING

SECONDS = 600


def start(scene: Scene, *words: str) -> subprocess.Popen[str]:
    """Start Terraform as the leader of a process group, as a shell does."""
    scene.terraform.start("version").communicate(timeout=SECONDS)
    return subprocess.Popen(
        [str(scene.terraform.program), *words, "-auto-approve", "-no-color", "-input=false"],
        cwd=scene.folder,
        env=scene.terraform.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def stop_at(scene: Scene, request: int, number: int, word: str, when: str) -> tuple[bool, str]:
    """Signal Terraform while a request is held up; tell whether there was one, and the output."""
    scene.console.reset_log()
    scene.console.fault(skip=request, times=1, **{when: 1.0})
    with start(scene, word) as process:
        while process.poll() is None and scene.console.traffic()["total"] <= request:
            time.sleep(0.01)
        if process.poll() is None:
            os.killpg(process.pid, number)
        output, _ = process.communicate(timeout=SECONDS)
    scene.console.clear_faults()
    while scene.console.traffic()["in_flight"]:
        time.sleep(0.01)
    return scene.console.traffic()["total"] > request, output


def destroy_again(terraform: Terraform) -> None:
    """Destroy what is left.

    Terraform plans the program before it destroys. The plan of a specialty that is gone already is
    an error, which says how to destroy without that plan.
    """
    first = terraform.destroy(expect={0, 1})
    if first.code:
        assert "There is no specialty with the key" in first.text, first.text
        assert "`terraform destroy -refresh=false`" in first.text, first.text
        terraform.destroy("-refresh=false")


@pytest.mark.terraform
@pytest.mark.crash
@pytest.mark.timeout(36000 if EVERYTHING else 300)
@pytest.mark.parametrize(
    ("word", "number", "when"),
    [
        (word, number, when)
        for word in ("apply", "destroy")
        for number in (signal.SIGINT, signal.SIGTERM)
        for when in ("delay", "answer_delay")
    ]
    if EVERYTHING
    else [("apply", signal.SIGINT, "answer_delay"), ("destroy", signal.SIGTERM, "delay")],
)
def test_terraform_stops_and_a_second_run_converges(
    word: str,
    number: int,
    when: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    # Attached, the provider is not part of Terraform's process group: cheaper, and less is tried.
    fixture = "installed_terraform" if EVERYTHING else "terraform"
    make: Callable[..., Terraform] = request.getfixturevalue(fixture)
    with ExitStack() as cleanup:
        scene = Scene(make({}), tmp_path, cleanup, STORIES[word])
        at, there = (0, True) if EVERYTHING else (14, True)
        while there:
            scene.put_back("before")
            there, output = stop_at(scene, at, number, word, when)
            assert "Traceback" not in output, output
            scene.check_nothing_is_lost(output)
            left = scene.unsettled()
            assert not left, f"request {at}: {left}\n{output}"
            if word == "apply":
                scene.terraform.apply()
            else:
                destroy_again(scene.terraform)
            scene.check_all_is_there()
            at += STEP
            there = there and EVERYTHING
