"""The parts of a plan that its formats share: visible changes, their words and their diffs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from opsconsole.definition import DataSourceDefinition, Kind, ResourceDefinition
from opsconsole.errors import UserError
from opsconsole.reconcile.plan import Action, Change, ChangeCounts, Drift, OutputChange, Plan
from opsconsole.reports.value_diff import TO_NULL, Line, changed_value, diff_lines, lines_of_value
from opsconsole.resources import DATA_SOURCES, RESOURCES
from opsconsole.state import Address, instance_of, split_deposed
from opsconsole.text import (
    SENSITIVE,
    first_items,
    format_scalar,
    join_words,
    natural_order,
    plural,
    printable,
)
from opsconsole.values import UNKNOWN

_SYMBOLS = {
    Action.NO_OP: "",
    Action.CREATE: "+",
    Action.ADOPT: ">",
    Action.READ: "<=",
    Action.UPDATE: "~",
    Action.REPLACE: "-/+",
    Action.DELETE: "-",
    Action.FORGET: ".",
}
_EFFECTS = {
    Action.CREATE: "will be created",
    Action.ADOPT: "will be adopted: it is on the console already",
    Action.READ: "will be read during apply",
    Action.UPDATE: "will be updated in-place",
    Action.DELETE: "will be destroyed",
    Action.FORGET: "will no longer be managed, but will not be destroyed",
}
LEGEND = (
    ("+", "create"),
    (">", "adopt what is there already"),
    ("~", "update in-place"),
    ("-", "destroy"),
    ("-/+", "destroy and then create replacement"),
    ("+/-", "create replacement and then destroy"),
    (".", "stop managing, without destroying"),
    ("<=", "read (data resources)"),
)
"""Symbols and what they stand for, in the order of the legend."""


def symbol(change: Change) -> str:
    """Return the symbol of a change; empty for one that only moves or imports."""
    if change.action is Action.REPLACE and change.create_first:
        return "+/-"
    return _SYMBOLS[change.action]


def remarks_on(change: Change) -> list[str]:
    """Return the reason of a change and further facts, one line each."""
    remarks = []
    if change.previous_address and change.action is not Action.NO_OP:
        remarks.append(f"moved from {printable(change.previous_address)}")
    if change.import_id:
        remarks.append(f"imported from {format_scalar(change.import_id)}")
        if change.action is Action.REPLACE:
            remarks.append("Warning: this destroys the imported object")
    if change.reason and (reason := _reason(change)):
        remarks.append(reason)
    if split_deposed(change.address)[1]:
        remarks.append("left over from a replacement or a run that was interrupted")
    if change.deleted_with and change.action is not Action.NO_OP:
        remarks.append(f"{printable(cascade_note(change))}, without a call")
    if change.construct_path:
        remarks.append(f"construct {printable(change.construct_path)}")
    remarks += map(printable, change.notes)
    return remarks


def cascade_note(change: Change) -> str:
    """Describe the effect of its owner's deletion on an instance; empty if its owner stays."""
    if not change.deleted_with:
        return ""
    return f"{cascade_effect(change.type_name)} by the deletion of {change.deleted_with}"


def cascade_effect(*types: str) -> str:
    """Return the words for the effect of an owner's deletion on resources of these types."""
    return " or ".join(dict.fromkeys(f"{RESOURCES[name].owner_deletion}d" for name in types))


def describe_change(change: Change) -> str:
    """Say what happens to an instance: `will be created`."""
    if change.action is Action.NO_OP:
        if change.previous_address:
            return f"has moved from {printable(change.previous_address)}"
        return "will be imported" if change.import_id else "does not change"
    if change.action is Action.REPLACE:
        return {
            "replace_because_tainted": "is tainted, so must be replaced",
            "replace_by_request": "will be replaced, as requested",
            "replace_by_triggers": "will be replaced, as replace_triggered_by asks",
        }.get(change.reason, "must be replaced")
    if change.action is Action.DELETE and change.deleted_with:
        return f"will be {cascade_effect(change.type_name)}"
    return _EFFECTS[change.action]


