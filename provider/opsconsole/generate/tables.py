"""Attributes and steps of definitions as Markdown tables. No page layout here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opsconsole.definition import STEPS, Attribute, Change, ResourceDefinition

_NO_OPERATION = "none"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    escaped = ([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows)
    return [*lines, *(f"| {' | '.join(row)} |" for row in escaped)]


def bounds(attribute: Attribute) -> str:
    """Say in words what a declared value may be, as far as the description does not."""
    parts = []
    values = [f"`{value}`" for value in attribute.allowed]
    if not all(value in attribute.description for value in values):
        parts.append(f"One of {', '.join(values)}.")
    low, high = attribute.minimum, attribute.maximum
    if low is not None:
        parts.append(f"{low} to {high}." if high is not None else f"At least {low}.")
    if attribute.max_length is not None:
        parts.append(f"{attribute.min_length or 0} to {attribute.max_length} characters.")
    return " ".join(part for part in parts if part not in attribute.description)


def meaning(attribute: Attribute) -> str:
    """Return an attribute's description, bounds and parts."""
    parts = [attribute.description, bounds(attribute)]
    if attribute.sensitive:
        parts.append("Sensitive.")
    if attribute.attributes and attribute.settable:
        parts.append(f"{'; '.join(map(_field, attribute.attributes))}.")
    elif attribute.attributes:
        parts.append(f"Each has {', '.join(f'`{part.name}`' for part in attribute.attributes)}.")
    return " ".join(filter(None, parts))


def _field(part: Attribute) -> str:
    text = f"{part.description[0].lower()}{part.description[1:]}".rstrip(".")
    return f"`{part.name}` ({part.kind.value}): {text}"


def change(attribute: Attribute) -> str:
    """Say what a changed declaration does."""
    text = {
        Change.UPDATE: "updates in place",
        Change.REPLACE: "replaces",
        Change.REFUSE: "is refused by the plan",
        Change.LOCAL: "makes no call",
    }[attribute.change]
    if attribute.lifted_by is not None:
        return f"{text}; updates in place with `{attribute.lifted_by}`"
    return text


def arguments(attributes: Sequence[Attribute], changes: bool = True) -> list[str]:
    """Return the table of the arguments, required ones first."""
    ordered = sorted(attributes, key=lambda attribute: not attribute.required)
    rows = [
        [
            f"`{attribute.name}`",
            attribute.kind.value + (", required" if attribute.required else ""),
            meaning(attribute),
            *([change(attribute)] if changes else []),
        ]
        for attribute in ordered
        if attribute.settable
    ]
    head = ["argument", "type", "meaning", *(["a changed declaration"] if changes else [])]
    return table(head, rows)


def outputs(attributes: Sequence[Attribute]) -> list[str]:
    """Return the table of what only the console supplies."""
    rows = [
        [f"`{attribute.name}`", attribute.kind.value, meaning(attribute)]
        for attribute in attributes
        if not attribute.settable
    ]
    return table(["attribute", "type", "meaning"], rows)


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


def _code(text: str | None, otherwise: str) -> str:
    return f"`{text}`" if text else otherwise
