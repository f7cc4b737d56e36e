"""The baseline of accepted drift: reading it, and applying it to findings. Plans never see it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

import yaml

from opsconsole.drift.report import BaselineProblem, Bucket, Difference, Finding
from opsconsole.errors import UserError

FILE_NAME: Final = ".opsconsole-drift.yml"
VERSION: Final = 1
MAX_BYTES: Final = 2**20
MAX_DEPTH: Final = 100
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_MEMBERS = ("stack", "address", "attribute", "bucket", "reason", "expires")
_BUCKETS = tuple(bucket.value for bucket in Bucket if bucket.is_drift)
_REMEDY = (
    "The file holds `version: 1` and a list `accept`. An entry holds `address` and `reason`, "
    "and may hold `attribute`, `bucket`, `stack` and `expires` (YYYY-MM-DD)."
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: what it accepts, why, and until when.

    Attributes:
        address: An address, or a pattern in which `*` stands for any text and `?` for one letter.
        reason: Why the drift is accepted.
        attribute: The attribute whose difference is accepted; `*` is any; empty: not only
            differences are accepted.
        bucket: The only bucket that is accepted; empty: any.
        stack: The stack's name, or a pattern; empty: any.
        expires: The last day on which the entry counts (UTC); None: it does not expire.
    """

    address: str
    reason: str
    attribute: str = ""
    bucket: str = ""
    stack: str = ""
    expires: date | None = None

    def __str__(self) -> str:
        parts = [f"{self.stack}: {self.address}" if self.stack else self.address]
        parts += [part for part in (self.attribute, self.bucket) if part]
        return ", ".join(parts)

    def names(self, finding: Finding) -> bool:
        """Tell whether it speaks of this resource."""
        return fits(self.address, finding.address) and (
            not self.stack or fits(self.stack, finding.stack)
        )

    def accepts(self, finding: Finding, difference: Difference | None) -> bool:
        """Tell whether it accepts one difference of a resource, or, with None, its bucket."""
        if not self.names(finding) or self.bucket not in ("", finding.bucket.value):
            return False
        if not self.attribute:
            return True
        return difference is not None and self.attribute in ("*", difference.attribute)


def fits(pattern: str, text: str) -> bool:
    """Tell whether `text` is `pattern`, in which only `*` and `?` are special.

    Brackets are not: addresses hold them.
    """
    if pattern == text:
        return True
    if "*" not in pattern and "?" not in pattern:
        return False
    parts = re.split(r"([*?])", pattern)
    expression = "".join({"*": ".*", "?": "."}.get(part, re.escape(part)) for part in parts)
    return re.fullmatch(expression, text, re.DOTALL) is not None


@dataclass(frozen=True)
class Baseline:
    """The entries of one file."""

    entries: tuple[Entry, ...] = ()
    source: str = ""

    def applied(
        self,
        findings: Sequence[Finding],
        today: date,
        *,
        certain: bool = True,
        listed: bool = True,
    ) -> tuple[list[Finding], tuple[BaselineProblem, ...]]:
        """Return the findings with what is accepted marked, and the entries to look at.

        Args:
            today: The day of the check, UTC.
            certain: Whether every state was read: else nothing is called unused.
            listed: Whether every list was read to its end: else what accepts unmanaged objects is
                not called unused.
        """
        judge = _Judge([entry for entry in self.entries if not _expired(entry, today)])
        marked = [judge.marked(finding) for finding in findings]
        problems = []
        for entry in self.entries:
            if _expired(entry, today):
                problems.append(BaselineProblem(str(entry), f"expired on {entry.expires}"))
            elif entry not in judge.used and certain and not _untold(entry, findings, listed):
                problems.append(BaselineProblem(str(entry), "unused: there is no such drift"))
        return marked, tuple(problems)


@dataclass
class _Judge:
    entries: Sequence[Entry]
    used: set[Entry] = field(default_factory=set)

    def marked(self, finding: Finding) -> Finding:
        """Return a finding, accepted if every part of its drift is."""
        if not finding.bucket.is_drift or not finding.counted:
            return finding
        if finding.bucket is not Bucket.CHANGED:
            entry = self._accepting(finding, None)
            return replace(finding, accepted=entry.reason) if entry else finding
        found = [(item, self._accepting(finding, item)) for item in finding.differences]
        reasons = dict.fromkeys(entry.reason for _, entry in found if entry)
        if all(entry for _, entry in found):
            return replace(finding, accepted="; ".join(reasons))
        partly = [f"{item.attribute} ({entry.reason})" for item, entry in found if entry]
        return replace(finding, reason=f"accepted: {', '.join(partly)}") if partly else finding

    def _accepting(self, finding: Finding, difference: Difference | None) -> Entry | None:
        found = [entry for entry in self.entries if entry.accepts(finding, difference)]
        self.used.update(found)
        return found[0] if found else None


