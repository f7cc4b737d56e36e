"""Attributes and steps of definitions as Markdown, as the Terraform Registry lays it out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from opsconsole.definition import STEPS, Attribute, ChangeRule, Kind, ResourceDefinition

_NO_OPERATION = "none"

_TYPES = {
    Kind.STRING: "String",
    Kind.INTEGER: "Number",
    Kind.NUMBER: "Number",
    Kind.BOOLEAN: "Boolean",
    Kind.STRING_SET: "Set of String",
    Kind.STRING_LIST: "List of String",
    Kind.STRING_MAP: "Map of String",
    Kind.OBJECT: "Attributes",
    Kind.OBJECT_LIST: "Attributes List",
}
_CHANGES = {
    ChangeRule.UPDATE: "",
    ChangeRule.REPLACE: "A change replaces the resource",
    ChangeRule.REFUSE: "The plan refuses a change",
    ChangeRule.LOCAL: "A change makes no call",
}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    escaped = ([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows)
    return [*lines, *(f"| {' | '.join(row)} |" for row in escaped)]


def schema(
    attributes: Sequence[Attribute], note: str, environment: Mapping[str, str] | None = None
) -> list[str]:
    """Return the section `Schema`: what must be set, what may be, and what the console supplies.

    Args:
        note: What holds for all of them; may be empty.
        environment: Attribute to the variable that may set it.
    """
    groups = {
        "Required": [item for item in attributes if item.required],
        "Optional": [item for item in attributes if item.settable and not item.required],
        "Read-Only": [item for item in attributes if not item.settable],
    }
    lines = ["## Schema", "", *([note, ""] if note else [])]
    for title, members in groups.items():
        if members:
            entries = (_entry(item, environment or {}) for item in sorted(members, key=_name))
            lines += [f"### {title}", "", *entries, ""]
    return [*lines, *(line for item in attributes for line in _nested(item))]


def bounds(attribute: Attribute) -> str:
    """Say in words what a declared value may be, as far as the description does not."""
    parts = []
    values = [f"`{value}`" for value in attribute.allowed]
    if not all(value in attribute.description for value in values):
        parts.append(f"One of {', '.join(values)}.")
    low, high = attribute.minimum, attribute.maximum
    if low is not None:
        parts.append(f"{low} to {high}." if high is not None else f"At least {low}.")
    elif high is not None:
        parts.append(f"At most {high}.")
    if attribute.max_length is not None:
        parts.append(f"{attribute.min_length or 0} to {attribute.max_length} characters.")
    return " ".join(part for part in parts if part not in attribute.description)


def steps(definition: ResourceDefinition) -> list[str]:
    """Return the table of what each step rests on."""
    rows = [
        [
            step,
            _code(definition.operations.get(step), _NO_OPERATION),
            _code(definition.lifted_by.get(step), "-"),
        ]
        for step in STEPS
    ]
    return table(["step", "documented operation", "extra endpoint that takes its place"], rows)


def _name(attribute: Attribute) -> str:
    return attribute.name


def _entry(attribute: Attribute, environment: Mapping[str, str]) -> str:
    variable = environment.get(attribute.name)
    parts = [
        attribute.description,
        bounds(attribute) if attribute.settable else "",
        _change(attribute) if attribute.settable else "",
        f"Environment: `{variable}`." if variable else "",
        f"(see [below](#{_anchor(attribute)}))" if attribute.attributes else "",
    ]
    kind = _TYPES[attribute.kind] + (", Sensitive" if attribute.sensitive else "")
    return f"- `{attribute.name}` ({kind}) {' '.join(filter(None, parts))}"


def _change(attribute: Attribute) -> str:
    text = _CHANGES[attribute.change]
    if not text:
        return ""
    if attribute.lifted_by is not None:
        return f"{text}, unless the extra endpoint `{attribute.lifted_by}` is named."
    return f"{text}."


def _anchor(attribute: Attribute) -> str:
    return f"nested-schema-for-{attribute.name}"


def _nested(attribute: Attribute) -> Iterator[str]:
    if not attribute.attributes:
        return
    yield from (f"### Nested Schema for `{attribute.name}`", "")
    for part in attribute.attributes:
        yield _entry(part, {})
    yield ""
    for part in attribute.attributes:
        yield from _nested(part)


def _code(text: str | None, otherwise: str) -> str:
    return f"`{text}`" if text else otherwise