def _reason(change: Change) -> str:
    place = parse_address(change.address, change.type_name)
    return {
        "delete_because_no_resource_config": (
            f"because {place.type}.{place.name} is no longer declared"
        ),
        "delete_because_no_module": f"because {place.module} is no longer declared",
        "delete_because_count_index": f"because index {place.key} is beyond count",
        "delete_because_each_key": (
            f"because key {format_scalar(place.key)} is no longer in for_each"
        ),
        "delete_because_no_move_target": (
            f"because {place.type}.{place.name}, where it was moved to, is not declared"
        ),
        "delete_because_wrong_repetition": "because its block no longer repeats in this way",
        "read_because_config_unknown": "its configuration is known only after apply",
        "read_because_dependency_pending": "it depends on something that changes",
    }.get(change.reason, "")


def describe_no_changes(plan: Plan) -> str:
    """Describe a plan without changes; attributes that were not seen may differ on the console."""
    sentences = []
    if plan.mode == "destroy":
        sentence = "There is nothing to destroy."
    elif plan.mode == "refresh-only":
        sentence = "State matches what was read of the console."
        if plan.moved:
            moves = [f"{printable(old)} has moved to {printable(new)}" for old, new in plan.moved]
            sentences.append(f"An apply records that {first_items(moves, 3)}.")
    elif plan.unread or plan.partly_observed:
        sentence = "State matches the program."
        if plan.unread:
            sentences.append(f"{_count_words(plan.unread)} not read from the console.")
        if plan.partly_observed:
            words = _count_words(plan.partly_observed)
            sentences.append(f"{words} shown only in part by the console.")
    else:
        sentence = "The console matches the program."
    if plan.targeted:
        sentence = f"For the targets, {sentence[0].lower()}{sentence[1:]}"
    return " ".join([sentence, *sentences])


def describe_no_requests(plan: Plan) -> str:
    """Warn that a plan sent no request; empty if it sent one or creates nothing."""
    # Only answers reveal a wrong key, or names that exist already.
    if plan.calls or not any(change.action is Action.CREATE for change in plan.changes):
        return ""
    return (
        "No request was sent to the console for this plan: neither the key nor the names of new "
        "hosts were tried. --preflight tries both."
    )


def _count_words(count: int) -> str:
    return f"{plural(count, 'resource')} in it {'was' if count == 1 else 'were'}"


def count_sentence(counts: ChangeCounts) -> str:
    """Return the summary line in Terraform's words: `Plan: 3 to add, 1 to change, 2 to destroy.`"""
    imported = f"{counts.imported} to import, " if counts.imported else ""
    adopted = f"{counts.adopt} to adopt, " if counts.adopt else ""
    return (
        f"Plan: {imported}{adopted}{counts.add} to add, {counts.change} to change, "
        f"{counts.destroy} to destroy."
    )


def apply_summary(counts: ChangeCounts, command: str, complete: bool = True) -> str:
    """Return `Apply complete! Resources: 1 added, 0 changed, 0 destroyed.`"""
    word = "Destroy" if command == "destroy" else "Apply"
    opening = f"{word} complete!" if complete else f"{word} incomplete."
    if command == "destroy":
        text = f"{opening} Resources: {counts.destroy} destroyed."
    else:
        imported = f"{counts.imported} imported, " if counts.imported else ""
        adopted = f"{counts.adopt} adopted, " if counts.adopt else ""
        text = (
            f"{opening} Resources: {imported}{adopted}{counts.add} added, {counts.change} changed, "
            f"{counts.destroy} destroyed."
        )
    return f"{text} {counts.forget} left management." if counts.forget else text


def plan_summary(counts: ChangeCounts, changes: Sequence[Change]) -> str:
    """Return the summary line, with further sentences for changes that Terraform does not count."""
    sentences = [count_sentence(counts)]
    owners = [
        item.deleted_with for item in changes if item.action is Action.DELETE and item.deleted_with
    ]
    if owners:
        kinds = dict.fromkeys(RESOURCES[parse_address(owner).type].title for owner in owners)
        go = "goes with its" if len(owners) == 1 else "go with their"
        sentences.append(
            f"{len(owners)} of them {go} {join_words([*kinds], 'or')}, without a call."
        )
    if counts.forget:
        sentences.append(f"{counts.forget} to leave management.")
    return " ".join(sentences)


