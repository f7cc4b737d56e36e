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

from engines import ROOT
from opsconsole.definition import Way
from opsconsole.drift import unmanaged_kinds
from opsconsole.resources import RESOURCES
from sixth_resource import SCHEDULE, Schedules, registered

HOST = "${opsconsole_host.web.id}"
ADDRESS = "opsconsole_schedule.nightly"


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
def native(native_on: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A folder of the native engine on a strict console, which is the working directory."""
    native = native_on("strict")
    monkeypatch.chdir(native.folder)
    return native


def test_the_native_engine(schedules, native):
    native.apply(program())
    [(schedule_id, row)] = schedules.rows.items()
    native.run("plan", "-detailed-exitcode")
    native.apply(program(cron="0 2 * * *"))
    assert row["cron"] == "0 2 * * *"

    row["cron"] = "0 3 * * *"
    assert native.drift(expect=2).bucket(ADDRESS) == "changed"
    native.run("apply", "-refresh-only", "-auto-approve")
    assert "0 3" in native.state_file.read_text()

    native.run("state", "rm", ADDRESS)
    native.run("import", ADDRESS, schedule_id)
    native.run("apply", "-auto-approve")
    assert row["cron"] == "0 2 * * *"

    out = native.run("destroy", "-auto-approve").text
    # Its host takes it along: no call is made.
    assert schedules.rows == {schedule_id: row}
    assert "deleted by the deletion of opsconsole_host.web" in out


def test_its_list_is_adopted_and_may_be_narrowed(schedules, native, monkeypatch):
    native.apply(program())
    [schedule_id] = schedules.rows
    native.run("state", "rm", ADDRESS)
    endpoints = {"schedule_list": "GET /api/v1/schedules"}
    monkeypatch.setenv("OPSCONSOLE_EXTRA_ENDPOINTS", json.dumps(endpoints))
    query = {"schedules.q": "nightly", "plugins.q": "x"}
    monkeypatch.setenv("OPSCONSOLE_LIST_QUERY", json.dumps(query))
    assert f'id = "{schedule_id}"' in native.run("adopt", "--output", "-", "--hcl").text
    listed = [item for item in native.console.requests() if item["operation"] == "schedule_list"]
    assert {item["query"] for item in listed} == {"q=nightly"}
    out = native.run("adopt", schedule_id, "--output", "-").text
    assert "import OpsconsoleProvider, Schedule" in out

    unlisted = replace(SCHEDULE, ways={**SCHEDULE.ways, "list": (Way(""),)})
    monkeypatch.setitem(cast(dict[str, Any], RESOURCES), SCHEDULE.type_name, unlisted)
    native.console.switch(extra=["host_list"])
    monkeypatch.setenv("OPSCONSOLE_EXTRA_ENDPOINTS", '{"host_list": "GET /api/v1/hosts"}')
    out = native.run("adopt", "--output", "-").text
    assert "No operation lists schedules, so none were looked up" in out
    out = native.run("drift", "--count-unmanaged", "schedules", expect=1).text
    assert "leave them out of --count-unmanaged" in out


def test_what_its_host_took_along_is_found_after_the_host(schedules, native):
    native.apply(program())
    native.console.delete("hosts", native.id_of("opsconsole_host.web"))
    native.console.reset_log()
    found = native.drift(expect=2)
    assert found.bucket(ADDRESS) == "archived"
    assert found.of(ADDRESS)["reason"].startswith("its host opsconsole_host.web is gone")
    assert "schedule_get" not in native.console.request_counts()


@pytest.mark.terraform
def test_terraform(schedules, terraform, console_of):
    engine = terraform({"resource": program()}, console_of("strict"))
    engine.apply()
    [(schedule_id, row)] = schedules.rows.items()
    assert engine.plan().code == 0
    engine.apply(program={"resource": program(cron="0 2 * * *")})
    assert row["cron"] == "0 2 * * *"
    row["cron"] = "0 3 * * *"
    assert engine.plan().code == 2
    engine.run("state", "rm", ADDRESS)
    engine.run("import", ADDRESS, schedule_id)
    engine.apply()
    assert (row["cron"], len(schedules.rows)) == ("0 2 * * *", 1)
    engine.destroy()
    assert schedules.rows == {}


def test_reports_draw_it(schedules, native):
    native.write(program())
    assert '(("nightly<br/>schedule"))' in native.run("graph").text
    assert "POST /api/v1/schedules/{id}" in native.run("capabilities").text
    native.run("plan", "--html", "plan.html")
    page = Path("plan.html").read_text()
    assert ADDRESS in page
    drawn = page[page.index("<svg") :]
    assert "Others" in drawn
    assert "nightly" in drawn[: drawn.index("</svg>")]
    assert unmanaged_kinds()["schedules"] == SCHEDULE.type_name


def test_its_construct_and_its_page(schedules, tmp_path):
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
