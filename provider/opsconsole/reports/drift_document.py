"""The JSON of a drift report as typed objects: a public, versioned format.

`DriftDocument.model_validate_json(…)` reads what `opsconsole drift --format json` writes. The JSON
Schema in docs/schemas is generated from these models. Within version 1 members are only added, and
readers ignore members that they do not know.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Final, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)
from pydantic.config import JsonDict

from opsconsole.diagnostics import Diagnostic, Severity
from opsconsole.drift.model import Bucket, CheckOutcome, Difference
from opsconsole.errors import Cause
from opsconsole.reports.json_values import cause_json

FORMAT: Final = "opsconsole-drift"
FORMAT_VERSION: Final = "1.3"
NOTIFICATION: Final = "opsconsole-drift-notification"


def _encodable(value: Any) -> Any:
    """Escape lone surrogates, which JSON cannot contain but file names may."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode()
    return value


def _version(value: str) -> str:
    major, _, minor = value.partition(".")
    if major != "1" or not (minor.isascii() and minor.isdigit()):
        raise ValueError("should be a version 1, such as 1.3")
    return value


Text = Annotated[str, BeforeValidator(_encodable)]
Count = Annotated[int, Field(ge=0)]
Percent = Annotated[float, Field(ge=0, le=100)]
_Version = Annotated[
    str,
    AfterValidator(_version),
    WithJsonSchema({"type": "string", "pattern": r"^1\.[0-9]+$"}),
]
_Bucket = Annotated[Bucket, Field(strict=False)]
_Type = Annotated[Text, Field(validation_alias=AliasChoices("type", "type_name"))]


Item = TypeVar("Item")
List = Annotated[list[Item], Field(strict=False)]
"""A list that also accepts a tuple, because the values of a report have tuples."""


class _Part(BaseModel):
    """A part of a document, made from JSON or from a value of the report."""

    model_config = ConfigDict(
        strict=True, extra="ignore", frozen=True, allow_inf_nan=False, from_attributes=True
    )


class Generator(_Part):
    """The program that wrote the report."""

    name: Text
    version: Text


class VerdictDocument(_Part):
    """The outcome of the check."""

    outcome: Annotated[CheckOutcome, Field(strict=False)]
    exit_code: Literal[0, 1, 2, 75] = Field(
        description="0 clean, 1 could not tell, 2 drift, 75 the console was too busy to tell."
    )
    headline: Text
    explanation: Text


class Coverage(_Part):
    """The share of the resources in state that was checked."""

    percent: Percent = Field(description="Resources in state that were checked.")
    attributes_percent: Percent | None = Field(
        default=None, description="Since 1.2: attributes of the resources in state that were seen."
    )
    required_types: List[Text]
    required_percent: Percent = Field(
        description="The same, of the required types only; of all where none is named."
    )
    minimum_percent: Percent = Field(
        description="What `required_percent` must reach, or the check could not tell."
    )


class Summary(_Part):
    """The report in numbers."""

    resources: Count
    buckets: dict[_Bucket, Count] = Field(
        description="Resources in each bucket, accepted ones included.", min_length=len(Bucket)
    )
    drifted: Count = Field(
        description="Resources that count as drift: those that no baseline entry accepts."
    )
    accepted: Count
    coverage: Coverage


class CauseDocument(_Part):
    """The error behind a diagnostic or a finding; unknown members are left out."""

    kind: Text = Field(description="What kind of problem it is, such as `forbidden`.")
    message: Text = Field("", description="What was wrong.")
    operation: Text = Field("", description="The call that met it, such as `POST /api/v1/agents`.")
    status: int | None = Field(None, description="The HTTP status of the answer.")
    code: Text = Field("", description="The code of the error in the answer.")
    request_id: Text = Field("", description="The id by which the console knows the request.")
    details: dict[Text, Any] = Field({}, description="The details of that error.")

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, value: Any) -> Any:
        return cause_json(value) if isinstance(value, Cause) else value


_NULLS: Final[JsonDict] = {"state": {"type": "null"}, "console": {"type": "null"}}


