"""The bodies whose shape the document fixes: error, list envelope, import result, delete result.

Imported when a call first needs one, as pydantic takes a while to load. Types are JSON's
own: no text is read as a number. A documented constant may be absent. A member that the run does
not need counts as absent if it has another type, so that one odd member hides no other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from opsconsole.document_models import JsonInteger
from opsconsole.errors import ErrorAnswer
from opsconsole.text import shorten
from opsconsole.v1.answers import WrongShape
from opsconsole.v1.operations import can_be_id

_MAX_TEXT_LENGTH = 2000
"""Characters of one text, or of one detail as JSON, that is kept: each resource may have its own
error."""
_MAX_ENTRIES = 50
"""Single fields, and details, that an error keeps."""


def _lenient(default: Any) -> WrapValidator:
    def read(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
        try:
            return validate(value)
        except ValidationError:
            return default

    return WrapValidator(read)


def _each(kind: Any) -> BeforeValidator:
    """Leave out the members of a list or an object that are not of `kind`."""
    adapter: TypeAdapter[Any] = TypeAdapter(kind)

    def fits(value: Any) -> bool:
        try:
            adapter.validate_python(value, strict=True)
        except ValidationError:
            return False
        return True

    def keep(values: Any) -> Any:
        if isinstance(values, dict):
            return {name: value for name, value in values.items() if fits(value)}
        return [value for value in values if fits(value)] if isinstance(values, list) else values

    return BeforeValidator(keep)


def _short(details: dict[str, Any]) -> dict[str, Any]:
    items = (item for item in details.items() if len(json.dumps(item)) <= _MAX_TEXT_LENGTH)
    return dict(islice(items, _MAX_ENTRIES))


def _usable(value: str) -> str:
    if not can_be_id(value):
        raise ValueError("no usable id")
    return value


def _with_id(entry: dict[str, Any]) -> dict[str, Any]:
    if not can_be_id(entry.get("id")):
        raise ValueError("an entry that has no usable id")
    return entry


_OrNone = _lenient(None)
_Integer = Annotated[int, JsonInteger]
_SHORTEN = AfterValidator(partial(shorten, most=_MAX_TEXT_LENGTH))
_Text = Annotated[str, _SHORTEN]
_Word = Annotated[str, StringConstraints(min_length=1), _SHORTEN]
_Id = Annotated[str, AfterValidator(_usable)]


class AnswerBody(BaseModel):
    """One of the bodies; `title` is the document's word for it."""

    model_config = ConfigDict(strict=True, frozen=True)
    title: ClassVar[str]

    @classmethod
    def read(cls, answer: Mapping[str, Any]) -> Self:
        """Return an answer as this body; raise WrongShape if it is another one."""
        try:
            return cls.model_validate(answer)
        except ValidationError as error:
            [problem, *_] = error.errors()
        # Raised outside of `except`: the error holds the answer.
        place = ".".join(map(str, problem["loc"]))
        raise WrongShape(f"no {cls.title} ({place}: {problem['msg']})")


class FieldError(AnswerBody):
    """The problem of one input."""

    title = "field error"
    field: _Word
    message: _Word


class ErrorBody(AnswerBody):
    """Error. The message may be empty. Everything but code and message may be absent."""

    title = "error"
    code: _Word
    message: _Text
    request_id: Annotated[_Text, _lenient("")] = ""
    field: Annotated[_Word | None, _OrNone] = None
    errors: Annotated[list[FieldError], _each(FieldError), _lenient([])] = []
    details: Annotated[dict[str, Any], AfterValidator(_short), _lenient({})] = {}

    def error_answer(self, status: int) -> ErrorAnswer:
        errors = tuple((one.field, one.message) for one in self.errors[:_MAX_ENTRIES])
        return ErrorAnswer(
            status, self.code, self.message, self.request_id, self.field, errors, self.details
        )


class ListEnvelope(AnswerBody):
    """List envelope. A member that is null counts as absent."""

    title = "list envelope"
    object: Literal["list"] = "list"
    data: list[Annotated[dict[str, Any], AfterValidator(_with_id)]]
    has_more: bool | None = None
    total_count: _Integer | None = None


class RowResult(AnswerBody):
    """The verdict on one row of an import; an absent or unusable member is None."""

    title = "verdict"
    index: Annotated[_Integer | None, _OrNone] = None
    status: Annotated[_Text | None, _OrNone] = None
    id: Annotated[_Id | None, _OrNone] = None
    error: Annotated[_Text | None, _OrNone] = None


class ImportResult(AnswerBody):
    """ImportResult.

    Attributes:
        dry_run: Only `True` means that nothing was imported.
        stopped: Whether the console stopped at a row that failed.
        counts: `created`, `updated`, `skipped` and `failed`, if the answer has them.
        results: The verdicts in the order of the answer. The base of their `index`, and whether
            rows after a stop are listed, are not shown.
    """

    title = "import result"
    object: Literal["import_result"] = "import_result"
    dry_run: Annotated[bool, _lenient(False)] = False
    stopped: Annotated[bool, _lenient(False)] = False
    counts: Annotated[dict[str, _Integer], _each(_Integer), _lenient({})] = {}
    results: list[RowResult]


class DeleteResult(AnswerBody):
    """Delete results. An extra endpoint may answer with the resource, which has no `deleted`."""

    title = "delete result"
    id: _Id
    deleted: bool | None = None
    rerouted_hosts: Annotated[list[str], _each(str), _lenient([])] = []
