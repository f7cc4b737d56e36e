"""Where the journal of an interrupted run is looked for."""

import json
from pathlib import Path
from typing import Any

import pytest

from opsconsole.local_terraform import JOURNAL_SUFFIX, journal_of, unfolded_journals


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_DATA_DIR", raising=False)


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    folder = tmp_path / "app" / "cdktf.out" / "stacks" / "fleet"
    folder.mkdir(parents=True)
    return folder


def note(stack: Path, content: Any, data_directory: str = ".terraform") -> None:
    folder = stack / data_directory
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "terraform.tfstate").write_text(json.dumps(content))


def local(**settings: Any) -> dict[str, Any]:
    return {"version": 3, "backend": {"type": "local", "config": settings}}


@pytest.mark.parametrize(
    "place",
    [
        "terraform.tfstate",
        "pg.default",
        "terraform.tfstate.d/prod/terraform.tfstate",
        "../../../terraform.fleet.tfstate",
    ],
)
def test_a_journal_is_found_where_a_state_may_lie(stack, place):
    state = (stack / place).resolve()
    state.parent.mkdir(parents=True, exist_ok=True)
    journal_of(stack.parent.parent.parent / "terraform.other.tfstate").touch()
    assert unfolded_journals(stack) == unfolded_journals(stack / "nowhere") == []
    journal_of(state).touch()
    assert unfolded_journals(stack) == [state.with_name(state.name + JOURNAL_SUFFIX)]


@pytest.mark.parametrize("data_directory", [".terraform", "notes"])
def test_a_journal_is_found_beside_the_state_that_init_noted(
    stack, tmp_path, data_directory, monkeypatch
):
    monkeypatch.setenv("TF_DATA_DIR", data_directory)
    spaces = tmp_path / "spaces" / "prod"
    spaces.mkdir(parents=True)
    settings = {"path": str(tmp_path / "x.tfstate"), "workspace_dir": str(spaces.parent)}
    note(stack, local(**settings), data_directory)
    expected = [journal_of(spaces / "terraform.tfstate"), journal_of(tmp_path / "x.tfstate")]
    for journal in expected:
        journal.touch()
    assert unfolded_journals(stack) == sorted(expected)


def test_a_journal_is_found_by_a_path_and_by_a_link(stack, tmp_path):
    note(stack, local(path="sub/y.tfstate", workspace_dir=None))
    (stack / "sub").mkdir()
    (stack / "terraform.tfstate").symlink_to(tmp_path / "kept.tfstate")
    expected = [journal_of(stack / "sub" / "y.tfstate"), journal_of(tmp_path / "kept.tfstate")]
    for journal in expected:
        journal.touch()
    assert unfolded_journals(stack) == sorted(expected)


@pytest.mark.parametrize(
    "content", [{}, [], {"backend": None}, {"backend": {"type": "s3", "config": {"path": 5}}}]
)
def test_notes_of_another_kind_say_nothing(stack, content):
    note(stack, content)
    assert unfolded_journals(stack) == []
    (stack / ".terraform" / "terraform.tfstate").write_text("{")
    assert unfolded_journals(stack) == []
