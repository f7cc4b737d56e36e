"""Data sources of what somebody else manages."""

from __future__ import annotations

from typing import Any

from looked_up import DATA, EXPECTED, OUTPUT, create_others


def test_what_others_manage_is_looked_up(native_on: Any) -> None:
    native = native_on("extended")
    create_others(native.console)
    native.write(data=DATA, output=OUTPUT)
    native.run("apply", "-auto-approve")
    outputs = native.state["outputs"]
    assert {name: item["value"] for name, item in outputs.items()} == EXPECTED


def test_a_list_that_nothing_names_is_an_error_and_a_host_is_read_all_the_same(
    native: Any,
) -> None:
    create_others(native.console)
    native.write(data=DATA)
    told = native.run("plan", expect=1).text
    for endpoint in ("host_list", "agent_get", "agent_list", "blacklist_list"):
        assert f"no operation for {endpoint}" in told
    native.write(data={"opsconsole_host": {"jump": {"id": "hst_gone"}}})
    assert "There is no host hst_gone" in native.run("plan", expect=1).text
