"""A plan in Terraform's JSON plan format, as `terraform show -json` prints it.

https://developer.hashicorp.com/terraform/internals/json-format. As there, sensitive values are
present and marked: the file deserves the care that a plan file does. What Terraform has no place
for is under `opsconsole`, which readers of the format pass over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from opsconsole.address import FULL_ADDRESS
from opsconsole.diagnostics import has_error
from opsconsole.language import Program
from opsconsole.reconcile.changes import (
    Action,
    Change,
    DataRead,
    Drift,
    OutputChange,
    Plan,
)
from opsconsole.reconcile.declaration import instance_and_key
from opsconsole.reports.addresses import kinds_of, natural, parsed, sensitive_of
from opsconsole.reports.configuration_json import configuration
from opsconsole.reports.json_values import after_unknown, known, module_tree, sensitive, type_of
from opsconsole.reports.relevant_attributes import relevant_attributes
from opsconsole.values import UNKNOWN, Attributes, holds_unknown

FORMAT_VERSION: Final = "1.2"
STATE_FORMAT_VERSION: Final = "1.0"
TERRAFORM_VERSION: Final = "1.11.4"
"""The version of Terraform whose format this is."""
SCHEMA_VERSION: Final = 0


def render(
    plan: Plan,
    *,
    timestamp: str = "",
    provider_name: str = FULL_ADDRESS,
    program: Program | None = None,
    variables: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """Return the plan as one line of JSON.

    Args:
        timestamp: When it was made, RFC 3339; left out where empty.
        provider_name: The provider's full source address.
        program: What it was made from, for `configuration` and `checks`.
        variables: The values of its variables, as JSON.
    """
    whole = document(
        plan,
        timestamp=timestamp,
        provider_name=provider_name,
        program=program,
        variables=variables,
    )
    return json.dumps(whole, separators=(",", ":")) + "\n"


def document(
    plan: Plan,
    *,
    timestamp: str = "",
    provider_name: str = FULL_ADDRESS,
    program: Program | None = None,
    variables: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the plan as the JSON value that `render` prints."""
    changes = sorted(plan.changes, key=_order)
    drift = sorted(plan.drift, key=_order)
    outputs = sorted(plan.outputs, key=lambda output: output.name)
    found: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "terraform_version": TERRAFORM_VERSION,
        **_variables(variables),
        "planned_values": _planned_values(changes, outputs, provider_name),
    }
    if drift:
        found["resource_drift"] = [_drift(item, provider_name) for item in drift]
    if changes:
        found["resource_changes"] = [resource_change(item, provider_name) for item in changes]
    if outputs:
        found["output_changes"] = {item.name: _output_change(item) for item in outputs}
    prior = _prior_state(changes, outputs, sorted(plan.data, key=_order), provider_name)
    if prior:
        found["prior_state"] = prior
    if program is not None:
        found["configuration"] = configuration(program, provider_name)
        relevant = _relevant(program, changes, outputs)
        if relevant:
            found["relevant_attributes"] = relevant
        checks = _checks(program)
        if checks:
            found["checks"] = checks
    if timestamp:
        found["timestamp"] = timestamp
    errored = has_error(plan.diagnostics)
    found["applyable"] = not errored and not plan.empty
    found["complete"] = True
    found["errored"] = errored
    return found


def _variables(values: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: {"value": values[name]} for name in sorted(values)}
    return {"variables": found} if found else {}


def _checks(program: Program) -> list[dict[str, Any]]:
    """Return the results of conditions: a program with any other than of variables is refused.

    A variable that breaks a rule is an error before there is a plan, so that all have passed.
    """
    found = []
    for name in sorted(program.variables):
        if program.variables[name].validations:
            address = f"var.{name}"
            found.append(
                {
                    "address": {"kind": "var", "name": name, "to_display": address},
                    "status": "pass",
                    "instances": [{"address": {"to_display": address}, "status": "pass"}],
                }
            )
    return found


def _relevant(
    program: Program, changes: Iterable[Change], outputs: Iterable[OutputChange]
) -> list[dict[str, Any]]:
    return relevant_attributes(
        program,
        (
            parsed(change.address, change.type_name).config
            for change in changes
            if change.action is not Action.NO_OP
        ),
        (output.name for output in outputs if output.action is not Action.NO_OP),
    )


def _order(item: Change | Drift | DataRead) -> tuple[Any, ...]:
    place = parsed(item.address, item.type_name)
    # Terraform orders names as text, and only keys that are numbers by their value.
    key = (place.key, "") if isinstance(place.key, int) else (-1, place.key or "")
    kind = 2 if isinstance(place.key, str) else 1
    return natural(place.module), place.mode != "data", place.type, place.name, kind, key


