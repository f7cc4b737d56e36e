"""Data sources of what somebody else manages."""

from looked_up import DATA, EXPECTED, OUTPUT, create_others


def test_what_others_manage_is_looked_up(applied, console_of):
    console = console_of("extended")
    create_others(console)
    engine = applied({"data": DATA, "output": OUTPUT}, console)
    outputs = engine.state()["outputs"]
    assert {name: item["value"] for name, item in outputs.items()} == EXPECTED


def test_a_list_that_nothing_names_is_an_error_and_a_host_is_read_all_the_same(project, console):
    create_others(console)
    engine = project({"data": DATA}, console)
    run = engine.plan_run(expect={1})
    assert {item["address"] for item in run.errors} == {
        f"data.{kind}.{name}"
        for kind, named in DATA.items()
        for name in named
        if kind != "opsconsole_host"
    }
    assert all("extra_endpoints" in item["detail"] for item in run.errors)
    told = str(run.errors)
    for endpoint in ("host_list", "agent_get", "agent_list", "blacklist_list"):
        assert f"no operation for {endpoint}" in told
    engine.write({"data": {"opsconsole_host": {"jump": {"id": "hst_gone"}}}})
    assert "There is no host hst_gone" in str(engine.plan_run(expect={1}).errors)
