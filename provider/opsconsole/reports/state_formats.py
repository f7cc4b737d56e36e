"""A state as text in Terraform's syntax, sensitive values masked, and as Terraform's JSON.

https://developer.hashicorp.com/terraform/internals/json-format
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from opsconsole.diagnostics import leading_names
from opsconsole.lifecycle.private_state import is_sentinel
from opsconsole.reports.json_values import instance_json, sensitive, values_json, without_empty
from opsconsole.reports.plan_json import STATE_FORMAT_VERSION
from opsconsole.reports.plan_parts import kinds_of, sensitive_of
from opsconsole.reports.plan_text import outputs_text
from opsconsole.reports.value_diff import lines_of_value
from opsconsole.state import Address, InstanceObject, State, StateOutput
from opsconsole.text import SENSITIVE, Pen, printable

_INDENT = 4


def render_text(state: State, pen: Pen) -> str:
    if state.empty:
        return "The state is empty. Nothing is managed yet.\n"
    parts = [instance(state, address, pen) for address in state.addresses()]
    outputs = outputs_text(state.outputs, pen)
    return "\n".join([*parts, *([outputs] if outputs else [])])


def instance(state: State, address: Address, pen: Pen) -> str:
    """Return one instance, followed by its objects that wait for deletion."""
    lines: list[str] = []
    for deposed in ("", *state.deposed_keys(address)):
        item = state.get(address, deposed)
        if item is not None:
            lines += _object_lines(address, item, _remark(item, deposed), pen)
    return "\n".join([*lines, ""])


def _remark(item: InstanceObject, deposed: str) -> str:
    if deposed:
        return f" (deposed object {deposed}, waits for its deletion)"
    if is_sentinel(item.attributes.get("id")):
        return " (not known whether it was created)"
    return " (tainted)" if item.tainted else ""


def _object_lines(address: Address, item: InstanceObject, remark: str, pen: Pen) -> Iterator[str]:
    text = str(address)
    hidden = sensitive_of(text, address.type, leading_names(item.sensitive_paths))
    shown = {name: value for name, value in item.attributes.items() if value is not None}
    width = max(map(len, shown), default=0)
    yield pen.bold(f"# {printable(text)}:{remark}")
    word = "data" if address.mode == "data" else "resource"
    yield f'{word} "{address.type}" "{printable(address.name)}" {{'
    for name in sorted(shown):
        head = f"{name:{width}} = "
        if name in hidden:
            yield f"{' ' * _INDENT}{head}{SENSITIVE}"
            continue
        for line in lines_of_value(shown[name], 1, "", head):
            yield line.plain[_INDENT:]
    yield "}"


def render_json(state: State) -> str:
    """Return a state as one line of JSON; sensitive values are in it, and marked."""
    document: dict[str, Any] = {"format_version": STATE_FORMAT_VERSION}
    if not state.empty:
        resources = (
            _resource_json(address, deposed, item)
            for address, deposed in state.objects()
            if (item := state.get(address, deposed)) is not None
        )
        document |= without_empty({"terraform_version": state.terraform_version})
        document["values"] = values_json(outputs_json(state.outputs), resources)
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"


def outputs_json(outputs: dict[str, StateOutput]) -> dict[str, Any]:
    return {
        name: {"sensitive": item.sensitive, "type": item.type, "value": item.value}
        for name, item in outputs.items()
    }


def _resource_json(address: Address, deposed: str, item: InstanceObject) -> dict[str, Any]:
    text = str(address)
    names = sensitive_of(text, address.type, leading_names(item.sensitive_paths))
    facts = {
        "provider_name": item.provider.partition('"')[2].partition('"')[0],
        "schema_version": item.schema_version,
        "values": item.attributes,
        "sensitive_values": sensitive(item.attributes, names, kinds_of(text, address.type)),
    }
    remarks = {
        "depends_on": list(item.dependencies),
        "tainted": item.tainted or None,
        "deposed_key": deposed,
    }
    return instance_json(address, text) | facts | without_empty(remarks)
