"""Hosts are created by imports: chunks, verdicts, dry runs that the console does not heed."""

import json
from typing import Any

import pytest

from lifecycle_steps import errors, warnings
from opsconsole.emulator import Profile
from opsconsole.lifecycle.interface import NEVER_CREATED, STILL_UNSETTLED, UnsettledCreate
from opsconsole.lifecycle.private_state import is_sentinel
from opsconsole.resources import HOST, RESOURCES
from opsconsole.resources.host.creation import settle_host_creates
from opsconsole.resources.host.rows import match_verdicts
from opsconsole.v1.bodies import ImportResult
from text_groups import read_rows

ROWS = read_rows(__file__)


async def test_an_import_answered_as_a_dry_run_is_unsettled(console, steps_of):
    text = answer(("created", "hst_made_up"), dry_run=True)
    console.fault(operation="host_import", skip=1, status=200, text=text)

    created = await steps_of("host").create(name="a")

    assert created.unsettled and is_sentinel(created.state["id"])
    assert "says dry_run: true" in created.diagnostics[0].text


TWICE = "an id that another host holds"
FAILED = "In the import the console gives its row the status 'failed': no such subnet."


@pytest.mark.parametrize(
    ("verdicts", "ids", "said"),
    [
        ([(0, "created", "hst_a"), (1, "created", "hst_a")], [None, None], TWICE),
        # Without an index, or with one that does not fit, a dry run tells whose id it is.
        ([(None, "created", "hst_b"), (None, "created", "hst_a")], ["hst_a", "hst_b"], ""),
        ([(0, "created", "hst_b"), (1, "created", "hst_a")], ["hst_a", "hst_b"], ""),
        ([(None, "created", "hst_other"), (1, "created", "hst_a")], ["hst_a", "?"], "not known"),
        ([(1, "created", "hst_a"), (2, "created", None)], ["hst_a", "?"], "It is not known"),
        ([(0, "created", "hst_a"), (1, "failed", None)], ["hst_a", None], FAILED),
    ],
)
async def test_verdicts_of_an_import_decide_on_each_host(console, steps_of, verdicts, ids, said):
    """The hosts `a` and `b` are imported; "?" stands for an unknown outcome."""
    for host_id in {made for _, _, made in verdicts} & {"hst_a", "hst_b"}:
        console.create("hosts", id=host_id, name=host_id.removeprefix("hst_"))
    names = ("index", "status", "id")
    results = [
        {name: value for name, value in zip(names, verdict, strict=True) if value is not None}
        for verdict in verdicts
    ]
    for result in results:
        result |= {"error": "no such subnet"} if result["status"] == "failed" else {}
    passed = answer(("created", None), ("created", None), dry_run=True)
    given = json.loads(passed) | {"dry_run": False, "results": results}
    for text in (passed, json.dumps(given)):
        console.fault(operation="host_import", status=200, text=text)
    hosts = steps_of("host")

    outcomes = await hosts.create_all(hosts.config(name="a"), hosts.config(name="b"))

    held = [it.state and ("?" if it.unsettled else it.state["id"]) for it in outcomes]
    assert held == ids
    for outcome, host_id in zip(outcomes, ids, strict=True):
        if host_id in ("hst_a", "hst_b"):
            assert errors(outcome) == []
        else:
            assert said in errors(outcome)[0] + outcome.diagnostics[0].detail
            assert host_id is None or is_sentinel(outcome.state["id"])


OTHER_HOST = {"path": "/hst_web", "text": '{"id": "hst_web", "name": "a"}'}
REFUSED_IMPORT = {"path": "/hosts/batch", "status": 400, "code": "BAD_REQUEST"}


@pytest.mark.parametrize(
    ("chunk", "said", "lost", "settled", "fault", "logged"),
    [
        (4, "created", "web never", "hst_web never", None, ""),
        (6, "created", "web web never", "? ? ?", None, ""),
        (2, "created", "web web", "hst_web ?", None, ""),
        (1, "", "web", "?", None, ""),
        (1, "created", "web", "?", OTHER_HOST, "cannot take hst_web"),
        (1, "created", "web", "?", REFUSED_IMPORT, "cannot settle"),
    ],
)
async def test_one_host_settles_one_lost_create(
    console, one_run, caplog, chunk, said, lost, settled, fault, logged
):
    """Rows that are alike are answered with the same id, whichever of them made the host."""
    console.create("hosts", id="hst_web", name="web")
    if fault:
        console.fault(**fault)
    creates = [UnsettledCreate(HOST.empty() | {"name": name}, "a", said) for name in lost.split()]

    lifecycle = one_run(import_chunk_size=chunk).lifecycles[HOST.type_name]
    found = await lifecycle.settle_creates(creates, [])

    unsettled = {id(STILL_UNSETTLED): "?", id(NEVER_CREATED): "never"}
    assert " ".join(unsettled.get(id(it)) or it.state["id"] for it in found) == settled
    assert logged in caplog.text
    assert bool(caplog.text) is bool(logged)


