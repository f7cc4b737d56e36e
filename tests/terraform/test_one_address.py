"""Terraform asks for one resource at a time: two addresses of one object are found by its id."""

import json
from typing import Any

import pytest

from opsconsole.emulator import Emulator

pytestmark = [pytest.mark.terraform, pytest.mark.real_client]


def program(*names: str) -> dict[str, Any]:
    return {"resource": {"opsconsole_host": {name: {"name": "a"} for name in names}}}


def test_a_state_that_holds_an_object_twice_deletes_nothing(terraform, console_of):
    console: Emulator = console_of("default")
    folder = terraform(program("a"), console)
    folder.apply()
    [host] = console.rows("hosts")
    path = folder.folder / "terraform.tfstate"
    state = json.loads(path.read_text())
    state["resources"].append(state["resources"][0] | {"name": "b"})
    path.write_text(json.dumps(state))
    # Declaring only one of them would have the other deleted.
    result = folder.apply(expect=(1,))
    assert "Two addresses in state hold the host" in result.text
    assert host["id"] in result.text
    assert console.row("hosts", host["id"]) is not None


def test_an_import_of_what_another_address_holds(terraform, console_of):
    console: Emulator = console_of("default")
    folder = terraform(program("a"), console)
    folder.apply()
    [host] = console.rows("hosts")
    block = {"import": [{"to": "opsconsole_host.b", "id": host["id"]}]}
    folder.write(program("a", "b") | block)
    assert "Two addresses in state hold the host" in folder.apply(expect=(1,)).text
    assert len(folder.state()["resources"]) == 1


def test_two_declarations_that_adopt_one_object(terraform, console_of):
    rows = {name: {"id": "blk_format"} for name in ("a", "b")}
    folder = terraform(
        {"resource": {"opsconsole_blacklisted_command": rows}}, console_of("default")
    )
    result = folder.apply(expect=(1,))
    assert "Another resource holds the blacklisted command blk_format already" in result.text
    assert len(folder.state()["resources"]) == 1
