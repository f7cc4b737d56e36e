"""Terraform's runs in a world: the provider's own calls, on the state that the native engine has.

The order of the calls is that of `rpc_core`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import rpc_core
from opsconsole.state import State, StateOutput
from opsconsole.values import UNKNOWN


def apply(
    program: Mapping[str, Any], instances: rpc_core.Program, data: bytes, folder: Path
) -> tuple[bytes, rpc_core.RpcRun]:
    """Apply a program; return the next state and how the run ended.

    Args:
        program: In JSON, of which provider, `moved` and `removed` blocks are read.
        instances: What it declares, by address.
        data: The state.
    """
    state = State.parse(data) if data else State.new()
    _move_and_forget(program, state)
    prior = {str(address): state.get(address) for address in state.addresses()}
    run = rpc_core.run(program["provider"]["opsconsole"], instances, prior, folder=folder)
    if not run.applied:
        return data, run
    uses = {
        rpc_core.block_of(address): {
            rpc_core.block_of(used) for used in rpc_core.references(declared)
        }
        for address, declared in instances.items()
    }
    for address in [address for address in state.addresses() if str(address) not in run.state]:
        state.remove(address)
    for name, item in run.state.items():
        before, block = state.get(name), rpc_core.block_of(name)
        kept = before.dependencies if before else ()
        needed = sorted(_all_uses(uses, block)) if block in uses else kept
        state.put(name, item._replace(provider=rpc_core.SOURCE, dependencies=tuple(needed)))
    values = {name: item.attributes for name, item in run.state.items()}
    for name, output in program.get("output", {}).items():
        value = rpc_core.evaluate(output["value"], values)
        if UNKNOWN not in value.values():
            state.set_output(name, StateOutput(value, ["object", dict.fromkeys(value, "string")]))
    state.raise_serial()
    return state.to_bytes(), run


def _move_and_forget(program: Mapping[str, Any], state: State) -> None:
    for address in list(state.addresses()):
        for moved in program.get("moved", ()):
            if address.config == moved["from"]:
                target = moved["to"] + str(address).removeprefix(moved["from"])
                state.move(address, target)
        if address.config in [removed["from"] for removed in program.get("removed", ())]:
            state.remove(address)


def _all_uses(uses: Mapping[str, set[str]], block: str) -> set[str]:
    return uses[block].union(*(_all_uses(uses, used) for used in uses[block]))