@pytest.mark.parametrize(
    ("said", "word", "mine", "shown", "never"),
    [
        ("created", "created", None, "hst_b", True),
        ("", "created", None, "hst_b", True),
        ("planned", "planned", None, "hst_b", True),
        ("", "planned", None, "hst_b", False),
        ("created", "planned", None, "hst_b", False),
        ("created", "created", None, None, False),
        # The id is that of another host in state.
        ("created", "updated", "hst_c", "hst_b", False),
    ],
)
async def test_a_dry_run_that_knows_a_host_in_state_shows_what_was_never_created(
    console, one_run, said, word, mine, shown, never
):
    text = answer((word, mine), ("updated", shown), dry_run=True)
    console.fault(operation="host_import", text=text)
    org = {"org_id": "org_main"}
    hosts = [HOST.empty() | org | {"id": f"hst_{name}", "name": name} for name in (None, "b", "c")]
    lost = UnsettledCreate(HOST.empty() | {"name": "a"}, "a", said)
    lifecycle = one_run(**org).lifecycles[HOST.type_name]

    settled = await settle_host_creates(lifecycle, [lost], hosts)

    assert settled == [NEVER_CREATED if never else STILL_UNSETTLED]
    [sent] = [item["body"]["rows"] for item in console.requests()]
    assert sent == [{"name": "a"} | org, {"name": "b"} | org]


def told(rows: int, *entries: tuple[Any, str]) -> list[str | None]:
    """Return what each row is told: the status that stands for it, None where there is none."""
    results = [{"index": index, "status": status} for index, status in entries]
    found = match_verdicts(ImportResult.read({"results": results}), rows)
    return [item.status if item.matched else None for item in found]


@pytest.mark.parametrize(*ROWS["test_verdicts_are_matched_in_any_order"])
def test_verdicts_are_matched_in_any_order(verdicts, entries):
    assert told(len(verdicts), *entries) == verdicts


async def test_a_row_without_a_verdict_is_not_sent(steps_of, console):
    answer = {"object": "import_result", "dry_run": True, "results": [{"status": "failed"}]}
    console.fault(method="POST", path="/hosts/batch$", status=200, text=json.dumps(answer))
    refused = await steps_of("host").create(name="web")
    assert errors(refused) == ['The host "web" was not imported: its verdict is unclear']
    assert "so nothing was sent for this host" in refused.diagnostics[0].detail
    assert console.request_counts() == {"host_import": 1}


@pytest.mark.parametrize("index", [None, "1", True, 1.5])
def test_a_verdict_without_an_index_does_not_hide_its_neighbours(index):
    assert told(3, (0, "a"), (index, "b"), (2, "c")) == ["a", None, "c"]
    assert told(3, (index, "a"), (2, "b"), (3, "c")) == [None, "b", "c"]
    assert told(3, (index, "a"), (1, "b"), (2, "c")) == [None, None, None]


@pytest.mark.parametrize(*ROWS["test_counts_pass_all_rows_or_none"])
def test_counts_pass_all_rows_or_none(counts, passed):
    verdicts = match_verdicts(ImportResult.read({"results": [], "counts": counts}), 2)
    assert [verdict.created for verdict in verdicts] == [passed] * 2


@pytest.mark.parametrize("skip", [0, 1], ids=["dry run", "real import"])
@pytest.mark.parametrize("status", [400, 413])
async def test_a_chunk_that_is_refused_by_a_page_is_halved(steps_of, console, status, skip):
    hosts = steps_of("host")
    page = {"text": "<html>too large", "content_type": "text/html"}
    console.fault(method="POST", path="/hosts/batch", status=status, skip=skip, **page)

    outcomes = await hosts.create_all(*(hosts.config(name=f"h{number}") for number in range(4)))

    assert [errors(outcome) for outcome in outcomes] == [[]] * 4
    assert len(console.rows("hosts")) == 4


async def test_a_row_that_cannot_even_be_written_fails_alone(steps_of, console):
    hosts = steps_of("host")
    configs = [hosts.config(name=name) for name in ("one", "half \ud800", "two")]

    one, half, two = await hosts.create_all(*configs)

    assert errors(one) == errors(two) == []
    assert half.state is None
    assert "half a character" in half.diagnostics[0].text
    assert len(console.rows("hosts")) == 2


@pytest.mark.parametrize(
    "profile", [Profile(name="small", summary="Two rows.", max_rows=2)], indirect=True
)
async def test_a_size_that_was_refused_is_not_tried_again(steps_of, one_run, console):
    hosts = steps_of("host")
    hosts.provider = one_run(import_chunk_size=4)
    await hosts.create_all(*(hosts.config(name=f"a{number}") for number in range(4)))
    console.reset_log()

    await hosts.create_all(*(hosts.config(name=f"b{number}") for number in range(4)))
    # What is not refused for its content is not sent in parts.
    console.fault(operation="host_import", status=403, code="FORBIDDEN")
    await hosts.create_all(hosts.config(name="c"), hosts.config(name="d"))

    assert console.request_counts()["host_import"] == 2 * 2 + 1
    together = {kind: hosts.provider.lifecycles[kind].max_creates_at_once for kind in RESOURCES}
    assert together == dict.fromkeys(together, 1) | {"opsconsole_host": 2}


