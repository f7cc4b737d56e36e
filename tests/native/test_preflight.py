"""Preflight: the console's verdict on new hosts stands in the reviewed plan."""


def test_verdicts_stand_in_the_plan(native):
    native.console.create("hosts", id="hst_there", name="there")
    native.write(
        {
            "opsconsole_host": {
                "new": {"name": "new"},
                "there": {"name": "there"},
                "wrong": {"name": "wrong", "jump_host_ids": ["hst_nowhere"]},
                "named": {"name": "after-${opsconsole_host.new.id}"},
                "behind": {"name": "behind", "jump_host_ids": ["${opsconsole_host.new.id}"]},
            }
        }
    )
    result = native.run("plan", "--preflight", expect=1)
    assert "(dry run: would be created)" in result.out
    assert result.out.count("(dry run: would fail)") == 2
    assert "(dry run: would be created, judged without jump_host_ids)" in result.out
    assert "(dry run: not judged, as its name is not known yet)" in result.out
    assert "It exists already as hst_there" in result.out
    assert [row["name"] for row in native.console.rows("hosts")] == ["there"]


def test_what_would_be_adopted_is_no_error(native):
    native.console.create("hosts", id="hst_there", name="there")
    native.settings["on_existing_host"] = "adopt"
    native.write({"opsconsole_host": {"there": {"name": "there", "knowledge": "k"}}})
    result = native.run("plan", "--preflight")
    assert "(dry run: exists already, would be adopted)" in result.out
    assert native.console.row("hosts", "hst_there").get("knowledge") is None


def test_a_saved_plan_keeps_the_verdicts(native):
    native.run_plan({"opsconsole_host": {"new": {"name": "new"}}}, "--preflight", "-out=p")
    assert "(dry run: would be created)" in native.run("show", "p").out
    native.run("apply", "p")


def test_only_dry_runs_are_sent_and_the_first_row_goes_alone(native, fleet):
    native.settings["import_chunk_size"] = 4
    native.run_plan(fleet(9, agents=False), "--preflight")
    assert native.console.request_counts() == {"host_import": 3}
    assert native.console.rows("hosts") == []


def test_a_console_that_ignores_the_dry_run_creates_one_host_at_most(native_on, fleet):
    native = native_on("heedless")
    result = native.run_plan(fleet(9, agents=False), "--preflight", expect=1)
    [row] = native.console.rows("hosts")
    assert "although it was asked for a dry run only" in result.out
    assert row["id"] in result.out
