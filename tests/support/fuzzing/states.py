"""State files: read, and every object and output of them."""

import json

from opsconsole.errors import OpsconsoleError
from opsconsole.reconcile.prior import read_prior
from opsconsole.resources import RESOURCES
from opsconsole.state.model import State
from opsconsole.state.objects import InstanceObject, StateOutput


def _example() -> State:
    state = State.new("4a1f")
    host = {**RESOURCES["opsconsole_host"].empty(), "id": "hst_1", "name": "a", "tags": ["a:b"]}
    held = InstanceObject('provider["registry.terraform.io/opsconsole/opsconsole"]', host)
    state.put("opsconsole_host.a", held)
    state.put('opsconsole_host.b["k"]', held)
    state.put("data.opsconsole_specialty.s", held)
    state.depose("opsconsole_host.a")
    state.set_output("o", StateOutput([1, "é"], ["tuple", ["number", "string"]], True))
    return state


SEEDS = [
    _example().to_bytes(),
    json.dumps(json.loads(_example().to_bytes())).encode(),
    State.new("l").to_bytes(),
]


def check(data: bytes) -> None:
    """Read `data` as a state, and edit and write what was read."""
    try:
        state = State.parse(data, "fuzz")
        for address, deposed in state.objects():
            held = state.get(address, deposed)
            if held is not None and not deposed:
                state.put(address, held)
        str(state.outputs)
        state.digest()
        State.parse(state.to_bytes(), "again")
        read_prior(state)
    except OpsconsoleError as error:
        str(error)