class DifferenceDocument(_Part):
    """One attribute, state and console side by side."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"sensitive": {"const": True}}},
            "then": {"properties": _NULLS},
        }
    )
    attribute: Text
    sensitive: bool
    state: Any = Field(description="The value in state; null where sensitive.")
    console: Any = Field(description="The value on the console; null where sensitive.")
    accepted: Text = Field("", description="Since 1.3: the reason that the baseline gives.")

    @model_validator(mode="before")
    @classmethod
    def _mask_secret(cls, value: Any) -> Any:
        is_secret = isinstance(value, Difference) and value.sensitive
        return replace(value, state=None, console=None) if is_secret else value

    @model_validator(mode="after")
    def _hidden(self) -> Self:
        if self.sensitive and (self.state is not None or self.console is not None):
            raise ValueError("a sensitive value should be null")
        return self


class FindingDocument(_Part):
    """One resource and where it ended."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"bucket": {"const": Bucket.CHANGED.value}}},
            "then": {"properties": {"differences": {"minItems": 1}}},
            "else": {"properties": {"differences": {"maxItems": 0}}},
        }
    )
    stack: Text = Field(description="Name of the stack or state file.")
    address: Text = Field(
        description="Its address; for an unmanaged one the id that the console shows."
    )
    type: _Type = Field(description="Terraform type name.")
    bucket: _Bucket
    id: Text = Field(description="The console's id, or empty.")
    label: Text = Field(description="Its name, key, pattern or plugin.")
    reason: Text = Field(description="Why it is in its bucket, a remark, or empty.")
    accepted: Text = Field(description="The reason that the baseline gives; empty: not accepted.")
    counted: bool = Field(
        description="False for an unmanaged object that is shown and does not count as drift."
    )
    construct_path: Text
    location: Text = Field(description="FILE:LINE of its declaration, or empty.")
    differences: List[DifferenceDocument]
    unobserved: List[Text] = Field(description="Attributes that this check could not see.")
    cause: CauseDocument | None = Field(
        None, description="Since 1.2: the error that made it unchecked, where there is one."
    )
    undecided: bool = Field(
        False,
        description="Since 1.1, with --shard only: unmanaged as far as this shard can tell, so it "
        "does not count before the merge.",
    )
    console: Text = Field(
        "",
        description="Since 1.1, beside `undecided`: which console it is on, as in `shard.managed`.",
    )
    new: List[Text] | None = Field(
        None,
        description="Since 1.3, of drift, with --since only: the attributes whose drift is new, or "
        "the bucket. Empty: all of it is still open.",
    )

    @model_validator(mode="after")
    def _differs_where_it_changed(self) -> Self:
        if bool(self.differences) is not (self.bucket is Bucket.CHANGED):
            raise ValueError("differences go with the bucket changed, and with no other")
        return self


class BaselineProblemDocument(_Part):
    """An entry of the baseline that is expired or matched nothing."""

    entry: Text
    problem: Text


class DiagnosticDocument(_Part):
    """What could not be checked, and why."""

    severity: Annotated[Severity, Field(strict=False)]
    summary: Text
    detail: Text
    path: List[Text | int]
    addresses: List[Text] = Field(
        (),  # type: ignore[arg-type]  # an empty list is written: it must not equal the default
        description="Since 1.2: the resources that it is about, each as `STACK: ADDRESS`.",
    )
    cause: CauseDocument | None = Field(
        None, description="Since 1.2: the error behind it, where there is one."
    )

    @model_validator(mode="before")
    @classmethod
    def _from_diagnostic(cls, value: Any) -> Any:
        return replace(value, detail=value.text) if isinstance(value, Diagnostic) else value


class ShardDocument(_Part):
    """Which share of the stacks a report is of, and what merging it with the others needs."""

    number: int = Field(ge=1)
    count: int = Field(ge=1)
    managed: List[Annotated[List[Text], Field(min_length=3, max_length=3)]] = Field(
        description="What its states manage: a digest of the console's address (empty: not "
        "known), the type, and the id."
    )
    baseline_unused: List[Text] = Field(
        description="Entries of the baseline that nothing of this shard matched."
    )
    stacks: Count
    stacks_without_state: Count


class ScopeDocument(_Part):
    """The scope of the check, for the merge of shards."""

    stacks: List[Text] = Field(description="The stacks whose states were read.")
    listed: List[Text] = Field(
        description="The types whose unmanaged objects count, if every list was read to its end."
    )


class DriftEntryDocument(_Part):
    """Drift of one resource that is new, resolved or open since an earlier report."""

    stack: Text
    address: Text
    type: _Type
    label: Text
    what: List[Text] = Field(description="The attributes that differ, or the bucket that it is in.")
    seen: bool = Field(True, description="False: it was open, and this check could not see it.")


class ComparisonDocument(_Part):
    """What changed since an earlier report."""

    checked_at: Text = Field(description="When that check ended; empty: there is none.")
    new: List[DriftEntryDocument]
    resolved: List[DriftEntryDocument]
    open: List[DriftEntryDocument]


class DriftDocument(_Part):
    """What `opsconsole drift --format json` writes."""

    format: Literal["opsconsole-drift"]
    format_version: _Version = Field(
        description="Major and minor: a new minor adds members, a new major may change them."
    )
    generator: Generator
    checked_at: Text = Field(description="When, ISO 8601 UTC.")
    seconds: float = Field(ge=0, description="How long the check took.")
    read_only: bool = Field(description="Whether nothing but GET was sent.")
    method: Text = Field(description="How hosts were read, one sentence for each method.")
    verdict: VerdictDocument
    summary: Summary
    findings: List[FindingDocument] = Field(description="One for each resource.")
    baseline: List[BaselineProblemDocument]
    diagnostics: List[DiagnosticDocument]
    calls: dict[Text, Count] = Field(description="Requests sent, by operation.")
    shard: ShardDocument | None = Field(None, description="Since 1.1, with --shard only.")
    scope: ScopeDocument | None = Field(None, description="Since 1.3.")
    since: ComparisonDocument | None = Field(None, description="Since 1.3, with --since only.")


class Counts(_Part):
    """How many resources there are in each list."""

    new: Count
    resolved: Count
    open: Count


class NotificationDocument(_Part):
    """What `opsconsole drift --notify` sends as JSON."""

    format: Literal["opsconsole-drift-notification"]
    format_version: _Version = Field(description="Major and minor, as in the report.")
    checked_at: Text = Field(description="When, ISO 8601 UTC.")
    verdict: VerdictDocument
    counts: Counts
    since: ComparisonDocument = Field(description="At most 100 resources a list.")
