"""A probe of every profile of the emulator: each finding is right, or it says "not learned"."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from opsconsole.emulator.handle import Emulator
from opsconsole.emulator.profiles import Profile, profiles
from opsconsole.emulator.running import serve
from opsconsole.errors import ConsoleError, Stopped, Unauthorized
from opsconsole.probe.listing import CURSOR_PARAMETERS, FILTER_PARAMETERS, TOTAL_PARAMETERS
from opsconsole.probe.planned import UNKNOWN, planned_calls
from opsconsole.probe.questions import QUESTIONS
from opsconsole.probe.running import Probed, probe
from opsconsole.v1.client import Client
from opsconsole.v1.settings import Settings

HOST: dict[str, Any] = {
    "id": "hst_looked_at",
    "name": "looked-at",
    "public_ip": "198.51.100.7",
    "private_ip": "10.0.0.7",
    "ip_connect_mode": "auto",
    "target_type": "ssh",
    "target_port": 2222,
    "skip_tls_verify": False,
    "tags": ["env:prod", "role:web"],
    "knowledge": "Runs the shop.",
    "external_id": "ext-7",
}
MATCHES = {"update": "updated_word", "skip": "skipped_word", "fail": "failed_word"}


async def probed(console: Emulator, *, only_get: bool = False, **settings: Any) -> Probed:
    if not any(row["id"] == HOST["id"] for row in console.rows("hosts")):
        console.create("hosts", **HOST)
        console.create("agents", id="agt_looked_at", name="a", host_id=HOST["id"], status="idle")
    values = {"base_url": console.base_url, "api_key": console.api_key} | settings
    found = Settings.from_values(values, {})
    async with Client(found) as client:
        return await probe(client, found, HOST["id"], "agt_looked_at", only_get=only_get)


def truth(profile: Profile) -> dict[str, Any]:
    """Return what each finding must be where it was learned, from the profile's switches."""
    recognised = bool(profile.match_by)
    same = {
        "update": profile.skipped_word,
        "skip": profile.skipped_word,
        "fail": profile.failed_word,
    }[profile.on_match]
    asked = [name for name in ("name", "external_id", "public_ip") if name in profile.match_by]
    return {
        "host_reading": profile.empty_update == "accepted",
        "reading_bumps": profile.idle_update_bumps,
        "unset_fields": {"null": "null", "absent": "absent", "alternating": "either"}[
            profile.unset
        ],
        "missing_host": 404,
        "missing_agent": profile.unknown_plugins_status,
        "has_more": {"absent": "absent", "true_or_false": "said"}.get(
            profile.has_more, "contradicted"
        ),
        "page_size": profile.page_size,
        "total_count": "always"
        if profile.total_count == "always"
        else profile.total_count_parameter,
        "cursor": [profile.cursor_parameter, profile.cursor_field],
        "filter": profile.filter_parameter,
        "dry_run": profile.honours_dry_run,
        "index_base": profile.index_base,
        "verdict_created": profile.dry_run_created_word,
        "verdict_same": same if recognised else profile.dry_run_created_word,
        "verdict_ids": profile.dry_run_ids != "none" and recognised,
        "matching": asked,
        "import_size": min(500, profile.max_rows or 500),
        "tags": {
            "order": "honoured",
            "repetition": "honoured",
            "spaces around": "ignored" if profile.trims else "honoured",
        }
        | ({"reads": ["unsorted"]} if profile.order == "reversed" else {}),
        "rate_limit": ["retry-after"] if profile.retry_after is not None else [],
    }


LEARNED = {
    "missing_host",
    "missing_agent",
    "has_more",
    "dry_run",
}
"""What every profile shows, whatever else it hides."""


