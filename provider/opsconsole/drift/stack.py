"""A stack to check, and what its state holds. Reads state without a lock, and writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.language import Program
from opsconsole.reconcile.declaration import (
    PriorInstance,
    deposed_name,
    from_state,
    sensitive_names,
)
from opsconsole.reconcile.providers import LOCAL_NAME
from opsconsole.resources import RESOURCES
from opsconsole.state import Address, Backend, InstanceObject, State

_OURS = f"{LOCAL_NAME}_"
_NEWER = "a newer release of opsconsole wrote it: use that release"


@dataclass(frozen=True)
class Stack:
    """One state, and the program that it belongs to where that is known.

    Attributes:
        name: What reports call it.
        backend: Where its state is kept; it is never opened, so no lock is taken.
        program: Its program: provider settings, construct paths and places come from there.
        variables: The values of the program's variables.
        workspace: Terraform's workspace.
        pending: Whether what the program declares and state does not hold is reported.
    """

    name: str
    backend: Backend
    program: Program | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    workspace: str = "default"
    pending: bool = False


@dataclass(frozen=True, slots=True)
class StateObject:
    """One object of one state.

    Attributes:
        stack: The stack's name.
        address: Its address in that state; a deposed object's says so.
        known: The object as the reconciler reads it, under an address that is unique in a check.
        provider: The provider configuration, as state writes it.
        sensitive: Names of attributes that must not be shown.
        unreadable: Why it cannot be compared at all; empty: it can.
    """

    stack: str
    address: str
    known: PriorInstance
    provider: str
    sensitive: frozenset[str] = frozenset()
    unreadable: str = ""


def read_held(stack: str, state: State) -> tuple[list[StateObject], list[Diagnostic]]:
    """Return the objects of a state that this provider manages, and what was passed over.

    Deposed objects exist on the console too, so they are among them. Data sources are not.
    """
    found: list[StateObject] = []
    diagnostics: list[Diagnostic] = []
    foreign = 0
    for address, deposed in state.objects():
        if address.mode != "managed":
            continue
        item = state.get(address, deposed) if address.type in RESOURCES else None
        if item is not None:
            found.append(_held(stack, address, deposed, item))
        elif address.type.startswith(_OURS):
            diagnostics.append(_unknown(stack, address))
        else:
            foreign += 1
    if foreign:
        diagnostics.append(
            warning(
                f"{stack}: {foreign} resources of other providers are not checked",
                "`terraform plan -refresh-only` checks them.",
            )
        )
    return found, diagnostics


def _held(stack: str, address: Address, deposed: str, item: InstanceObject) -> StateObject:
    definition = RESOURCES[address.type]
    text = deposed_name(str(address), deposed) if deposed else str(address)
    newer = item.schema_version > 0
    # A newer release may have changed the meaning of any value but a name.
    named = {name: held for name, held in item.attributes.items() if isinstance(held, str)}
    value = from_state(definition, named if newer else item.attributes)
    # The decoded attributes live on in `value` alone: there may be tens of thousands.
    slim = InstanceObject(item.provider, {}, private=item.private)
    known = PriorInstance(f"{stack}: {text}", address.type, slim, value)
    hidden = sensitive_names(item.sensitive_attributes)
    return StateObject(stack, text, known, item.provider, hidden, _NEWER if newer else "")


def _unknown(stack: str, address: Address) -> Diagnostic:
    return error(f"{stack}: {address} cannot be checked", f"{_NEWER}.")