def answer(*results: tuple[str, str | None], dry_run: bool, **counts: int) -> str:
    rows = [
        {"index": index, "status": status, "id": made}
        for index, (status, made) in enumerate(results)
    ]
    return json.dumps(
        {"object": "import_result", "dry_run": dry_run, "counts": counts, "results": rows}
    )


@pytest.mark.parametrize("heeded", [True, False, None])
async def test_a_settling_dry_run_that_is_not_heeded_leaves_no_host_behind(
    steps_of, one_run, console, caplog, heeded
):
    """None: it is not answered."""
    hosts = steps_of("host")
    hosts.provider = one_run()
    made, other = (console.create("hosts", name=name) for name in ("a", "other"))
    passed = answer(*[("created", None)] * 4, dry_run=True, created=4)
    console.fault(operation="host_import", status=200, text=passed)
    console.fault(operation="host_import", cut="before")
    rows = (("created", made["id"]), ("failed", None), ("created", other["id"]), ("created", None))
    text = answer(*rows, dry_run=heeded is True, created=3, failed=1)
    console.fault(operation="host_import", status=500 if heeded is None else 200, text=text)

    one, *others = await hosts.create_all(*(hosts.config(name=name) for name in "abcd"))
    later = await hosts.create(name="later")

    assert [(it.unsettled, warnings(it)) for it in others] == [(True, [])] * 3
    assert one.unsettled is (heeded is not False)
    assert ("cannot settle an import whose answer was lost" in caplog.text) is (heeded is None)
    if heeded is False:
        assert (one.state["id"], errors(one)) == (made["id"], [])
        assert any("dry run" in item for item in warnings(one))
        assert "dry run" in errors(later)[0]


@pytest.mark.parametrize("profile", ["heedless"], indirect=True)
async def test_a_row_that_is_not_created_fails_though_the_dry_run_was_not_heeded(steps_of, console):
    hosts = steps_of("host")
    failed = answer(("failed", None), dry_run=False, failed=1)
    console.fault(operation="host_import", status=200, text=failed)

    refused = await hosts.create(name="a")

    assert refused.state is None and "would not create" in errors(refused)[0]


@pytest.mark.parametrize("kind", ["other_object", "ids_null", "ids_dots"])
@pytest.mark.parametrize("told", ["existing", "none"])
async def test_a_host_whose_id_an_import_does_not_tell_is_found_by_a_dry_run(
    console, steps_of, kind, told, caplog
):
    """Where dry runs tell no ids either, it stays unknown; no other host is taken for it."""
    console.switch(dry_run_ids=told)
    console.create("hosts", name="theirs")
    console.fault(kind=kind, operation="host_import", holds='"dry_run":false')
    hosts = steps_of("host")
    [mine] = await hosts.create_all(hosts.config(name="mine"))
    [row] = [row for row in console.rows("hosts") if row["name"] == "mine"]
    assert mine.unsettled is (told == "none")
    assert ("cannot take hst_" in caplog.text) is (kind == "other_object")
    if told == "none":
        assert is_sentinel(mine.state["id"])
    else:
        assert mine.state["id"] == row["id"]


async def test_created_hosts_stay_known_though_reading_them_fails(steps_of, console, monkeypatch):
    async def defect(*_: object) -> None:
        raise OverflowError("anything")

    monkeypatch.setattr("opsconsole.resources.host.known.HostReader.read", defect)
    hosts = steps_of("host")

    outcomes = await hosts.create_all(hosts.config(name="a"), hosts.config(name="b"))

    assert [errors(outcome) for outcome in outcomes] == [[], []]
    made = {outcome.state["id"] for outcome in outcomes}
    assert made == {row["id"] for row in console.rows("hosts")}
    assert "could not be read back" in warnings(outcomes[0])[0]


def test_a_console_that_ignores_dry_runs_gets_one_chunk(native_on, fleet):
    native = native_on("heedless")
    native.settings["import_chunk_size"] = 3
    result = native.apply(fleet(9, agents=False), "-json", expect=1)

    told = [item["diagnostic"] for item in result.of_type("diagnostic")]
    # One for the hosts that were created, and one for each that was not sent.
    assert [item["severity"] for item in told].count("error") == 1 + 6
    [ended] = [item["@message"] for item in result.messages if "Resources:" in item["@message"]]
    assert ended.startswith("Apply incomplete. Resources: 3 added")
    hosts = {row["id"] for row in native.console.rows("hosts")}
    instances = [item for entry in native.state["resources"] for item in entry["instances"]]
    assert {item["attributes"]["id"] for item in instances} == hosts
    assert not any(item.get("status") for item in instances)
    assert len(native.actions()) == 6