@pytest.mark.parametrize("name", profiles())
async def test_each_finding_is_right_or_not_learned(name: str) -> None:
    profile = profiles()[name]
    with serve(profile) as console:
        before = rows(console)
        found = await probed(console)
        after = rows(console)
        sent = console.requests()
    # Nothing was changed, but for updated_at where reading moves it, and by what is not a dry run.
    assert after - before <= {"looked-at"}
    findings = {finding.question: finding for finding in found.findings}
    expected = truth(profile)
    assert set(expected) == {question.name for question in QUESTIONS}
    for question, value in expected.items():
        if findings[question].learned:
            assert findings[question].value == value, question
            assert findings[question].calls, question
        else:
            assert findings[question].why, question
    assert {question for question in LEARNED if findings[question].learned} == LEARNED
    if profile.total_count != "never" and profile.unknown_parameters == "ignored":
        named = profile.total_count_parameter in TOTAL_PARAMETERS
        assert findings["total_count"].learned == (profile.total_count == "always" or named)
    if profile.page_size and profile.cursor_parameter in CURSOR_PARAMETERS:
        assert findings["cursor"].learned
    if profile.filter_parameter in FILTER_PARAMETERS:
        assert findings["filter"].learned
    # What it found are settings that the provider takes.
    values = {"base_url": "https://c.example.com", "api_key": "svc_ak_1"}
    Settings.from_values(values | found.settings, {})
    assert [call.number for call in found.calls] == list(range(1, len(found.calls) + 1))
    assert len(sent) == len(found.calls)
    assert not unannounced(found)


def unannounced(found: Probed) -> list[str]:
    """Return the calls that were made more often than `--dry-run` says."""
    left: Counter[str] = Counter()
    for planned in planned_calls(HOST["id"], "agt_looked_at", {}):
        left[planned.text] += planned.most
    beyond: list[str] = []
    for call in found.calls:
        # A cursor and a key are known from answers alone.
        named = call.text if call.text in left else f"{call.text.partition('=')[0]}={UNKNOWN}"
        left[named] -= 1
        if left[named] < 0:
            beyond.append(call.text)
    return beyond


def rows(console: Emulator) -> set[str]:
    return {row["name"] for row in console.rows("hosts")}


async def test_a_console_that_ignores_dry_run_gets_one_empty_import_and_no_more() -> None:
    with serve("heedless") as console:
        found = await probed(console)
        imports = [item for item in console.requests() if item["operation"] == "host_import"]
        assert len(imports) == 1
        assert rows(console) == {"looked-at"}
    assert "host_read" not in found.settings or found.settings["host_read"] == "empty_update"


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ({"kind": "unavailable"}, "503 UNAVAILABLE"),
        ({"kind": "request_timeout_after"}, "408 TIMEOUT"),
        ({"kind": "reset_after"}, "closed the connection"),
        ({"text": "<html>Log in</html>", "content_type": "text/html"}, "no usable JSON object"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("honoured", [0, 1, 5])
async def test_a_dry_run_whose_outcome_is_not_known_says_nothing_of_dry_run(
    fault: dict[str, Any], outcome: str, honoured: int
) -> None:
    with serve("default") as console:
        console.fault(operation="host_import", skip=honoured, **fault)
        found = await probed(console)
        imports = [item for item in console.requests() if item["operation"] == "host_import"]
        assert len(imports) == honoured + 1
    by_name = {finding.question: finding for finding in found.findings}
    assert by_name["dry_run"].value is (True if honoured else None)
    assert by_name["dry_run"].learned == bool(honoured)
    for name in ("import_size", "tags") if honoured else ("dry_run", "import_size"):
        assert not by_name[name].learned
        assert outcome in by_name[name].why
    assert found.settings == {"host_read": "empty_update"}


async def test_a_dry_run_that_is_not_honoured_at_last_takes_back_what_relies_on_dry_runs() -> None:
    real = {"object": "import_result", "dry_run": False, "counts": {}, "results": []}
    with serve("default") as console:
        # The import of the most rows comes last, after all that is compared.
        console.fault(
            operation="host_import", holds="no-such-host-499", text=json.dumps(real), times=None
        )
        found = await probed(console)
    by_name = {finding.question: finding for finding in found.findings}
    assert by_name["dry_run"].value is False
    assert found.settings == {"host_read": "empty_update"}


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ({"kind": "forbidden"}, "403 FORBIDDEN"),
        ({"kind": "license_cap"}, "403 LICENSE_CAP_REACHED"),
        ({"kind": "not_found"}, "404 NOT_FOUND"),
        ({"kind": "conflict"}, "409 CONFLICT"),
        # A row is refused, whatever their number.
        ({"kind": "bad_request"}, "one row was refused too: 400 BAD_REQUEST"),
    ],
    ids=str,
)
async def test_only_a_size_that_is_taken_is_the_size_of_an_import(
    fault: dict[str, Any], why: str
) -> None:
    with serve("default") as console:
        # Rows of the imports that ask for the size, and no other, begin with this number.
        console.fault(operation="host_import", holds="no-such-host-0", times=None, **fault)
        found = await probed(console)
    [size] = [item for item in found.findings if item.question == "import_size"]
    assert not size.learned
    assert why in size.why
    assert "import_chunk_size" not in found.settings


