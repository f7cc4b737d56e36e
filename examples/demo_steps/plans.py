"""The interesting part of what Terraform and cdktf print: which resources change, and how. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from opsconsole.resources import RESOURCES

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_NOISE = re.compile(r"^\s*$|^. {2}\w+ing$|Stacks? (deploying|destroying|done)")
"""Empty lines, and the lines that cdktf's spinner leaves behind."""
_STACK = re.compile(r"^\w+ {2}")
_HEADING = re.compile(
    r"^\s*# (?P<type>opsconsole_\w+)\.(?P<name>\S+?)(?:_[0-9A-F]{8})?(?: \((?P<path>.+?)\))?,? "
    r"(?:will be |must be |has |is tainted, so must be )(?P<action>.+)$"
)
GONE = "gone"
"""Instead of a sign: it was found deleted."""
ALONG = "along"
"""Instead of a sign: it goes with its host, without a call."""
_CONSTRUCT = re.compile(r"^\s*# \(construct \w+/(?P<path>.+)\)$")
_ARCHIVED = re.compile(r"^\s*- (?P<type>opsconsole_\w+)\.(?P<name>\S+?)(?:_[0-9A-F]{8})? \"")
_SIGNS = {
    "created": "+",
    "destroyed": "-",
    "updated in-place": "~",
    "replaced": "-/+",
    "been deleted": GONE,
}
_SUMMARY = re.compile(r"^\s*((?:Plan:|No changes\.|Apply complete!|Destroy complete!).*)$")
_WARNING = re.compile(r"^[\s│]*Warning: (.+)$")
_OWN_WARNINGS = ("Incomplete lock file information for providers",)
"""Of Terraform itself: it says so about every provider that comes from no registry."""
_CHANGED = re.compile(r"^\s*(?P<sign>[~+-]) (?P<rest>.+)$")


@dataclass(frozen=True)
class Change:
    """What is planned for one resource, or for several of a kind."""

    sign: str
    kind: str
    name: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What a run said: changes in its order, each warning with how many are like it, the end."""

    changes: tuple[Change, ...]
    warnings: tuple[tuple[str, int], ...]
    summary: str


def read(output: str) -> Outcome:
    """Read what Terraform printed, through cdktf or by itself."""
    lines = [_STACK.sub("", line) for line in _COLOUR.sub("", output).splitlines()]
    lines = [line for line in lines if not _NOISE.search(line)]
    summaries = [found[1].strip() for line in lines if (found := _SUMMARY.match(line))]
    return Outcome(tuple(_changes(lines)), _warnings(lines), summaries[-1] if summaries else "")


def _changes(lines: Sequence[str]) -> Iterator[Change]:
    for number, line in enumerate(lines):
        if along := _ARCHIVED.match(line):
            yield Change(ALONG, RESOURCES[along["type"]].title, along["name"])
        heading = _HEADING.match(line)
        if heading is None:
            continue
        sign = next((s for word, s in _SIGNS.items() if heading["action"].startswith(word)), "")
        details = _details(lines[number + 2 :]) if sign in ("~", "-/+") else ()
        construct = _CONSTRUCT.match(lines[number + 1])
        name = construct["path"] if construct else heading["path"] or heading["name"]
        yield Change(sign, RESOURCES[heading["type"]].title, name, details)


def _details(lines: Sequence[str]) -> tuple[str, ...]:
    """Return one line for each attribute that changes in a resource block."""
    found: list[str] = []
    for line in lines:
        if _HEADING.match(line) or _SUMMARY.match(line):
            break
        changed = _CHANGED.match(line)
        if changed is None or "known after apply" in line:
            continue
        words = f"{changed['sign']} {changed['rest'].rstrip(',')}"
        if " = " in words:
            found.append(re.sub(r" += +", " = ", words).removesuffix(" ["))
        elif found:
            found[-1] += f" {words}"
    return tuple(found)


def _warnings(lines: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Return the first warning of each kind, and how many more there are."""
    kinds: dict[str, dict[str, None]] = {}
    for line in lines:
        found = _WARNING.match(line)
        if found is not None and found[1] not in _OWN_WARNINGS:
            kind = re.sub(r'"[^"]*"|\(?\w+_\w+\)?', "", found[1])
            kinds.setdefault(kind, {})[found[1]] = None
    return tuple((next(iter(told)), len(told) - 1) for told in kinds.values())


def drifted(output: str) -> list[str]:
    """Return of a drift report what drifted, and the sentence that counts everything."""
    found, shown = [], False
    for line in output.splitlines():
        if section := re.match(r"(\w+) \(\d+\)$", line):
            shown = section[1] in ("Missing", "Archived", "Changed")
        elif line.startswith("Drift"):
            shown = True
        elif line.startswith("Hosts were read"):
            break
        if shown and line.strip() and not line.lstrip().startswith("construct "):
            found.append(re.sub(r"_[0-9A-F]{8}\b", "", re.sub(r" +=", " =", line)))
    return found


def grouped(changes: Iterable[Change]) -> list[Change]:
    """Return changes with those of one kind and sign in one line, if they have no details."""
    together: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for change in changes:
        own = (change.name,) if change.details else ()
        together.setdefault((change.sign, change.kind, own + change.details), []).append(
            change.name
        )
    return [
        Change(sign, plural(kind, len(names)), ", ".join(names), details[1:])
        for (sign, kind, details), names in together.items()
    ]


def plural(title: str, count: int) -> str:
    """Return `8 hosts`, `1 specialty`."""
    if count == 1:
        return f"1 {title}"
    return f"{count} {title[:-1]}ies" if title.endswith("y") else f"{count} {title}s"