def resource_change(change: Change, provider_name: str = FULL_ADDRESS) -> dict[str, Any]:
    """Return one element of `resource_changes`."""
    names = sensitive_of(change.address, change.type_name, change.sensitive)
    found = _identity(change, provider_name)
    if change.previous_address:
        found["previous_address"] = change.previous_address
    actions = list(change.action.words)
    if change.action is Action.REPLACE and change.create_first:
        actions.reverse()
    body = _body(actions, change.before, change.after, names, kinds_of_change(change))
    if change.replace_paths:
        body["replace_paths"] = [[name] for name in change.replace_paths]
    if change.import_id:
        body["importing"] = {"id": change.import_id}
    found["change"] = body
    if change.reason:
        found["action_reason"] = change.reason
    extra = _extra(change)
    if extra:
        found["opsconsole"] = extra
    return found


def kinds_of_change(change: Change | Drift | DataRead) -> Mapping[str, Any]:
    """Return the kinds of the attributes of a changed resource."""
    return kinds_of(change.address, change.type_name)


def _extra(change: Change) -> dict[str, Any]:
    found = {
        "construct_path": change.construct_path,
        "cascade": change.cascade,
        "notes": list(change.notes),
    }
    return {name: value for name, value in found.items() if value}


def _drift(drift: Drift, provider_name: str) -> dict[str, Any]:
    names = sensitive_of(drift.address, drift.type_name, drift.sensitive)
    actions = ["delete"] if drift.after is None else ["update"]
    found = _identity(drift, provider_name)
    found["change"] = _body(actions, drift.before, drift.after, names, kinds_of_change(drift))
    return found


def _identity(item: Change | Drift | DataRead, provider_name: str) -> dict[str, Any]:
    place = parsed(item.address, item.type_name)
    address, deposed = instance_and_key(item.address)
    found: dict[str, Any] = {"address": address}
    if place.module:
        found["module_address"] = place.module
    found |= {"mode": place.mode, "type": place.type, "name": place.name}
    if place.key is not None:
        found["index"] = place.key
    found["provider_name"] = provider_name
    if deposed:
        found["deposed"] = deposed
    return found


def _body(
    actions: list[str],
    before: Attributes | None,
    after: Attributes | None,
    names: frozenset[str],
    kinds: Mapping[str, Any],
) -> dict[str, Any]:
    return {
        "actions": actions,
        "before": before,
        "after": known(after),
        "after_unknown": after_unknown(after),
        "before_sensitive": sensitive(before, names, kinds),
        "after_sensitive": sensitive(after, names, kinds),
    }


def _output_change(output: OutputChange) -> dict[str, Any]:
    unsettled = holds_unknown(output.after)
    found = {"actions": list(output.action.words), "before": output.before}
    if output.after is not UNKNOWN:
        found["after"] = known(output.after)
    return found | {
        "after_unknown": after_unknown(output.after) if unsettled else False,
        "before_sensitive": output.sensitive,
        "after_sensitive": output.sensitive,
    }


def _planned_values(
    changes: Iterable[Change], outputs: Iterable[OutputChange], provider_name: str
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    planned = {
        output.name: _output(output.after, output.sensitive)
        for output in outputs
        if output.action is not Action.DELETE
    }
    if planned:
        found["outputs"] = planned
    staying = (
        (change, change.after)
        for change in changes
        if change.action not in (Action.DELETE, Action.FORGET) and change.after is not None
    )
    found["root_module"] = module_tree(
        _resource(change, values, provider_name) for change, values in staying
    )
    return found


def _output(value: Any, marked: bool) -> dict[str, Any]:
    if holds_unknown(value):
        return {"sensitive": marked}
    return {"sensitive": marked, "type": type_of(value), "value": value}


def _resource(item: Change | DataRead, values: Attributes, provider_name: str) -> dict[str, Any]:
    marked = item.sensitive if isinstance(item, Change) else frozenset()
    names = sensitive_of(item.address, item.type_name, marked)
    found = _identity(item, provider_name)
    found["schema_version"] = SCHEMA_VERSION
    settled = known(values)
    if settled:
        found["values"] = settled
    found["sensitive_values"] = sensitive(values, names, kinds_of_change(item))
    return found


def _prior_state(
    changes: Iterable[Change],
    outputs: Iterable[OutputChange],
    data: Iterable[DataRead],
    provider_name: str,
) -> dict[str, Any]:
    resources = [_resource(item, item.value, provider_name) for item in data]
    for change in changes:
        if change.before is not None and not change.import_id:
            resource = _resource(change, change.before, provider_name)
            if change.depends_on:
                resource["depends_on"] = sorted({parsed(a).config for a in change.depends_on})
            resources.append(resource)
    held = {
        output.name: _output(output.before, output.sensitive)
        for output in outputs
        if output.action is not Action.CREATE
    }
    if not resources and not held:
        return {}
    values = {"outputs": held} if held else {}
    return {
        "format_version": STATE_FORMAT_VERSION,
        "terraform_version": TERRAFORM_VERSION,
        "values": values | {"root_module": module_tree(resources)},
    }