async def test_a_size_is_not_learned_where_an_import_fails_for_another_reason_on_the_way() -> None:
    with serve("stingy") as console:
        console.fault(operation="host_import", holds="no-such-host-0", skip=3, kind="forbidden")
        found = await probed(console)
    [size] = [item for item in found.findings if item.question == "import_size"]
    assert not size.learned
    assert "import_chunk_size" not in found.settings


async def test_the_smallest_size_of_an_import_is_seen_to_be_taken() -> None:
    with serve("default") as console:
        console.switch(max_rows=1)
        found = await probed(console)
    [size] = [item for item in found.findings if item.question == "import_size"]
    assert size.value == found.settings["import_chunk_size"] == 1
    assert not unannounced(found)
    assert any(found.calls[number - 1].succeeded for number in size.calls)


@pytest.mark.parametrize(
    ("operation", "let_through"),
    [
        ("specialty_search", 0),
        ("plugin_list", 1),
        ("host_update", 0),
        ("host_import", 0),
        ("host_import", 5),
    ],
)
async def test_no_call_is_made_after_the_credentials_were_refused(
    operation: str, let_through: int
) -> None:
    with serve("default") as console:
        console.fault(operation=operation, skip=let_through, kind="unauthorized", times=None)
        with pytest.raises(Unauthorized) as raised:
            await probed(console)
        sent = console.requests()
        assert [item["status"] for item in sent].count(401) == 1
        assert sent[-1]["status"] == 401
    assert "Check the API key" in str(raised.value)
    assert not raised.value.explained


@pytest.mark.parametrize("kind", ["unavailable", "request_timeout"])
async def test_an_answer_of_no_meaning_says_nothing_of_what_is_missing(kind: str) -> None:
    with serve("default") as console:
        console.fault(path="opsconsole_probe_none", kind=kind, times=None)
        found = await probed(console)
    for name in ("missing_host", "missing_agent"):
        [finding] = [item for item in found.findings if item.question == name]
        assert not finding.learned
        assert finding.why


async def test_a_refusal_that_need_not_be_about_the_id_says_nothing_of_what_is_missing() -> None:
    with serve("default") as console:
        console.fault(path="/hosts/|/plugins", kind="forbidden", times=None)
        found = await probed(console)
    for name in ("missing_host", "missing_agent"):
        [finding] = [item for item in found.findings if item.question == name]
        assert not finding.learned
        assert "403 FORBIDDEN" in finding.why


async def test_a_proposed_parameter_is_added_to_those_that_are_set() -> None:
    with serve("default") as console:
        console.switch(has_more="absent", total_count="asked")
        found = await probed(console)
        with_own = await probed(console, list_query={"limit": "5"})
    assert found.settings["list_query"] == {"specialties.include": "total_count"}
    assert found.settings["list_query_narrows"] is False
    assert with_own.settings["list_query"] == {"limit": "5", "specialties.include": "total_count"}
    # Whether the parameter that is set already leaves entries out was not asked.
    assert "list_query_narrows" not in with_own.settings


async def test_nothing_is_sent_to_what_is_not_the_console() -> None:
    with serve("default") as console:
        console.fault(operation="specialty_search", text="<html>Log in</html>")
        with pytest.raises(ConsoleError, match="no usable JSON object"):
            await probed(console)
        assert len(console.requests()) == 1


@pytest.mark.parametrize("refusals", [1, 2])
async def test_that_one_host_cannot_be_read_is_no_setting_for_all(refusals: int) -> None:
    with serve("default") as console:
        console.fault(operation="host_update", kind="bad_request", times=refusals)
        found = await probed(console)
    [reading] = [item for item in found.findings if item.question == "host_reading"]
    assert reading.learned == (refusals == 2)
    assert "host_read" not in found.settings


async def test_a_probe_that_is_stopped_begins_no_further_call() -> None:
    with serve("default") as console:
        settings = Settings.from_values(
            {"base_url": console.base_url, "api_key": console.api_key}, {}
        )
        async with Client(settings) as client:
            client.stop()
            with pytest.raises(Stopped):
                await probe(client, settings, "hst_1", None, only_get=False)
        assert console.traffic()["total"] == 0


