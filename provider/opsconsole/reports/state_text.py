"""A state, or one instance of it, as text in Terraform's syntax; sensitive values are masked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from opsconsole.lifecycle.sentinel import is_sentinel
from opsconsole.reports.addresses import sensitive_of
from opsconsole.reports.apply_text import outputs_text
from opsconsole.reports.colour import Pen
from opsconsole.reports.literals import SENSITIVE, printable
from opsconsole.reports.state_json import marked
from opsconsole.reports.value_diff import whole
from opsconsole.state import Address, InstanceObject, State, StateOutput

_INDENT = 4


def render(state: State, *, colour: bool = False) -> str:
    """Return everything that a state holds, its outputs last."""
    if state.empty:
        return "The state is empty. Nothing is managed yet.\n"
    parts = [instance(state, address, colour=colour) for address in state.addresses()]
    outputs = render_outputs(state.outputs, colour=colour)
    return "\n".join([*parts, *([outputs] if outputs else [])])


def instance(state: State, address: Address, *, colour: bool = False) -> str:
    """Return one instance, with the objects that wait for their deletion behind it."""
    pen = Pen(colour)
    lines: list[str] = []
    for deposed in ("", *state.deposed(address)):
        held = state.get(address, deposed)
        if held is not None:
            lines += _object(address, held, _remark(held, deposed), pen)
    return "\n".join([*lines, ""])


def _remark(held: InstanceObject, deposed: str) -> str:
    if deposed:
        return f" (deposed object {deposed}, waits for its deletion)"
    if is_sentinel(held.attributes.get("id")):
        return " (not known whether it was created)"
    return " (tainted)" if held.tainted else ""


def _object(address: Address, held: InstanceObject, remark: str, pen: Pen) -> Iterator[str]:
    text = str(address)
    hidden = sensitive_of(text, address.type, marked(held))
    shown = {name: value for name, value in held.attributes.items() if value is not None}
    width = max(map(len, shown), default=0)
    yield pen.bold(f"# {printable(text)}:{remark}")
    word = "data" if address.mode == "data" else "resource"
    yield f'{word} "{address.type}" "{printable(address.name)}" {{'
    for name in sorted(shown):
        head = f"{name:{width}} = "
        if name in hidden:
            yield f"{' ' * _INDENT}{head}{SENSITIVE}"
            continue
        for line in whole(shown[name], 1, "", head):
            yield line.plain[_INDENT:]
    yield "}"


def render_outputs(outputs: Mapping[str, StateOutput], *, colour: bool = False) -> str:
    """Return outputs as `name = value`, sensitive ones masked."""
    found = {name: (output.value, output.sensitive) for name, output in outputs.items()}
    return outputs_text(found, Pen(colour))
