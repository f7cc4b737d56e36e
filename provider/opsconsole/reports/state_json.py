"""A state in Terraform's JSON, as `terraform show -json` prints it.

https://developer.hashicorp.com/terraform/internals/json-format
"""

from __future__ import annotations

import json
from typing import Any

from opsconsole.reports.addresses import kinds_of, sensitive_of
from opsconsole.reports.json_values import filled, identity, module_tree, sensitive
from opsconsole.reports.plan_json import STATE_FORMAT_VERSION
from opsconsole.state import Address, InstanceObject, State, StateOutput


def render(state: State) -> str:
    """Return a state as one line of JSON; sensitive values are in it, and marked."""
    found: dict[str, Any] = {"format_version": STATE_FORMAT_VERSION}
    if not state.empty:
        resources = module_tree(
            _resource(address, deposed, held)
            for address in state.addresses()
            for deposed in ("", *state.deposed(address))
            if (held := state.get(address, deposed)) is not None
        )
        values = filled({"outputs": outputs(state.outputs)}) | {"root_module": resources}
        found |= {"terraform_version": state.terraform_version, "values": values}
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")) + "\n"


def outputs(found: dict[str, StateOutput]) -> dict[str, Any]:
    """Return outputs by name, each with `sensitive`, `type` and `value`."""
    return {
        name: {"sensitive": item.sensitive, "type": item.type, "value": item.value}
        for name, item in found.items()
    }


def _resource(address: Address, deposed: str, held: InstanceObject) -> dict[str, Any]:
    text = str(address)
    names = sensitive_of(text, address.type, marked(held))
    facts = {
        "provider_name": held.provider.partition('"')[2].partition('"')[0],
        "schema_version": held.schema_version,
        "values": held.attributes,
        "sensitive_values": sensitive(held.attributes, names, kinds_of(text, address.type)),
    }
    remarks = {
        "depends_on": list(held.dependencies),
        "tainted": held.tainted or None,
        "deposed_key": deposed,
    }
    return identity(address, text) | facts | filled(remarks)


def marked(held: InstanceObject) -> frozenset[str]:
    """Return the names of attributes that state marks as sensitive, in whole or in part."""
    found = set()
    for path in held.sensitive_attributes or ():
        steps = path if isinstance(path, list) else []
        if steps and isinstance(steps[0], dict) and isinstance(steps[0].get("value"), str):
            found.add(steps[0]["value"])
    return frozenset(found)
