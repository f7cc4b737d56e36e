"""Plan, review, apply of exactly that plan, drift; what a job says when it fails."""

import json
import re
from dataclasses import replace
from urllib.parse import parse_qs
from xml.etree import ElementTree

import pytest

from loopback import HELD
from opsconsole.emulator import Emulator
from pipeline_jobs import assert_ends
from sampling import EVERYTHING, sample

pytestmark = pytest.mark.long

SERVICES = ("github", "gitlab", "shell")
NOBODY_SAW = "0" * 16


def names(console: Emulator) -> set[str]:
    """The names of the hosts that the console has."""
    return {row["name"] for row in console.rows("hosts")}


# The app of the example project is run natively in test_cdktf.py too; another program is quicker.
@pytest.mark.parametrize("framework", ["", "cdktf"] if EVERYTHING else [""])
@pytest.mark.parametrize("name", sample(SERVICES, 1))
def test_the_reviewed_plan_is_applied_and_drift_is_told_once(
    name, framework, service, console, posts
):
    jobs = service(name, framework)
    jobs.settings |= {"NOTES_TOKEN": "notes-token", "CI_API_V4_URL": posts.address}
    if name == "github":
        key = jobs.settings["OPSCONSOLE_API_KEY"]
        jobs.settings["OPSCONSOLE_API_KEY"] = "svc_ak_of_somebody_else"
        assert jobs.do("review").code == 1, "the pipe hides that the plan failed"
        jobs.settings["OPSCONSOLE_API_KEY"] = key
    reviewed = jobs.do("review")
    assert reviewed.code == 0, reviewed.text
    assert "2 to add" in reviewed.text or "4 to add" in reviewed.text
    if name == "github":
        assert "web-2" in (reviewed.files.parent / "comment-7.md").read_text()
        assert "web-2" in reviewed.summary
    if name == "gitlab":
        [note] = posts.kept
        assert note.path == "/projects/3/merge_requests/7/notes"
        assert note.headers["PRIVATE-TOKEN"] == "notes-token"
        assert "web-2" in parse_qs(note.body.decode())["body"][0]
    assert not names(console)

    planned = jobs.do("plan")
    assert planned.code == 0, planned.text
    [page] = planned.files.rglob("plan.html")
    assert "web-2" in page.read_text()
    [plan] = planned.files.rglob("plan.opsconsole")
    assert console.api_key.encode() not in plan.read_bytes()
    applied = jobs.apply(planned)
    assert applied.code == 0, applied.text
    assert names(console) == {"web-1", "web-2"}

    if name != "shell":
        again = jobs.do("plan")
        assert again.code == 0, again.text
        idle = jobs.apply(again)
        assert idle is None or (idle.code, "changes nothing" in idle.text) == (0, True)

    # Drift that was there yesterday fails the job again, and nobody is told again.
    jobs.settings["OPSCONSOLE_NOTIFY_URL"] = posts.address
    posts.kept.clear()
    host = console.rows("hosts")[0]
    console.change("hosts", host["id"], private_ip="10.9.9.9")
    for _ in range(2):
        drifted = jobs.do("drift")
        assert (drifted.code, "10.9.9.9" in drifted.text) == (2, True), drifted.text
        assert all(list(drifted.files.rglob(f"drift.{kind}")) for kind in ("html", "json"))
        [told] = posts.kept
        assert json.loads(told.body)["counts"] == {"new": 1, "resolved": 0, "open": 0}
    if name == "github":
        assert "10.9.9.9" in drifted.summary
    if name == "gitlab":
        suite = ElementTree.parse(drifted.files / "reports" / "drift.xml").getroot()
        assert len(list(suite.iter("failure"))) == 1
    console.change("hosts", host["id"], private_ip=host["private_ip"])
    for _ in range(2):
        assert jobs.do("drift").code == 0
        [_, told] = posts.kept
        assert json.loads(told.body)["counts"] == {"new": 0, "resolved": 1, "open": 0}


@pytest.mark.parametrize("name", [name for name in SERVICES if EVERYTHING or name == "shell"])
def test_a_job_that_cannot_go_on_says_what_helps(name, service, state):
    jobs = service(name)
    planned = jobs.do("plan")
    text = re.sub(r"(?<=Checksum of this plan: )\w+", NOBODY_SAW, planned.text)
    outputs = dict.fromkeys(planned.outputs, NOBODY_SAW)
    other = jobs.apply(replace(planned, text=text, outputs=outputs))
    assert_ends(other, 1, f"not {NOBODY_SAW}", "It is not the plan that was reviewed")
    assert (ran := jobs.apply(planned)) is not None and ran.code == 0
    stale = jobs.apply(planned)
    assert_ends(stale, 1, "The plan is stale", "Plan again")

    state.lock = HELD
    # 75, where "try again later" has a code of its own.
    assert_ends(jobs.do("plan"), (1, 75), "is locked by ann@build", "force-unlock 7f3")
    assert jobs.do("drift").code == 0, "a check takes no lock"
    state.lock = b""

    good = dict(jobs.settings)
    jobs.settings["OPSCONSOLE_API_KEY"] = "svc_ak_of_somebody_else"
    for job in ("plan", "drift"):
        assert_ends(jobs.do(job), 1, "the key is invalid", "Check the API key")
    jobs.settings = good | {"OPSCONSOLE_BASE_URL": "http://127.0.0.1:9"}
    jobs.settings["OPSCONSOLE_MAX_RETRIES"] = "0"
    for job in ("plan", "drift"):
        assert_ends(jobs.do(job), (1, 75), "127.0.0.1:9", "base_url")
