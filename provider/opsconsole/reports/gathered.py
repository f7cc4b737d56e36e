"""Diagnostics that say the same of many resources, told once with the resources named. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from opsconsole.diagnostics import Diagnostic

FEWEST = 4
"""Fewer that are alike are told one by one."""

_NAMED = 10
_REQUEST = re.compile(r"request id [^\s,)]+")
_WITH = "\n  with "


def gathered(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return diagnostics with those made one that differ only in whom they speak of.

    The first stands for all; behind its detail the resources are named.
    """
    groups: dict[tuple[object, ...], list[tuple[Diagnostic, str]]] = {}
    for item in diagnostics:
        detail, _, address = item.detail.rpartition(_WITH)
        said = _REQUEST.sub("", detail)
        alike = (item.severity, item.path, said) if address and detail else (item,)
        groups.setdefault(alike, []).append((item, address if detail else ""))
    found = []
    for group in groups.values():
        if len(group) < FEWEST:
            found += [item for item, _ in group]
        else:
            found.append(_together(group))
    return found


def _together(group: list[tuple[Diagnostic, str]]) -> Diagnostic:
    first, _ = group[0]
    detail = first.detail.rpartition(_WITH)[0] or first.detail
    addresses = [address for _, address in group if address]
    lines = [f"{_WITH}{address}" for address in addresses[:_NAMED]]
    if len(addresses) > _NAMED:
        lines.append(f"\n  and {len(addresses) - _NAMED:,} more")
    others = len(group) - 1
    return replace(
        first,
        summary=f"{first.summary} (and {others:,} more like it)",
        detail=detail + "".join(lines),
    )
