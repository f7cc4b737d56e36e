"""`hosts import`: a verdict for each row of a file."""

import json
from typing import Any

import pytest

from engines import Run
from text_groups import read_rows

ROWS = read_rows(__file__)

HOST_ROWS = [{"name": "one", "tags": ["a:b"]}, {"name": "two", "target_port": 0}, {"name": "three"}]


def import_hosts(native: Any, rows: Any, *words: str, expect: int = 0) -> Run:
    """Write a file of hosts, and import it."""
    (native.folder / "hosts.json").write_text(json.dumps(rows))
    return native.run("hosts", "import", "hosts.json", *words, expect=expect)


def test_rows_of_a_json_file_get_a_verdict_each(native):
    lines = import_hosts(native, HOST_ROWS, expect=1).out.splitlines()
    assert lines[0].split() == ["row", "name", "verdict", "id", "error"]
    verdicts = ["1 one created", "2 two failed", "3 three created"]
    assert [" ".join(line.split()[:3]) for line in lines[1:4]] == verdicts
    assert lines[-1] == "Import: 2 created, 0 updated, 0 skipped, 1 failed."
    assert not native.state_file.exists()


@pytest.mark.parametrize("chunk", [1, 500])
def test_hosts_import_on_error_stop(native, chunk):
    native.settings["import_chunk_size"] = chunk
    native.write()
    result = import_hosts(native, {"rows": HOST_ROWS}, "--on-error", "stop", expect=1)
    assert "The console stopped" in result.out
    assert [row["name"] for row in native.console.rows("hosts")] == ["one"]


def test_a_dry_run_imports_nothing(native):
    native.settings["import_chunk_size"] = 2
    native.write()
    result = import_hosts(native, many(3), "--dry-run", "--json")
    row, *_, end = map(json.loads, result.out.splitlines())
    assert (row["object"], row["number"], row["status"]) == ("row", 1, "created")
    assert (end["object"], end["dry_run"], end["counts"]["created"]) == ("import", True, 3)
    assert native.console.rows("hosts") == []
    assert native.console.request_counts() == {"host_import": 2}, "1 row, then 2"


def many(count: int) -> list[dict[str, Any]]:
    return [{"name": f"host-{number}"} for number in range(count)]


def test_a_dry_run_that_is_not_honoured_imports_one_row(native_on):
    native = native_on("heedless")
    result = import_hosts(native, many(1200), "--dry-run", expect=1)
    assert "does not say dry_run: true" in result.err
    [row] = native.console.rows("hosts")
    assert row["id"] in result.out, "its id is told"
    assert "nothing was imported" not in result.out
    assert "Not sent: 1,199 of 1,200 rows." in result.out
    assert native.console.request_counts() == {"host_import": 1}


def test_an_import_whose_dry_run_is_not_honoured_tells_what_it_created(native_on):
    native = native_on("heedless")
    result = import_hosts(native, many(600), expect=1)
    rows = native.console.rows("hosts")
    assert len(rows) == 500, "the first dry run goes alone"
    assert all(row["id"] in result.out for row in rows)
    assert native.console.request_counts() == {"host_import": 1}


def test_a_size_that_is_refused_is_halved_and_no_id_is_lost(native):
    native.console.fault(method="POST", path="/hosts/batch", status=413, skip=2, times=1)
    result = import_hosts(native, many(900))
    rows = native.console.rows("hosts")
    assert len(rows) == 900
    told = [line.split() for line in result.out.splitlines()[1:901]]
    assert [int(number) for number, *_ in told] == [*range(1, 901)]
    assert {host_id for *_, host_id in told} == {row["id"] for row in rows}
    native.console.fault(operation="host_import", holds='"host-1"', status=413, times=None)
    result = import_hosts(native, many(3), "--json", expect=1)
    told = [*map(json.loads, result.out.splitlines())][:3]
    assert [row["status"] for row in told] == ["skipped", "refused", "skipped"]
    assert "413" in told[1]["error"] and not told[1]["created"]