@lru_cache(maxsize=65536)
def parse_address(address: str, type_name: str = "") -> Address:
    """Return the parts of `address`.

    Any other text (the id of an unmanaged object) becomes the name of a resource of `type_name`.
    """
    try:
        return instance_of(address)
    except UserError:
        return Address(type_name, address)


def definition_of(address: str, type_name: str) -> ResourceDefinition | DataSourceDefinition | None:
    """Return the definition for an address, or None if the type is not one of ours."""
    if parse_address(address, type_name).mode == "data":
        return DATA_SOURCES.get(type_name)
    return RESOURCES.get(type_name)


def kinds_of(address: str, type_name: str) -> Mapping[str, Kind]:
    """Return the kinds of the attributes by name; empty if the type is not one of ours."""
    definition = definition_of(address, type_name)
    return {} if definition is None else definition.kinds


def sensitive_of(address: str, type_name: str, marked: frozenset[str]) -> frozenset[str]:
    """Return the names to mask: those in `marked`, and the definition's own."""
    definition = definition_of(address, type_name)
    return marked if definition is None else marked | definition.sensitive_names


def _label_attribute(type_name: str) -> str:
    definition = RESOURCES.get(type_name)
    return "name" if definition is None else definition.label


def visible_changes(plan: Plan) -> list[Change]:
    """Return the changes that deserve a block of their own, ordered by address.

    Changes that follow from the deletion of an owner are listed under that owner.
    """
    cascaded = {id(change) for group in cascades(plan).values() for change in group}
    acting = (change for change in plan.acting() if id(change) not in cascaded)
    return sorted(acting, key=lambda change: natural_order(change.address))


def cascades(plan: Plan) -> Mapping[str, Sequence[Change]]:
    """Return the resources deleted with each owner, by the owner's address, ordered by address."""
    owners = {
        change.address
        for change in plan.changes
        if change.action in (Action.DELETE, Action.REPLACE)
    }
    by_owner: defaultdict[str, list[Change]] = defaultdict(list)
    for change in plan.changes:
        if change.deleted_with in owners and change.action is Action.DELETE:
            by_owner[change.deleted_with].append(change)
    for group in by_owner.values():
        group.sort(key=lambda change: natural_order(change.address))
    return by_owner


def label_of(change: Change, show: Callable[[str], str] = printable) -> str:
    """Return the label of the instance of `change`, masked if sensitive."""
    name = _label_attribute(change.type_name)
    value = (change.after or {}).get(name)
    if value is None or value is UNKNOWN:
        value = (change.before or {}).get(name)
    if not isinstance(value, str):
        return ""
    hidden = sensitive_of(change.address, change.type_name, change.sensitive)
    return SENSITIVE if name in hidden else show(value)


def diff_of(change: Change | Drift) -> list[Line]:
    return diff_lines(
        change.before,
        change.after,
        kinds=kinds_of(change.address, change.type_name),
        sensitive=sensitive_of(change.address, change.type_name, change.sensitive),
        forcing=change.replace_paths if isinstance(change, Change) else (),
        shown=("id", "name", _label_attribute(change.type_name)),
    )


def output_lines(output: OutputChange, width: int) -> Iterator[Line]:
    """Yield the lines that show how one output changes."""
    head = f"{printable(output.name):{width}} = "
    if output.sensitive:
        sign = {Action.CREATE: "+", Action.DELETE: "-"}.get(output.action, "~")
        tail = TO_NULL if output.action is Action.DELETE else ""
        yield Line(0, sign, f"{head}{SENSITIVE}{tail}")
    elif output.action is Action.CREATE:
        yield from lines_of_value(output.after, 0, "+", head)
    elif output.action is Action.DELETE:
        yield from lines_of_value(output.before, 0, "-", head, TO_NULL)
    else:
        yield from changed_value(output.before, output.after, 0, head, None, "")
