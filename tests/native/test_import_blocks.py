"""What `import` blocks take into state when a plan is applied, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest


def write(native: Any, type_name: str, wanted: str, **config: Any) -> None:
    block = {"to": f"{type_name}.x", "id": wanted}
    native.write({type_name: {"x": config}}, **{"import": [block]})


def test_an_import_block_takes_what_is_there(native: Any) -> None:
    native.console.create("hosts", id="hst_there", name="a", tags=["site:north"])
    write(native, "opsconsole_host", "hst_there", name="a")
    shown = native.run("plan").out
    assert "opsconsole_host.x will be imported" in shown
    assert "Plan: 1 to import, 0 to add, 0 to change, 0 to destroy." in shown
    native.run("apply", "-auto-approve")
    assert native.attributes("opsconsole_host.x")["id"] == "hst_there"
    assert native.actions() == {}


def test_what_is_imported_has_not_changed_behind_anyones_back(native: Any) -> None:
    native.console.create("hosts", id="hst_there", name="a", tags=["site:north"])
    write(native, "opsconsole_host", "hst_there", name="a")
    assert "Objects have changed" not in native.run("plan").out
    assert native.plan().get("resource_drift", []) == []


@pytest.mark.parametrize("words", [[], ["-refresh=false"]])
@pytest.mark.parametrize(
    ("type_name", "wanted", "config", "said"),
    [
        ("opsconsole_host", "hst_no", {"name": "a"}, "There is no host hst_no"),
        (
            "opsconsole_agent",
            "agt_no",
            {"host_id": "hst_1", "specialty_id": "spc_linux"},
            "There is no agent agt_no",
        ),
        (
            "opsconsole_agent_plugin",
            "agt_no/plg_disk",
            {"agent_id": "agt_no", "plugin_id": "plg_disk"},
            "There is no plugin attachment agt_no/plg_disk",
        ),
        ("opsconsole_specialty", "spc_no", {"key": "no"}, "There is no specialty"),
        (
            "opsconsole_blacklisted_command",
            "blk_no",
            {"id": "blk_no", "pattern": "x"},
            "There is no blacklisted command blk_no",
        ),
    ],
)
def test_what_is_not_there_is_not_created_instead(
    native: Any, type_name: str, wanted: str, config: dict[str, Any], said: str, words: list[str]
) -> None:
    write(native, type_name, wanted, **config)
    refused = native.run("apply", "-auto-approve", *words, expect=1)
    assert said in refused.text
    assert native.addresses() == []
    assert native.console.rows("hosts") == []
