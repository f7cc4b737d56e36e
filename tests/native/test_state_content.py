"""What a run leaves in state beside the values of resources, as Terraform would leave it."""

from typing import Any


def hosts(**declared: dict[str, Any]) -> dict[str, Any]:
    return {"opsconsole_host": {name: {"name": name, **body} for name, body in declared.items()}}


def flags(native: Any) -> dict[str, bool]:
    return {
        resource["name"]: resource["instances"][0].get("create_before_destroy", False)
        for resource in native.state["resources"]
    }


def test_state_says_what_is_created_before_it_is_destroyed(native):
    web = {"jump_host_ids": ["${opsconsole_host.jump.id}"]}
    first = {"lifecycle": {"create_before_destroy": True}}
    native.apply(hosts(jump={}, web={**web, **first}))
    # What it depends on must be there before it, too.
    assert flags(native) == {"jump": True, "web": True}

    native.apply(hosts(jump={}, web={**web, "knowledge": "k"}))
    assert flags(native) == {"jump": False, "web": False}

    native.apply(hosts(jump=first, web={**web, "knowledge": "k"}))
    assert flags(native) == {"jump": True, "web": False}
    native.apply(
        hosts(jump={}, web={**web, "knowledge": "k", "depends_on": ["opsconsole_host.a"]}, a={})
    )
    [web] = [item["instances"][0] for item in native.state["resources"] if item["name"] == "web"]
    assert web["dependencies"] == ["opsconsole_host.a", "opsconsole_host.jump"]


def test_an_output_that_becomes_sensitive_is_changed(native):
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


def test_what_is_sensitive_alone_is_a_change_without_a_call(native):
    secret = {"s": {"default": "k", "sensitive": True}}

    def declare(value: str) -> None:
        jump = {"jump_host_ids": ["${sensitive(opsconsole_host.jump.id)}"]}
        native.write(hosts(jump={}, web={**jump, "knowledge": value}), variable=secret)

    def paths() -> list[Any]:
        [_, web] = native.state["resources"]
        return [
            [step["value"] for step in path]
            for path in web["instances"][0].get("sensitive_attributes", [])
        ]

    at_first = {"value": 0, "type": "number"}
    declare("k")
    native.run("apply", "-auto-approve")
    assert paths() == [["jump_host_ids", at_first]]
    declare("${var.s}")
    assert native.actions() == {"opsconsole_host.web": ["update"]}
    native.run("plan", "-out=saved")
    before = native.console.rows("hosts")
    native.run("apply", "saved")
    assert native.console.rows("hosts") == before
    assert paths() == [["jump_host_ids", at_first], ["knowledge"]]
    assert native.actions() == {}

    planned = native.run_plan(hosts(jump={}, web={"knowledge": "other"})).out
    assert '"k"' not in planned
