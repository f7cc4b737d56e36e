"""What an apply that goes on for long shows: lines, messages, and a bar on a terminal."""

import json
import re
from typing import Any

import pytest
from rich.progress import Progress, TaskID

from opsconsole.cli import message_stream, progress
from opsconsole.cli.progress import FEW, ApplyMessages, Lines
from opsconsole.cli.progress_bar import RateColumn
from opsconsole.lifecycle.interface import Outcome
from opsconsole.reconcile.order import Step, StepKind
from opsconsole.reconcile.plan import Action, Change
from opsconsole.v1.limiter import HeldBack


def step(name: str, kind: StepKind = StepKind.CREATE, **facts: Any) -> Step:
    before = None if kind is StepKind.CREATE else {"id": f"hst_{name}"}
    change = Change(
        f"opsconsole_host.{name}", "opsconsole_host", Action.CREATE, before, {}, **facts
    )
    return Step(change, kind)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take everything that has begun as under way for long."""
    monkeypatch.setattr(progress, "TICK", -1.0)


def test_long_step_is_reported_until_it_ends(at_once):
    written: list[str] = []
    lines = Lines(written.append)
    lines.begin_step(step("a"))
    lines.tick()
    assert written[-1].startswith("opsconsole_host.a: Still creating... [")
    lines.end_step(step("a"), Outcome({"id": "hst_a"}), 12.0)
    assert written[-1] == "opsconsole_host.a: Creation complete after 12s [id=hst_a]"
    count = len(written)
    lines.tick()
    assert len(written) == count


def test_many_long_steps_name_the_first(at_once):
    written: list[str] = []
    lines = Lines(written.append)
    for number in range(FEW + 5):
        lines.begin_step(step(f"h{number}"))
    del written[:]
    lines.tick()
    assert len(written) == FEW + 1
    assert written[-1] == "… and 5 more"


def test_programs_are_told_of_what_takes_long(at_once, capsys):
    told = ApplyMessages(message_stream.emit)
    told.begin_step(step("a"))
    told.tick()
    told.skip_step(step("b"), "opsconsole_host.a")
    kinds = [json.loads(line)["type"] for line in capsys.readouterr().out.splitlines()]
    assert kinds == ["apply_start", "apply_progress", "log"]


def change_many(progress: Progress, count: int) -> str:
    """Report the ends of changes at one moment; return the rate that is shown then."""
    for _ in range(count):
        progress.update(TaskID(0), advance=1)
    return RateColumn().render(progress.tasks[0]).plain


def test_rate_needs_several_changes():
    now = [100.0]
    progress = Progress(get_time=lambda: now[0], speed_estimate_period=10.0)
    progress.add_task("", total=701)
    assert change_many(progress, 1) == "…"
    now[0] += 3.0
    assert change_many(progress, 1) == "…", "one change, alone before hundreds that go together"
    now[0] += 1.0
    assert change_many(progress, 19) == "5.0/s · 2m16s left"


def test_estimate_follows_the_recent_rate():
    now = [100.0]
    progress = Progress(get_time=lambda: now[0], speed_estimate_period=10.0)
    progress.add_task("", total=230)
    for _ in range(100):
        change_many(progress, 1)
        now[0] += 0.01
    for _ in range(30):
        now[0] += 1.0
        shown = change_many(progress, 1)
    assert shown == "1.0/s · 1m40s left", "the burst at the beginning is forgotten"


def test_a_wait_that_the_console_asks_for_is_reported():
    written: list[str] = []
    lines = Lines(written.append)
    lines.tick()
    lines.waiting = lambda: HeldBack(31, 12.4)
    lines.tick()
    assert written == ["Waiting: the console limits requests: next in 12 s, 31 requests held back"]


def test_a_terminal_shows_a_bar_with_counts_rate_and_time_left(native, fleet):
    native.settings["import_chunk_size"] = 5
    native.write(fleet(45, agents=False))
    native.console.fault(path="/hosts/batch$", delay=0.5, times=None)
    text = native.run_on_terminal("apply", "-auto-approve")
    assert "Planning…" in text
    assert re.search(r"Applying.*\d+ of 45.*/s · \d+s left", text)
    assert "\033[1m" in text and "\033[32m+" in text
    assert "opsconsole_host.web[3]: Creation complete" not in text, "many are counted, not listed"


def test_few_changes_are_listed_on_a_terminal_and_no_color_is_kept(native, fleet):
    native.write(fleet(2, agents=False))
    text = native.run_on_terminal("apply", "-auto-approve", "-no-color")
    assert "opsconsole_host.web[1]: Creation complete" in text
    assert "\033[3" not in text
