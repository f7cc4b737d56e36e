"""Adds found drift to the baseline file; the rest of it stays, comments and line ends included."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

import yaml

from opsconsole.drift.baseline import MAX_BYTES, VERSION, Entry, fits, parse_baseline, read_baseline
from opsconsole.drift.model import Bucket, DriftReport, Finding
from opsconsole.errors import UserError
from opsconsole.text import first_items
from opsconsole.user_files import replace_file

_LINE_END: Final = re.compile(r"\r\n?|\n")


def select_findings(report: DriftReport, addresses: Sequence[str]) -> list[Finding]:
    """Return the drift that addresses name: instances, resources, modules, patterns; else all."""
    drifted = report.drifted_findings
    if not addresses:
        return list(drifted)
    # By identity: a finding holds dictionaries, so it cannot be hashed.
    selected: dict[int, Finding] = {}
    for address in addresses:
        named = [item for item in drifted if _is_named(item.address, address)]
        if not named:
            shown = first_items(sorted({item.address for item in drifted}))
            raise UserError(
                f'No drift is called "{address}". Nothing was accepted.',
                f"These drifted: {shown}." if shown else "No resource drifted.",
            )
        selected.update((id(item), item) for item in named)
    return list(selected.values())


def _is_named(address: str, wanted: str) -> bool:
    return fits(wanted, address) or address.startswith((f"{wanted}[", f"{wanted}."))


def entries_for(
    findings: Iterable[Finding], reason: str, expires: date | None, *, name_stacks: bool
) -> list[Entry]:
    """Return entries that accept findings, as narrowly as possible: by attribute or by bucket.

    Args:
        name_stacks: Whether the entries name the stack, because several stacks may share addresses.
            An unmanaged object's id is unique, and its stack in a report may change.
    """
    entries: list[Entry] = []
    for finding in findings:
        members: dict[str, Any] = {"address": finding.address, "reason": reason}
        if name_stacks and finding.stack and finding.bucket is not Bucket.UNMANAGED:
            members["stack"] = finding.stack
        if expires is not None:
            members["expires"] = expires
        unit = "attribute" if finding.bucket is Bucket.CHANGED else "bucket"
        entries += [Entry(**members | {unit: drifting}) for drifting in finding.drifting]
    return list(dict.fromkeys(entries))


def add_entries(path: Path, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Add entries to a baseline file, creating it if needed; return the whole baseline.

    Raises:
        UserError: The file is not a baseline, cannot be written, or has no place for entries.
    """
    before = read_baseline(path) if path.exists() else ()
    after = (*before, *entries)
    try:
        # Reading as text would turn every line end into "\n".
        text = path.read_bytes().decode() if path.exists() else ""
        text = _insert_entries(path, text, entries)
        if len(text.encode()) > MAX_BYTES:
            raise UserError(
                f"Nothing can be added to the baseline {path}: it would have more than "
                f"{MAX_BYTES:,} bytes.",
                "Remove entries that are not needed any more.",
            )
        if not _is_baseline_of(path, text, after):
            raise _addition_error(path, entries)
        replace_file(path, text)
    except UnicodeDecodeError as problem:
        # YAML may be UTF-16 as well.
        raise UserError(
            f"Nothing can be added to the baseline {path}: this is not UTF-8 text "
            f"(byte {problem.start}).",
            "Save it as UTF-8.",
        ) from problem
    except OSError as problem:
        raise UserError(
            f"The baseline {path} cannot be written: {problem.strerror or problem}."
        ) from problem
    return after


def _is_baseline_of(path: Path, text: str, entries: tuple[Entry, ...]) -> bool:
    # Entries are inserted at positions from the parser, which in braces is no place for them.
    try:
        return parse_baseline(text.encode(), path) == entries
    except UserError:
        return False


def _insert_entries(path: Path, text: str, entries: Sequence[Entry]) -> str:
    """Return the text of a baseline with entries after its last entry."""
    # Dumping the whole document again would lose its comments. Only positions are taken from its
    # nodes.
    try:
        document = yaml.compose(text, yaml.SafeLoader) if text.strip() else None
    except yaml.YAMLError as problem:
        # The C loader, which has read the file, allows more tabs.
        raise _addition_error(path, entries) from problem
    first_end = _LINE_END.search(text)
    line_end = first_end[0] if first_end else "\n"
    if document is None:
        notes = f"{text.rstrip()}{line_end}" if text.strip() else ""
        start = f"version: {VERSION}{line_end}accept:{line_end}"
        return f"{notes}{start}{_dump_entries(entries, 2, line_end)}"
    key, accepted = next(pair for pair in document.value if pair[0].value == "accept")
    if not accepted.value:
        start, end = accepted.start_mark.index, accepted.end_mark.index
        added = _dump_entries(entries, key.start_mark.column + 2, line_end)
        return f"{text[:start].rstrip()}{line_end}{added}{text[end:].lstrip(' ')}"
    # A list in brackets takes no line. Behind an anchor or a tag, the column of the list is not
    # that of its entries.
    if text[accepted.start_mark.index] != "-":
        raise _addition_error(path, entries)
    # PyYAML ends the list after the comments that follow the list, but ends the last scalar before
    # them.
    end = _last_node(accepted).end_mark.index
    # A comment may follow the last scalar on its line.
    if text[end - 1] not in "\r\n":
        last = _LINE_END.search(text, end)
        text += "" if last else line_end
        end = last.end() if last else len(text)
    added = _dump_entries(entries, accepted.start_mark.column, line_end)
    return text[:end] + added + text[end:]


def _last_node(node: yaml.Node) -> yaml.Node:
    while node.value and not isinstance(node, yaml.ScalarNode):
        last = node.value[-1]
        node = last[1] if isinstance(node, yaml.MappingNode) else last
    return node


class _DumperWithoutAliases(yaml.SafeDumper):
    """Repeats a date that entries share, without YAML aliases, because people edit the file."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _dump_entries(entries: Sequence[Entry], indent: int, line_end: str = "\n") -> str:
    text = yaml.dump(
        [entry.model_dump(exclude_defaults=True) for entry in entries],
        Dumper=_DumperWithoutAliases,
        sort_keys=False,
        allow_unicode=True,
        # PyYAML folds lines at 80 columns by default, reasons and addresses too.
        width=float("inf"),
    )
    return textwrap.indent(text, " " * indent).replace("\n", line_end)


def _addition_error(path: Path, entries: Sequence[Entry]) -> UserError:
    return UserError(
        f"Nothing can be added to the baseline {path} in its present form. Add this to its "
        f"`accept` list:\n{_dump_entries(entries, 2)}",
        "Or write `version: 1` and `accept:` on a line each, and the entries below, without "
        "braces, brackets, tabs, anchors and tags.",
    )