def test_a_row_without_a_name_or_with_half_a_character_fails_alone(native):
    rows = [{"name": None}, {}, {"name": "a\ud800"}, {"name": "three"}]
    lines = import_hosts(native, rows, expect=1).out.splitlines()
    assert [line.split()[1] for line in lines[1:5]] == ["-", "-", "a\\ud800", "three"]
    way_out = "Write the whole character, or leave it out."
    assert f"is an unpaired surrogate (half a character). {way_out}" in lines[3]
    json_rows = map(json.loads, import_hosts(native, rows, "--json", expect=1).out.splitlines())
    assert [row.get("name") for row in json_rows] == ["", "", "a\ud800", "three", None]


@pytest.mark.parametrize("created", [1, 2])
def test_a_row_without_a_verdict_fails_unless_the_counts_pass_it(native, created):
    told = [{"index": 0, "status": "created", "id": "hst_0"}] if created == 1 else []
    counts = {"created": created, "updated": 0, "skipped": 0, "failed": 0}
    answer = {"dry_run": False, "stopped": False, "counts": counts, "results": told}
    met = {"operation": "host_import", "holds": '"dry_run":false', "handled": created == 2}
    native.console.fault(**met, status=200, text=json.dumps(answer))
    result = import_hosts(native, many(2), "--json", expect=2 - created)
    first, second, _ = map(json.loads, result.out.splitlines())
    assert (first["created"], first["failed"]) == (True, False)
    if created == 1:
        assert (second["status"], second["failed"]) == ("not told", True)
    else:
        assert {first["id"], second["id"]} == {row["id"] for row in native.console.rows("hosts")}


@pytest.mark.parametrize(
    ("profile", "kind", "skip"),
    [("heedless", "cut_answer", 0), ("default", "cut_answer", 1), ("default", "forbidden", 0)],
)
def test_a_dry_run_whose_answer_is_lost_claims_nothing(native_on, profile, kind, skip):
    """But a console that was seen to honour one, or that refuses it, imports nothing."""
    native = native_on(profile)
    native.monkeypatch.setenv("OPSCONSOLE_MAX_RETRIES", "0")
    native.console.fault(kind=kind, operation="host_import", skip=skip)
    result = import_hosts(native, many(2), "--dry-run", expect=1)
    assert ("Dry run, nothing was imported" in result.out) is (profile == "default")
    assert ("not known whether it imported rows" in result.out) is (profile == "heedless")
    assert len(native.console.rows("hosts")) == (profile == "heedless")


@pytest.mark.parametrize("stopped", [True, False])
def test_a_failed_row_of_which_no_error_is_told_ends_an_import_that_stops(native, stopped):
    native.settings["import_chunk_size"] = 1
    native.write()
    told = {"stopped": stopped, "counts": {"failed": int(not stopped)}, "dry_run": False}
    text = json.dumps(told | {"results": [{"index": 0, "status": "failed"}]})
    native.console.fault(operation="host_import", skip=1, status=200, text=text)
    import_hosts(native, many(2), "--on-error=stop", expect=1)
    assert native.console.request_counts() == {"host_import": 2}


def test_envelope_is_honoured_and_options_override_it(native):
    envelope = {"rows": HOST_ROWS, "on_error": "stop", "dry_run": True}
    (native.folder / "hosts.json").write_text(json.dumps(envelope))
    result = native.run("hosts", "import", "hosts.json", expect=1)
    assert "Dry run, nothing was imported" in result.out
    assert native.console.rows("hosts") == []
    result = native.run("hosts", "import", "hosts.json", "--dry-run=false", expect=1)
    assert result.err == "hosts.json says dry_run true; --dry-run=false overrides it.\n"
    assert [row["name"] for row in native.console.rows("hosts")] == ["one"]
    words = ("--dry-run=false", "--on-error=continue")
    result = native.run("hosts", "import", "hosts.json", *words, expect=1)
    assert 'on_error "stop"; --on-error=continue overrides it' in result.err
    assert [row["name"] for row in native.console.rows("hosts")] == ["one", "three"]