def _expired(entry: Entry, today: date) -> bool:
    return entry.expires is not None and entry.expires < today


def _untold(entry: Entry, findings: Iterable[Finding], listed: bool) -> bool:
    """Tell whether what an entry speaks of was not seen, so that it may be in use."""
    named = [finding for finding in findings if entry.names(finding)]
    if not named and not listed:
        return entry.bucket in ("", Bucket.UNMANAGED.value) and not entry.attribute
    return any(finding.bucket is Bucket.UNCHECKED or finding.unobserved for finding in named)


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        UserError: It cannot be read, or an entry is not of the documented form.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise _wrong(path, f"it has more than {MAX_BYTES:,} bytes")
        if _depth_exceeds(data, MAX_DEPTH):
            raise _wrong(path, "it is nested too deeply")
        document = yaml.load(data, _Loader)  # a subclass of the safe loader
    except OSError as problem:
        raise UserError(
            f"The baseline {path} cannot be read: {problem.strerror or problem}."
        ) from problem
    except RecursionError as problem:
        raise _wrong(path, "it is nested too deeply") from problem
    except (yaml.YAMLError, ValueError) as problem:
        text = " ".join(str(problem).split())
        raise UserError(f"The baseline {path} is not YAML: {text}.") from problem
    if document is None:
        return Baseline(source=str(path))
    if not isinstance(document, dict) or set(document) - {"version", "accept"}:
        raise _wrong(path, "it holds something else than `version` and `accept`")
    if document.get("version") != VERSION or isinstance(document["version"], bool):
        raise _wrong(path, f"its `version` is not {VERSION}")
    accept = document.get("accept")
    if not isinstance(accept, list):
        raise _wrong(path, "`accept` is no list")
    entries = tuple(_entry(path, number, item) for number, item in enumerate(accept, 1))
    return Baseline(entries, str(path))


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML without what would make a file mean something else than it shows.

    A key that is there twice would silently lose its first value; merge keys can grow without
    bound.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [item.value for item, _ in node.value if isinstance(item, yaml.ScalarNode)]
        if "<<" in names:
            raise yaml.YAMLError("merge keys (<<) are not read")
        twice = next((name for name, count in Counter(names).items() if count > 1), None)
        if twice is not None:
            line = node.start_mark.line + 1
            raise yaml.YAMLError(f'line {line}: the key "{twice}" is declared twice')
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        return found


def _depth_exceeds(data: bytes, limit: int) -> bool:
    """Tell whether YAML is nested beyond `limit`; reads no further than it must to know.

    The loader in C calls itself for each level without a bound, and ends the process when the
    stack is full. Its events need no stack.
    """
    depth = 0
    for event in yaml.parse(data, _Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > limit:
            return True
    return False


def _wrong(path: Path, why: str) -> UserError:
    return UserError(f"The baseline {path} is not as it should be: {why}.", _REMEDY)


def _entry(path: Path, number: int, item: Any) -> Entry:
    where = f"entry {number}"
    if not isinstance(item, dict):
        raise _wrong(path, f"{where} is no mapping")
    unknown = [str(name) for name in item if name not in _MEMBERS]
    if unknown:
        raise _wrong(path, f"{where} has no member {', '.join(unknown)}")
    texts = {name: item.get(name, "") for name in _MEMBERS if name != "expires"}
    for name, value in texts.items():
        if not isinstance(value, str) or (name in item and not value.strip()):
            raise _wrong(path, f"{name} of {where} is no text")
    for name in ("address", "reason"):
        if not texts[name]:
            raise _wrong(path, f"{where} has no {name}")
    if texts["bucket"] and texts["bucket"] not in _BUCKETS:
        raise _wrong(path, f"bucket of {where} is none of {', '.join(_BUCKETS)}")
    if texts["attribute"] and texts["bucket"] not in ("", Bucket.CHANGED.value):
        raise _wrong(path, f"{where} names an attribute and the bucket {texts['bucket']}")
    return Entry(**texts, expires=_day(path, where, item["expires"]) if "expires" in item else None)


def _day(path: Path, where: str, value: Any) -> date | None:
    if isinstance(value, str) and _DAY.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            value = None
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    raise _wrong(path, f"expires of {where} is no date such as 2026-12-31")
