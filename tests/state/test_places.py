"""One state by any path has one lock and one journal, or it is refused and the option is named."""

import asyncio
import itertools
import json
import os
import subprocess
from pathlib import Path

import pytest

from engines import run_command
from opsconsole.errors import TRY_LATER, UserError
from opsconsole.state.backend import LocalBackend, RunOptions
from opsconsole.state.objects import InstanceObject
from opsconsole.state.opening import open_state, read_state
from opsconsole.state.session import StateSession
from shared_place import ids_of

WEB = "opsconsole_host.web"
WAYS = {
    "path": ("work", "terraform.tfstate"),
    "link": ("work", "../link.tfstate"),
    "link to a link": ("work", "second.tfstate"),
    "link to the folder": ("other", "../folder/terraform.tfstate"),
    "dots": ("work", "../folder/sub/../terraform.tfstate"),
    "elsewhere": ("other", "../work/terraform.tfstate"),
}
"""The working directory and the path of the state, for each way to the state."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a state, two working directories, and links."""
    for folder in ("work/sub", "other"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "link.tfstate").symlink_to("work/terraform.tfstate")
    (tmp_path / "folder").symlink_to("work")
    (tmp_path / "work" / "second.tfstate").symlink_to("../link.tfstate")
    return tmp_path


def leave_journal(opened: StateSession, item: InstanceObject) -> None:
    """Change the state, send a call of unknown outcome, and end without a write of the state."""
    opened.state.put(WEB, item)
    opened.intend("opsconsole_agent.a", "POST /api/v1/agents", {})
    asyncio.run(opened.flush())
    opened.abandon()


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(WAYS, 2)))
def test_a_state_has_one_lock_and_one_journal_by_any_path(root, host, monkeypatch, first, second):
    def backend(way: str) -> LocalBackend:
        monkeypatch.chdir(root / WAYS[way][0])
        return LocalBackend(Path(WAYS[way][1]))

    opened = open_state(backend(first))
    with pytest.raises(UserError, match="is locked by"):
        open_state(backend(second))
    leave_journal(opened, host(1))
    assert ids_of(read_state(backend(second))) == {WEB: "hst_0001"}
    with open_state(backend(second)) as again:
        assert (again.folded_count, len(again.open_intents)) == (1, 1)
    [journal] = root.rglob("*opsconsole-journal")
    assert journal == root / "work" / "terraform.tfstate.opsconsole-journal"


def give_second_name(state: Path, path: Path, way: str, request: pytest.FixtureRequest) -> None:
    if way == "hard link":
        os.link(state, path)
        return
    path.touch()
    if subprocess.run(["mount", "--bind", state, path], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    request.addfinalizer(lambda: subprocess.run(["umount", path], check=True))


@pytest.mark.parametrize("way", ["hard link", "mount"])
def test_a_state_with_a_second_name_needs_one_journal(root, host, request, monkeypatch, way):
    state, path = root / "work" / "terraform.tfstate", root / "second.tfstate"
    state.touch()
    give_second_name(state, path, way, request)
    (root / "work" / "main.tf.json").write_text(json.dumps({"output": {"o": {"value": "x"}}}))
    monkeypatch.chdir(root / "work")
    apply = ("apply", "--auto-approve", f"--state={path}")
    refused = run_command(*apply)
    why = (
        "it has a second name (a hard link)" if way == "hard link" else "the file itself is mounted"
    )
    assert refused.code == 1
    assert f"by another path: {why}" in refused.err
    assert "--journal=FILE" in refused.err
    journal = root / "journal"
    with open_state(LocalBackend(state, RunOptions(journal=journal))) as opened:
        held = run_command(*apply, f"--journal={journal}")
        assert (held.code, "is locked by" in held.err) == (TRY_LATER, True)
        leave_journal(opened, host(1))
    folded = run_command("state", "fold", f"--state={path}", f"--journal={journal}")
    assert "Added 1 change of the interrupted run" in folded.out
