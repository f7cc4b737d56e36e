"""A plan in Terraform's JSON plan format, as `terraform show -json` prints it.

https://developer.hashicorp.com/terraform/internals/json-format. As in Terraform, sensitive values
are present and marked: protect the file like a plan file. Facts without a place in the format are
under `opsconsole`, which readers of the format ignore.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from opsconsole.address import FULL_ADDRESS
from opsconsole.definition import SCHEMA_VERSION
from opsconsole.diagnostics import has_error, leading_names
from opsconsole.language import Program
from opsconsole.local_terraform import TERRAFORM_VERSION
from opsconsole.reconcile.plan import Action, Change, DataRead, Drift, OutputChange, Plan
from opsconsole.reconcile.providers import full_source
from opsconsole.reports.configuration_json import checks, configuration, relevant_attributes
from opsconsole.reports.json_values import (
    after_unknown,
    instance_json,
    known_part,
    sensitive,
    values_json,
    without_empty,
)
from opsconsole.reports.plan_parts import cascade_note, kinds_of, parse_address, sensitive_of
from opsconsole.state import split_deposed
from opsconsole.text import natural_order
from opsconsole.values import UNKNOWN, Value, Values, holds_unknown

FORMAT_VERSION: Final = "1.2"
STATE_FORMAT_VERSION: Final = "1.0"


def document(
    plan: Plan,
    *,
    timestamp: str = "",
    program: Program | None = None,
    variables: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the plan as a JSON value, with the JSON values of its program's variables."""
    changes = sorted(plan.changes, key=_order)
    drift = sorted(plan.drift, key=_order)
    outputs = sorted(plan.outputs, key=lambda output: output.name)
    errored = has_error(plan.diagnostics)
    provider = FULL_ADDRESS if program is None else full_source(program)
    return without_empty(
        {
            "format_version": FORMAT_VERSION,
            "terraform_version": TERRAFORM_VERSION,
            "variables": {name: {"value": variables[name]} for name in sorted(variables)},
            "planned_values": _planned_values(changes, outputs, provider),
            "resource_drift": [_drift_json(item, provider) for item in drift],
            "resource_changes": [resource_change(item, provider) for item in changes],
            "output_changes": {item.name: _output_change(item) for item in outputs},
            "prior_state": _prior_state(changes, outputs, sorted(plan.data, key=_order), provider),
            **({} if program is None else _program_json(program, changes, outputs)),
            "timestamp": timestamp,
            "applyable": not errored and not plan.empty,
            "complete": not errored and not plan.targeted,
            "errored": errored,
        }
    )


def _program_json(
    program: Program, changes: Iterable[Change], outputs: Iterable[OutputChange]
) -> dict[str, Any]:
    blocks = (
        parse_address(change.address, change.type_name).config
        for change in changes
        if change.action is not Action.NO_OP
    )
    changing = (output.name for output in outputs if output.action is not Action.NO_OP)
    return {
        "configuration": configuration(program),
        "relevant_attributes": relevant_attributes(program, blocks, changing),
        "checks": checks(program),
    }


def _order(item: Change | Drift | DataRead) -> tuple[Any, ...]:
    place = parse_address(item.address, item.type_name)
    # Terraform orders names as text, and only numeric keys by value.
    key = (place.key, "") if isinstance(place.key, int) else (-1, place.key or "")
    kind = 2 if isinstance(place.key, str) else 1
    return natural_order(place.module), place.mode != "data", place.type, place.name, kind, key


def resource_change(change: Change, provider: str = FULL_ADDRESS) -> dict[str, Any]:
    """Return one element of `resource_changes`; `provider` is the provider's address."""
    actions = list(change.action.words)
    if change.action is Action.REPLACE and change.create_first:
        actions.reverse()
    importing = {
        "replace_paths": [[name] for name in change.replace_paths],
        "importing": without_empty({"id": imported_id(change)}),
    }
    extra = {
        "construct_path": change.construct_path,
        "cascade": change.deleted_with,
        "notes": [*filter(None, (cascade_note(change), *change.notes))],
    }
    return _instance_json(change, provider) | without_empty(
        {
            "previous_address": change.previous_address,
            "change": _change_json(actions, change) | without_empty(importing),
            "action_reason": change.reason,
            "opsconsole": without_empty(extra),
        }
    )


