"""What a run leaves in state beside the values of resources, as Terraform would leave it."""

from __future__ import annotations

from typing import Any


def hosts(**declared: dict[str, Any]) -> dict[str, Any]:
    return {"opsconsole_host": {name: {"name": name, **body} for name, body in declared.items()}}


def flags(native: Any) -> dict[str, bool]:
    return {
        resource["name"]: resource["instances"][0].get("create_before_destroy", False)
        for resource in native.state["resources"]
    }


def test_state_says_what_is_created_before_it_is_destroyed(native: Any) -> None:
    web = {"jump_host_ids": ["${opsconsole_host.jump.id}"]}
    first = {"lifecycle": {"create_before_destroy": True}}
    native.write(hosts(jump={}, web={**web, **first}))
    native.run("apply", "-auto-approve")
    # What it depends on must be there before it, too.
    assert flags(native) == {"jump": True, "web": True}

    native.write(hosts(jump={}, web={**web, "knowledge": "k"}))
    native.run("apply", "-auto-approve")
    assert flags(native) == {"jump": False, "web": False}

    native.write(hosts(jump=first, web={**web, "knowledge": "k"}))
    native.run("apply", "-auto-approve")
    assert flags(native) == {"jump": True, "web": False}


def test_an_output_that_becomes_sensitive_is_changed(native: Any) -> None:
    def declare(sensitive: bool) -> None:
        output = {"secret": {"value": "x", "sensitive": sensitive}}
        native.write(hosts(a={}), output=output)

    declare(False)
    native.run("apply", "-auto-approve")
    declare(True)
    native.run("plan", "-detailed-exitcode", expect=2)
    native.run("apply", "-auto-approve")
    assert native.state["outputs"]["secret"]["sensitive"] is True

    declare(False)
    change = native.plan()["output_changes"]["secret"]
    assert (change["actions"], change["before_sensitive"]) == (["update"], True)
