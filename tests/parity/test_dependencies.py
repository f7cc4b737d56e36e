"""Dependencies in state follow the program even where nothing else changes, in both engines."""

import pytest

from opsconsole.emulator import serve
from worlds import World

FIRST = {
    "resource": {
        "opsconsole_host": {
            "jump": {"name": "jump"},
            "web": {"name": "web", "jump_host_ids": ["${opsconsole_host.jump.id}"]},
        }
    }
}
SECOND = {"resource": {"opsconsole_host": {"web": {"name": "web"}, "new": {"name": "new"}}}}


@pytest.mark.terraform
def test_a_dropped_reference_leaves_the_dependencies(terraform):
    with serve() as left, serve() as right:
        ours, theirs = (World(console, terraform({}, console)) for console in (left, right))
        for program in (FIRST, SECOND):
            ours.write(program)
            theirs.write(program)
            ours.native_apply()
            theirs.terraform.apply()

        assert ours.normalised_state() == theirs.normalised_state()
        assert ours.normalised_state()["opsconsole_host.web[None]"]["dependencies"] == []