def imported_id(change: Change) -> str:
    """Return the id of the object that a change takes into state; empty if there is none."""
    adopted = (change.after or {}).get("id") if change.action is Action.ADOPT else None
    return adopted if isinstance(adopted, str) else change.import_id


def _drift_json(drift: Drift, provider: str) -> dict[str, Any]:
    actions = ["delete"] if drift.after is None else ["update"]
    moved = without_empty({"previous_address": drift.previous_address})
    return _instance_json(drift, provider) | moved | {"change": _change_json(actions, drift)}


def _instance_json(item: Change | Drift | DataRead, provider: str) -> dict[str, Any]:
    address, deposed = split_deposed(item.address)
    place = parse_address(item.address, item.type_name)
    return (
        instance_json(place, address)
        | {"provider_name": provider}
        | without_empty({"deposed": deposed})
    )


def _change_json(actions: list[str], item: Change | Drift) -> dict[str, Any]:
    names = sensitive_of(item.address, item.type_name, item.sensitive)
    names_after = sensitive_of(item.address, item.type_name, _sensitive_after(item))
    kinds = kinds_of(item.address, item.type_name)
    return {
        "actions": actions,
        "before": item.before,
        "after": known_part(item.after),
        "after_unknown": after_unknown(item.after),
        "before_sensitive": sensitive(item.before, names, kinds),
        "after_sensitive": sensitive(item.after, names_after, kinds),
    }


def _sensitive_after(item: Change | Drift) -> frozenset[str]:
    """Return the attributes that are sensitive after a change, if its declaration tells."""
    if isinstance(item, Change) and item.config is not None:
        return leading_names(item.sensitive_paths)
    return item.sensitive


def _output_change(output: OutputChange) -> dict[str, Any]:
    change = {"actions": list(output.action.words), "before": output.before}
    if output.after is not UNKNOWN:
        change["after"] = known_part(output.after)
    return change | {
        "after_unknown": after_unknown(output.after) or False,
        "before_sensitive": output.sensitive,
        "after_sensitive": output.sensitive,
    }


def _planned_values(
    changes: Iterable[Change], outputs: Iterable[OutputChange], provider: str
) -> dict[str, Any]:
    planned = {
        output.name: _output_json(output, output.after)
        for output in outputs
        if output.action is not Action.DELETE
    }
    staying = (
        _resource_json(change, change.after, provider, _sensitive_after(change))
        for change in changes
        if change.action not in (Action.DELETE, Action.FORGET) and change.after is not None
    )
    return values_json(planned, staying)


def _output_json(output: OutputChange, value: Value) -> dict[str, Any]:
    if holds_unknown(value):
        return {"sensitive": output.sensitive}
    return {"sensitive": output.sensitive, "type": output.type, "value": value}


def _resource_json(
    item: Change | DataRead, values: Values, provider: str, marked: frozenset[str]
) -> dict[str, Any]:
    names = sensitive_of(item.address, item.type_name, marked)
    return (
        _instance_json(item, provider)
        | {"schema_version": SCHEMA_VERSION}
        | without_empty({"values": known_part(values)})
        | {"sensitive_values": sensitive(values, names, kinds_of(item.address, item.type_name))}
    )


def _prior_state(
    changes: Iterable[Change],
    outputs: Iterable[OutputChange],
    data: Iterable[DataRead],
    provider: str,
) -> dict[str, Any]:
    resources = [
        _resource_json(item, item.values, provider, leading_names(item.sensitive_paths))
        for item in data
    ]
    for change in changes:
        if change.before is not None:
            resource = _resource_json(change, change.before, provider, change.sensitive)
            # Terraform's values have another name for it than its changes.
            if "deposed" in resource:
                resource["deposed_key"] = resource.pop("deposed")
            if change.dependencies:
                resource["depends_on"] = sorted(
                    {parse_address(a).config for a in change.dependencies}
                )
            resources.append(resource)
    prior_outputs = {
        output.name: _output_json(output, value)
        for output in outputs
        if (value := _refreshed_value(output)) is not None
    }
    if not resources and not prior_outputs:
        return {}
    return {
        "format_version": STATE_FORMAT_VERSION,
        "terraform_version": TERRAFORM_VERSION,
        "values": values_json(prior_outputs, resources),
    }


def _refreshed_value(output: OutputChange) -> Any:
    """Return the value in the refreshed state: as in Terraform, the planned one if it is known."""
    if output.action is Action.DELETE or holds_unknown(output.after):
        return output.before
    return output.after
