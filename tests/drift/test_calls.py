"""What a check costs, in calls; `test_after_apply` compares it with a refresh."""


def test_pages_of_specialties(ground_on, world):
    ground = ground_on("paged")
    ground.apply(world())
    ground.console.reset_log()
    assert ground.drift().code == 0
    assert ground.console.request_counts()["specialty_search"] == 3


def test_several_states_of_one_console_share_one_search(ground):
    program = {"resource": {"opsconsole_specialty": {"linux": {"key": "linux-server"}}}}
    for folder in ("a", "b", "c"):
        ground.apply(program, folder)
    ground.console.reset_log()
    found = ground.drift(".", expect=0)
    assert {item["stack"] for item in found.findings if item["bucket"] == "in_sync"} == {
        "a",
        "b",
        "c",
    }
    assert ground.console.request_counts() == {"specialty_search": 1}


def test_no_state_is_written_and_no_lock_taken(ground, world):
    ground.apply(world())
    before = {path: path.read_bytes() for path in ground.folder.rglob("*") if path.is_file()}
    row = ground.console.rows("hosts")[0]
    ground.console.change("hosts", row["id"], knowledge="changed")
    assert ground.drift().code == 2
    ground.console.change("hosts", row["id"], knowledge=row.get("knowledge"))
    after = {path: path.read_bytes() for path in ground.folder.rglob("*") if path.is_file()}
    after.pop(ground.folder / "drift.json")
    assert after == {path: text for path, text in before.items() if path in after}