@pytest.mark.parametrize(*ROWS["hosts without an org"])
def test_rows_without_an_org_get_that_of_the_settings(native, name, text):
    native.settings["org_id"] = "org_other"
    native.write()
    (native.folder / name).write_text(text)
    native.run("hosts", "import", name)
    found = {row["name"]: row["org_id"] for row in native.console.rows("hosts")}
    assert found == {"a": "org_other", **({"b": "org_lab"} if "b" in found else {})}


def test_csv_has_a_verdict_for_each_row(native):
    # Neither the console nor the verdicts count the empty line.
    (native.folder / "hosts.csv").write_text("name,tags\none,a:b;c:d\n\ntwo,wrong\nthree,\n")
    words = ("hosts", "import", "hosts.csv", "--on-error=stop")
    (native.folder / "hosts.json").write_text('[{"name": "one"}]')
    parameter = "--on-error-parameter=on_error"
    refused = native.run("hosts", "import", "hosts.json", parameter, expect=1)
    assert "--on-error-parameter is for CSV, and hosts.json is JSON" in refused.err
    unnamed = native.run(*words, expect=1)
    assert "does not name the query parameter" in unnamed.err
    result = native.run(*words, parameter, expect=None)
    verdicts = [" ".join(line.split()[:3]) for line in result.out.splitlines()[1:3]]
    assert verdicts == ["1 one created", "2 two failed"]
    assert [row["tags"] for row in native.console.rows("hosts")] == [["a:b", "c:d"]]


@pytest.mark.parametrize(*ROWS["test_hosts_import_refuses_a_wrong_file"])
def test_hosts_import_refuses_a_wrong_file(native, name, text, said):
    if text is not None:
        (native.folder / name).write_text(text)
    assert said in native.run("hosts", "import", name, expect=1).err
    assert said in native.run("adopt", "--inventory", name, expect=1).err
    assert native.console.request_counts() == {}


@pytest.mark.parametrize("kind", ["reset_after", "internal_error_after", "wrong_shape", "garbage"])
def test_rows_that_nothing_settles_are_named_and_not_sent_again(native, kind):
    native.settings["max_retries"] = 0
    native.write()
    native.console.fault(kind=kind, operation="host_import", skip=1, times=2)
    result = import_hosts(native, HOST_ROWS[:1], expect=1)
    assert "It is not known whether 1 row marked unknown were imported" in result.out
    assert native.console.request_counts() == {"host_import": 3}
    native.console.reset()
    native.console.fault(kind=kind, operation="host_import", skip=1)
    assert "Import: 1 created." in import_hosts(native, HOST_ROWS[:1]).out


def test_rows_of_a_lost_answer_that_a_dry_run_settles_are_counted(native):
    native.settings["max_retries"] = 0
    native.write()
    native.console.fault(kind="reset_after", operation="host_import", skip=1)
    row, end = map(json.loads, import_hosts(native, HOST_ROWS[:1], "--json").out.splitlines())
    [made] = native.console.rows("hosts")
    rest = {"object": "row", "number": 1, "name": "one", "error": None}
    assert row == rest | {"status": "created", "id": made["id"], "created": True, "failed": False}
    assert end["counts"] == {"created": 1}

    judged = json.dumps({"dry_run": True, "stopped": False, "counts": {}, "results": []})
    answered = {"holds": '"dry_run":false', "status": 200, "text": judged}
    for fault in ({"kind": "reset_before", "skip": 1, "times": 2}, answered):
        native.console.fault(operation="host_import", **fault)
        told = import_hosts(native, many(1), "--json", expect=1).out
        lost, end = map(json.loads, told.splitlines())
        assert (lost["status"], lost["created"], lost["failed"]) == ("unknown", False, True)
        assert end["counts"] == {"created": 0}
    assert "a real import says dry_run: true" in lost["error"]
