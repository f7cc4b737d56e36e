"""A resource is made of a definition, a lifecycle, its operations and its rules in the emulator.

Both engines, drift, adoption, reports, constructs and reference pages follow from these.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from scripts.generate.constructs import construct_files
from scripts.generate.reference import reference_files

from commands import run_command
from opsconsole.definition import Way
from opsconsole.drift import unmanaged_kinds
from opsconsole.emulator import Emulator
from opsconsole.resources import RESOURCES
from sixth_resource import SCHEDULE, Schedules, registered

ROOT = Path(__file__).resolve().parents[2]
HOST = "${opsconsole_host.web.id}"


def program(**schedule: Any) -> dict[str, Any]:
    """Return a host with a schedule."""
    return {
        "opsconsole_host": {"web": {"name": "web"}},
        "opsconsole_schedule": {"nightly": {"name": "nightly", "host_id": HOST, **schedule}},
    }


@pytest.fixture
def schedules(monkeypatch: pytest.MonkeyPatch) -> Iterator[Schedules]:
    """What the console holds of the sixth resource, which is registered for one test."""
    with registered(monkeypatch) as held:
        yield held


@pytest.fixture
def native(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, console_of: Callable[[str], Emulator]
) -> Callable[..., tuple[int, str]]:
    """Run the native command in a folder: `(*words, resource=None)`; returns code and output."""
    console = console_of("strict")
    for name, value in console.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    def run(*words: str, resource: dict[str, Any] | None = None) -> tuple[int, str]:
        if resource is not None:
            Path("cdk.tf.json").write_text(json.dumps({"resource": resource}))
        ended = run_command(*words)
        return ended.code, ended.text

    return run


def test_the_native_engine(schedules: Schedules, native: Any) -> None:
    assert native("apply", "-auto-approve", resource=program())[0] == 0
    [(schedule_id, row)] = schedules.rows.items()
    assert native("plan", "-detailed-exitcode")[0] == 0

    code, out = native("apply", "-auto-approve", resource=program(cron="0 2 * * *"))
    assert (code, row["cron"]) == (0, "0 2 * * *"), out

    row["cron"] = "0 3 * * *"
    code, out = native("drift", "--format", "json")
    findings = {item["address"]: item for item in json.loads(out)["findings"]}
    assert findings["opsconsole_schedule.nightly"]["bucket"] == "changed"
    assert code == 2
    assert native("apply", "-refresh-only", "-auto-approve")[0] == 0
    assert "0 3" in Path("terraform.tfstate").read_text()

    assert native("state", "rm", "opsconsole_schedule.nightly")[0] == 0
    assert native("import", "opsconsole_schedule.nightly", schedule_id)[0] == 0
    assert native("apply", "-auto-approve")[0] == 0
    assert row["cron"] == "0 2 * * *"

    code, out = native("destroy", "-auto-approve")
    assert code == 0
    # Its host takes it along: no call is made.
    assert schedules.rows == {schedule_id: row}
    assert "archived by the deletion of opsconsole_host.web" in out


def test_its_list_is_adopted_and_may_be_narrowed(
    schedules: Schedules,
    native: Any,
    console_of: Callable[[str], Emulator],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    console = console_of("strict")
    assert native("apply", "-auto-approve", resource=program())[0] == 0
    [schedule_id] = schedules.rows
    assert native("state", "rm", "opsconsole_schedule.nightly")[0] == 0
    endpoints = {"schedule_list": "GET /api/v1/schedules"}
    monkeypatch.setenv("OPSCONSOLE_EXTRA_ENDPOINTS", json.dumps(endpoints))
    query = {"schedules.q": "nightly", "plugins.q": "x"}
    monkeypatch.setenv("OPSCONSOLE_LIST_QUERY", json.dumps(query))
    code, out = native("adopt", "--output", "-", "--hcl")
    assert (code, f'id = "{schedule_id}"' in out) == (0, True), out
    listed = [item for item in console.requests() if item["operation"] == "schedule_list"]
    assert {item["query"] for item in listed} == {"q=nightly"}
    code, out = native("adopt", schedule_id, "--output", "-")
    assert (code, "import OpsconsoleProvider, Schedule" in out) == (0, True), out

    unlisted = replace(SCHEDULE, ways={**SCHEDULE.ways, "list": (Way(""),)})
    monkeypatch.setitem(cast(dict[str, Any], RESOURCES), SCHEDULE.type_name, unlisted)
    console.switch(extra=["host_list"])
    monkeypatch.setenv("OPSCONSOLE_EXTRA_ENDPOINTS", '{"host_list": "GET /api/v1/hosts"}')
    code, out = native("adopt", "--output", "-")
    assert (code, "No operation lists schedules, so none were looked up" in out) == (0, True), out
    code, out = native("drift", "--count-unmanaged", "schedules")
    assert (code, "leave them out of --count-unmanaged" in out) == (1, True), out


def test_what_its_host_took_along_is_found_after_the_host(
    schedules: Schedules, native: Any, console_of: Callable[[str], Emulator]
) -> None:
    console = console_of("strict")
    assert native("apply", "-auto-approve", resource=program())[0] == 0
    [host] = [item for item in console.rows("hosts") if item["name"] == "web"]
    console.delete("hosts", host["id"])
    console.reset_log()
    code, out = native("drift", "--format", "json")
    findings = {item["address"]: item for item in json.loads(out)["findings"]}
    found = findings["opsconsole_schedule.nightly"]
    assert found["bucket"] == "archived"
    assert found["reason"].startswith("its host opsconsole_host.web is gone")
    assert "schedule_get" not in console.request_counts()
    assert code == 2


@pytest.mark.terraform
def test_terraform(
    schedules: Schedules, terraform: Any, console_of: Callable[[str], Emulator]
) -> None:
    engine = terraform({"resource": program()}, console_of("strict"))
    engine.apply()
    [(schedule_id, row)] = schedules.rows.items()
    assert engine.plan().code == 0
    engine.write({"resource": program(cron="0 2 * * *")})
    engine.apply()
    assert row["cron"] == "0 2 * * *"
    row["cron"] = "0 3 * * *"
    assert engine.plan().code == 2
    engine.run("state", "rm", "opsconsole_schedule.nightly")
    engine.run("import", "opsconsole_schedule.nightly", schedule_id)
    engine.apply()
    assert (row["cron"], len(schedules.rows)) == ("0 2 * * *", 1)
    engine.destroy()
    assert schedules.rows == {}


def test_reports_draw_it(schedules: Schedules, native: Any) -> None:
    code, drawn = native("graph", resource=program())
    assert code == 0
    assert '(("nightly<br/>schedule"))' in drawn
    code, capable = native("capabilities")
    assert code == 0
    assert "POST /api/v1/schedules/{id}" in capable
    code, _ = native("plan", "--html", "plan.html")
    assert code == 0
    page = Path("plan.html").read_text()
    assert "opsconsole_schedule.nightly" in page
    drawn = page[page.index("<svg") :]
    assert "Others" in drawn
    assert "nightly" in drawn[: drawn.index("</svg>")]
    assert unmanaged_kinds()["schedules"] == SCHEDULE.type_name


def test_its_construct_and_its_page(schedules: Schedules, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    own = tmp_path / "examples" / "reference" / "resources" / SCHEDULE.type_name
    own.mkdir(parents=True)
    (own / "main.py").write_text('Schedule(stack, "nightly")\n')
    (own / "main.tf").write_text('resource "opsconsole_schedule" "nightly" {}\n')
    pages = reference_files(tmp_path)
    assert "`POST /api/v1/schedules`" in pages["docs/resources/schedule.md"]
    assert "schedule_list" in pages["docs/index.md"]
    modules = construct_files()
    source = modules["constructs/opsconsole_cdktf/schedule.py"]
    assert "class Schedule(" in source
    assert "cron" in source
    assert "Schedule" in modules["constructs/opsconsole_cdktf/__init__.py"]
