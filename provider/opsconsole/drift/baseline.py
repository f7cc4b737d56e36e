"""The baseline of accepted drift: reading it, and applying it to findings. Plans never see it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Self

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from opsconsole.document_models import STRICT, JsonInteger, describe_errors
from opsconsole.drift.model import UNUSED, BaselineProblem, Bucket, Difference, Finding
from opsconsole.errors import UserError
from opsconsole.resources import RESOURCES, resource_of_id
from opsconsole.yaml_loader import MERGE, Loader

VERSION: Final = 1
MAX_BYTES: Final = 2**20
_MAX_DIGITS: Final = 100
_DAY: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_BUCKETS: Final = tuple(bucket.value for bucket in Bucket if bucket.is_drift)
_REMEDY = (
    "The file holds `version: 1` and a list `accept`. An entry holds `address` and `reason`, and "
    "may hold `attribute`, `bucket`, `stack` and `expires` (YYYY-MM-DD)."
)


def _check_bucket(value: str) -> str:
    if value not in _BUCKETS:
        raise ValueError(f"should be one of {', '.join(_BUCKETS)}")
    return value


def _read_day(value: Any) -> date:
    if isinstance(value, str) and re.fullmatch(_DAY, value):
        # A day that does not exist stays a text, which is refused below.
        with suppress(ValueError):
            value = date.fromisoformat(value)
    # YAML reads an unquoted day as a date and an unquoted time as a datetime, a subclass of date.
    if not isinstance(value, date) or isinstance(value, datetime):
        raise ValueError("should be a date such as 2026-12-31")
    return value


def _check_version(value: int) -> int:
    if value != VERSION:
        raise ValueError(f"should be {VERSION}")
    return value


def _check_not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("should not be blank")
    return value


_Version = Annotated[
    int,
    JsonInteger,
    AfterValidator(_check_version),
    WithJsonSchema({"type": "integer", "const": VERSION}),
]
_Text = Annotated[
    str, AfterValidator(_check_not_blank), WithJsonSchema({"type": "string", "pattern": r"\S"})
]
_DriftBucket = Annotated[str, AfterValidator(_check_bucket), WithJsonSchema({"enum": [*_BUCKETS]})]
_DAY_SCHEMA: Final = {"type": "string", "format": "date", "pattern": f"^{_DAY}$"}
_Day = Annotated[date, BeforeValidator(_read_day), WithJsonSchema(_DAY_SCHEMA)]


class Entry(BaseModel):
    """One entry: the accepted drift, the reason, and the date of expiry."""

    model_config = ConfigDict(
        **STRICT,
        json_schema_extra={
            "if": {"required": ["attribute"]},
            "then": {"properties": {"bucket": {"const": Bucket.CHANGED.value}}},
        },
    )

    # `--accept` writes the members in this order.
    stack: Annotated[
        _Text, Field(description="Only in this stack; `*` and `?` as in `address`.")
    ] = ""
    address: Annotated[
        _Text,
        Field(
            description="Address of a resource, or the id that the report shows for an unmanaged "
            "one; `*` stands for any text, `?` for one letter, brackets for themselves."
        ),
    ]
    attribute: Annotated[
        _Text,
        Field(
            description="Only a difference of this attribute is accepted; `*`: of any. Left out: "
            "any drift of the resource."
        ),
    ] = ""
    bucket: Annotated[
        _DriftBucket, Field(description="Only this bucket is accepted. Left out: any.")
    ] = ""
    reason: Annotated[_Text, Field(description="Why it is accepted; reports show it.")]
    expires: Annotated[
        _Day,
        Field(
            description="The last day, UTC, on which the entry counts, such as 2026-12-31. Left "
            "out: it does not expire."
        ),
    ] = date.max

    @model_validator(mode="after")
    def _attributes_of_what_changed(self) -> Self:
        if self.attribute and self.bucket not in ("", Bucket.CHANGED.value):
            raise ValueError(f"an attribute goes with the bucket changed, not {self.bucket}")
        return self

    def __str__(self) -> str:
        parts = [f"{self.stack}: {self.address}" if self.stack else self.address]
        parts += [part for part in (self.attribute, self.bucket) if part]
        return ", ".join(parts)

    def is_about(self, finding: Finding) -> bool:
        return fits(self.address, finding.address) and (
            not self.stack or fits(self.stack, finding.stack)
        )

    def accepts(self, finding: Finding, difference: Difference | None) -> bool:
        """Return whether the entry accepts a difference of a resource; with None, its bucket."""
        if not self.is_about(finding) or self.bucket not in ("", finding.bucket.value):
            return False
        if not self.attribute:
            return True
        return difference is not None and self.attribute in ("*", difference.attribute)


def fits(pattern: str, text: str) -> bool:
    """Return whether `text` matches `pattern`, in which only `*` and `?` are special."""
    if pattern == text:
        return True
    if "*" not in pattern and "?" not in pattern:
        return False
    # fnmatch would read the brackets of an address as a set of letters.
    parts = [".".join(map(re.escape, part.split("?"))) for part in re.split(r"\*+", pattern)]
    if len(parts) == 1:
        return re.fullmatch(parts[0], text, re.DOTALL) is not None
    # A part between stars is taken where it comes first. To try its later places too, for every
    # part, would take exponential time.
    between = "".join(f"(?>.*?{part})" for part in parts[1:-1])
    return re.fullmatch(f"{parts[0]}{between}.*{parts[-1]}", text, re.DOTALL) is not None


def apply_baseline(
    entries: Sequence[Entry],
    findings: Sequence[Finding],
    today: date,
    *,
    certain: bool = True,
    listed: bool = True,
    counted: Collection[str] = tuple(RESOURCES),
) -> tuple[list[Finding], tuple[BaselineProblem, ...]]:
    """Mark the accepted findings; return all findings, and the entries with problems.

    Args:
        today: The day of the check, UTC.
        certain: Whether every state was read, of all stacks. Otherwise no entry is reported as
            unused.
        listed: Whether every list was read to its end. Otherwise no entry that accepts unmanaged
            objects is reported as unused.
        counted: The types whose unmanaged objects count. An entry with the id of an object of
            another type is not reported as unused.
    """
    valid = [entry for entry in entries if entry.expires >= today]
    used: set[Entry] = set()

    def find_entry(finding: Finding, difference: Difference | None) -> Entry | None:
        matching = [entry for entry in valid if entry.accepts(finding, difference)]
        # All matching entries are in use, not only the first one, whose reason is shown.
        used.update(matching)
        return matching[0] if matching else None

    marked = [_mark(finding, find_entry) for finding in findings]
    problems = []
    for entry in entries:
        if entry.expires < today:
            problems.append(BaselineProblem(str(entry), f"expired on {entry.expires}"))
        elif entry not in used and certain and not _may_be_in_use(entry, findings, listed, counted):
            problems.append(BaselineProblem(str(entry), UNUSED))
    return marked, tuple(problems)


def _mark(
    finding: Finding, find_entry: Callable[[Finding, Difference | None], Entry | None]
) -> Finding:
    """Mark a finding as accepted if every part of its drift is accepted."""
    if not finding.bucket.is_drift or not finding.counted:
        return finding
    if finding.bucket is not Bucket.CHANGED:
        entry = find_entry(finding, None)
        return replace(finding, accepted=entry.reason) if entry else finding
    verdicts = [(item, find_entry(finding, item)) for item in finding.differences]
    differences = tuple(
        replace(item, accepted=entry.reason if entry else "") for item, entry in verdicts
    )
    accepted = [item for item in differences if item.accepted]
    if len(accepted) == len(differences):
        # An earlier baseline may have accepted a part of it.
        reasons = "; ".join(dict.fromkeys(item.accepted for item in accepted))
        return replace(finding, accepted=reasons, reason="", differences=differences)
    if not accepted:
        return finding
    partly = ", ".join(f"{item.attribute} ({item.accepted})" for item in accepted)
    return replace(finding, reason=f"accepted: {partly}", differences=differences)


def _may_be_in_use(
    entry: Entry, findings: Iterable[Finding], listed: bool, counted: Collection[str]
) -> bool:
    """Return whether an entry may be in use because its objects were not seen, or do not count."""
    named = [finding for finding in findings if entry.is_about(finding)]
    beside = entry.bucket in ("", Bucket.UNMANAGED.value) and not entry.attribute
    definition = resource_of_id(entry.address)
    listed = listed and (definition is None or definition.type_name in counted)
    # An unmanaged object that a cut list does not show has no finding, nor has one whose list was
    # not read.
    if beside and not listed and all(finding.address != entry.address for finding in named):
        return True
    return any(
        finding.bucket is Bucket.UNCHECKED or finding.unobserved or not finding.counted
        for finding in named
    )


class BaselineFile(BaseModel):
    """The content of the file."""

    model_config = STRICT
    version: _Version
    accept: Annotated[tuple[Entry, ...], Field(strict=False)]


def read_baseline(path: Path) -> tuple[Entry, ...]:
    """Read the entries of a baseline; raise UserError if it is unreadable or malformed."""
    try:
        with path.open("rb") as file:
            # One more byte is enough to show that a file is too long.
            return parse_baseline(file.read(MAX_BYTES + 1), path)
    except OSError as problem:
        raise UserError(
            f"The baseline {path} cannot be read: {problem.strerror or problem}."
        ) from problem


def parse_baseline(data: bytes, path: Path) -> tuple[Entry, ...]:
    """Return the entries in a baseline's content; raise UserError, naming `path`, if malformed."""
    try:
        if len(data) > MAX_BYTES:
            raise _refuse(path, f"it has more than {MAX_BYTES:,} bytes")
        loader = _Loader(data)
        node = loader.get_single_node()
        # Nothing but comments; `null` is a node, though it is no baseline.
        if node is None:
            return ()
        document = loader.construct_document(node)
    except RecursionError:
        raise _refuse(path, "it is nested too deeply") from None
    except (yaml.YAMLError, ValueError) as problem:
        # PyYAML does not catch the ValueError of a date that does not exist.
        text = " ".join(str(problem).split())
        raise UserError(f"The baseline {path} is not YAML: {text}.") from problem
    try:
        return BaselineFile.model_validate(document).accept
    except ValidationError as problem:
        raise _refuse(path, describe_errors(problem)) from None


class _Loader(Loader):
    """A loader without features that hide the meaning of a file."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        # Python refuses to convert more than a few thousand digits, and is slow for fewer.
        is_number = node.tag == "tag:yaml.org,2002:int"
        if is_number and isinstance(node, yaml.ScalarNode) and len(node.value) > _MAX_DIGITS:
            line = node.start_mark.line + 1
            raise yaml.YAMLError(f"line {line}: a number of more than {_MAX_DIGITS} digits")
        return super().construct_object(node, deep)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        # Merge keys of merge keys can grow without bound.
        if any(key.tag == MERGE for key, _ in node.value):
            raise yaml.YAMLError("merge keys (<<) are not read")
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


def _refuse(path: Path, why: str) -> UserError:
    return UserError(f"{path} is not a baseline of accepted drift: {why}.", _REMEDY)
