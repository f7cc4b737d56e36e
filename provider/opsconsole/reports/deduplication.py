"""Diagnostics that differ only in the resources they are about, made one. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from opsconsole.diagnostics import Diagnostic

FEWEST = 4
"""Fewer that are alike stay apart."""

_NAMED = 10


def dedupe_diagnostics(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return diagnostics with those made one that differ only in the resources they are about.

    The first stands for all, with the addresses of all.
    """
    groups: dict[tuple[object, ...], list[Diagnostic]] = {}
    for item in diagnostics:
        groups.setdefault(_alike(item), []).append(item)
    found: list[Diagnostic] = []
    for group in groups.values():
        found += group if len(group) < FEWEST else [_as_one(group)]
    return found


def _alike(item: Diagnostic) -> tuple[object, ...]:
    """Return what diagnostics have in common that are shown as one."""
    if not item.addresses or not item.text:
        return (id(item),)
    cause = (*item.cause.gist, item.cause.operation) if item.cause else ()
    return (item.severity, item.path, item.detail, cause)


def _as_one(group: list[Diagnostic]) -> Diagnostic:
    first = group[0]
    return replace(
        first,
        summary=f"{first.summary} (and {len(group) - 1:,} more like it)",
        addresses=tuple(dict.fromkeys(address for item in group for address in item.addresses)),
    )


def body_of(item: Diagnostic) -> str:
    """Return the text below the summary: detail, cause, the first addresses, and the place."""
    lines = [item.text] if item.text else []
    lines += [f"  with {address}" for address in item.addresses[:_NAMED]]
    if len(item.addresses) > _NAMED:
        lines.append(f"  and {len(item.addresses) - _NAMED:,} more")
    if item.place:
        lines.append(f"  declared at {item.place}")
    return "\n".join(lines)
