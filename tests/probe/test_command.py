"""`opsconsole probe`: what it asks before it sends, what it prints and what it writes."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opsconsole.cli.main import main
from opsconsole.emulator.handle import Emulator
from opsconsole.v1.settings import Settings

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def console(console_of: Callable[[str], Emulator]) -> Emulator:
    made = console_of("default")
    made.create("hosts", id="hst_1", name="one", knowledge="x", tags=["a:1", "b:2"])
    made.create("agents", id="agt_1", name="a", host_id="hst_1", status="idle")
    return made


@pytest.fixture
def run(console: Emulator, monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    for name, value in console.environment.items():
        monkeypatch.setenv(name, value)

    def start(*words: str, answer: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
        code = main(["probe", "--host", "hst_1", "--agent", "agt_1", *words])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return start


def test_a_dry_run_lists_the_calls_and_sends_none(run: Run, console: Emulator) -> None:
    console.reset_log()
    code, out, _ = run("--dry-run")
    assert code == 0
    assert "    2 x POST /api/v1/hosts/hst_1\n" in out
    assert "    1 x GET /api/v1/specialties/search?include=total_count\n" in out
    _, text, _ = run("--dry-run", "--json")
    planned = json.loads(text)
    assert f"\n{sum(call['most'] for call in planned)} calls at most" in out
    assert console.traffic()["total"] == 0


def test_a_dry_run_needs_no_settings(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPSCONSOLE_API_KEY")
    code, out, err = run("--dry-run")
    assert code == 0
    assert "POST /api/v1/hosts/hst_1\n" in out
    assert "No API key is set; the list assumes that host_get is not named." in err


def test_nothing_but_get_is_sent_without_a_yes(run: Run, console: Emulator) -> None:
    console.reset_log()
    code, out, err = run(answer="no\n")
    assert code == 0
    assert "Only 'yes' allows requests other than GET" in err
    assert {item["method"] for item in console.requests()} == {"GET"}
    assert "Not learned" in out
    run(answer="yes\n")
    assert {item["method"] for item in console.requests()} == {"GET", "POST"}


def test_the_table_names_the_calls_and_the_settings(run: Run) -> None:
    code, out, _ = run("--yes", "--no-color")
    assert code == 0
    assert "By which field an import row matches" in out
    assert "404 NOT_FOUND, request id req_" in out
    assert "an import honours order and repetition and spaces around\n" in out
    assert "learned by" in out


def test_what_was_found_is_written_for_block_and_environment(
    run: Run, console: Emulator, tmp_path: Path
) -> None:
    code, out, _ = run("--yes", "--json", "--write", "found.json")
    document = json.loads(out)
    assert code == 0
    written = json.loads((tmp_path / "found.json").read_text())
    assert written["provider"] == document["settings"]
    by_block = Settings.from_values(written["provider"], console.environment)
    by_environment = Settings.from_values({}, {**console.environment, **written["environment"]})
    assert by_block == by_environment
    assert all(item["answer"] or item["why"] for item in document["findings"])


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_an_echo_of_the_key_is_not_printed(
    words: tuple[str, ...], run: Run, console: Emulator
) -> None:
    key = console.api_key
    console.fault(
        path="opsconsole_probe_none",
        status=404,
        code=f"NOT_FOUND {key}",
        headers={"X-Request-Id": f"req_{key}"},
        times=None,
    )
    code, out, err = run("--yes", *words)
    assert code == 0
    assert "404 NOT_FOUND ***" in out
    assert key not in out + err


def test_a_file_that_cannot_be_written_and_a_wrong_key_are_one_message(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, err = run("--yes", "--write", "no/such/folder.json")
    assert code == 1
    assert "cannot be written" in err
    monkeypatch.setenv("OPSCONSOLE_API_KEY", "svc_ak_wrong")
    code, _, err = run("--yes")
    assert code == 1
    assert "401" in err