async def test_only_get_sends_nothing_else_and_says_so() -> None:
    with serve("default") as console:
        found = await probed(console, only_get=True)
        assert {item["method"] for item in console.requests()} == {"GET"}
    unlearned = {finding.question: finding.why for finding in found.findings}
    assert "not allowed" in unlearned["host_reading"]
    assert "not allowed" in unlearned["tags"]


async def test_a_named_host_get_is_used_instead_of_the_empty_update() -> None:
    with serve("extended") as console:
        endpoints = {"host_get": "GET /api/v1/hosts/{id}"}
        found = await probed(console, extra_endpoints=endpoints)
        assert "host_update" not in console.request_counts()
    planned = {call.text for call in planned_calls(HOST["id"], None, endpoints)}
    assert f"GET /api/v1/hosts/{HOST['id']}" in planned
    assert not any(text.startswith("POST /api/v1/hosts/hst_") for text in planned)
    [reading] = [item for item in found.findings if item.question == "host_reading"]
    assert "host_get" in reading.answer


@pytest.mark.parametrize("more", [{}, {"max_rows": 1, "dry_run_created_word": "would_create"}])
async def test_a_row_that_matches_no_host_tells_nothing_of_rows_that_match(
    more: dict[str, Any],
) -> None:
    with serve("default") as console:
        # The host has no mac. A row that matched would be skipped, and hold its id.
        console.switch(match_by=["mac"], **more)
        found = await probed(console)
    by_name = {finding.question: finding for finding in found.findings}
    for name in ("verdict_same", "verdict_ids", "matching"):
        assert not by_name[name].learned
        assert by_name[name].why


@pytest.mark.parametrize(
    ("switches", "has_more", "page_size"),
    [
        ({"has_more": "always_true"}, "contradicted", None),
        ({"has_more": "always_true", "total_count": "never"}, "said", None),
        ({"has_more": "always_false", "page_size": 2}, "contradicted", 2),
        ({"has_more": "absent", "page_size": 2, "cursor_parameter": "cursor"}, "absent", 2),
    ],
    ids=str,
)
async def test_a_page_is_known_by_what_comes_after_it(
    switches: dict[str, Any], has_more: str, page_size: int | None
) -> None:
    with serve("default") as console:
        console.switch(**switches)
        found = await probed(console)
    by_name = {finding.question: finding for finding in found.findings}
    assert by_name["has_more"].value == has_more
    assert by_name["page_size"].value == page_size
    assert by_name["cursor"].learned == ("cursor_parameter" in switches)


async def test_headers_about_limits_are_seen_on_answers_that_ask_to_slow_down_too() -> None:
    with serve("default") as console:
        console.fault(
            operation="host_update",
            kind="rate_limited",
            headers={"Retry-After": "0", "X-RateLimit-Remaining": "0"},
        )
        found = await probed(console)
    [limit] = [item for item in found.findings if item.question == "rate_limit"]
    assert limit.value == ["retry-after", "x-ratelimit-remaining"]
    assert [found.calls[number - 1].text for number in limit.calls] == [
        f"POST /api/v1/hosts/{HOST['id']}"
    ]


@pytest.mark.parametrize(
    ("operation", "answer"),
    [
        ("specialty_search", {"object": "list", "data": [{"id": {}}, 7], "has_more": "no"}),
        ("plugin_list", {"data": {}}),
        ("host_update", {"ok": True}),
        ("host_update", {"id": "hst_looked_at", "target_port": "22", "tags": "a:1"}),
        ("host_import", {"dry_run": True, "results": {}}),
        ("host_import", {"dry_run": True, "results": [{"index": "0", "status": 1, "id": []}]}),
    ],
)
async def test_answers_of_another_shape_are_not_learned_from(
    operation: str, answer: dict[str, Any]
) -> None:
    with serve("default") as console:
        console.fault(operation=operation, text=json.dumps(answer), times=None)
        found = await probed(console)
    assert all(finding.learned or finding.why for finding in found.findings)


async def test_an_answer_that_shows_a_part_of_the_host_reads_no_host() -> None:
    with serve("default") as console:
        part = json.dumps({"id": HOST["id"], "updated_at": "2026-01-01T00:00:00Z"})
        console.fault(operation="host_update", text=part, status=200, times=None)
        found = await probed(console)
    by_name = {finding.question: finding for finding in found.findings}
    for name in ("host_reading", "reading_bumps", "unset_fields", "verdict_same"):
        assert not by_name[name].learned
    assert "without its name" in by_name["host_reading"].why
    assert "host_read" not in found.settings
