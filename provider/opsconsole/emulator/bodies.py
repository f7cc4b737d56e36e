"""Bodies of requests by a profile, bodies of the control side, and the refusals of both."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import Annotated, Any, Literal, NoReturn, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model

from opsconsole.document_models import what_is_wrong
from opsconsole.emulator.document import CONNECT_FIELDS, FIELDS, ONLY_AT_CREATION, NonEmpty, Strings
from opsconsole.emulator.profiles import Profile

Read = TypeVar("Read")


class BadBody(Exception):
    """A control body of the wrong shape, with the position, the expected and the actual value."""


class Body(BaseModel):
    """A control body: numbers are not booleans, and unknown members are refused."""

    model_config = ConfigDict(strict=True, extra="forbid")


def read(what: str, validate: Callable[[Any], Read], value: Any) -> Read:
    """Return the result of `validate`, a model's method, on `value`; `what` is for errors."""
    try:
        return validate(value)
    except ValidationError as problem:
        raise BadBody(f"{what}: {what_is_wrong(problem)}") from None


def with_switches(profile: Profile, values: Mapping[str, Any]) -> Profile:
    """Return the profile with some switches set to JSON values; mistakes raise BadBody."""
    return read("switches", profile.with_values, values)


def json_body(content: bytes, *, required: bool = True) -> dict[str, Any]:
    """Read a JSON object; 400 BAD_REQUEST for anything else. No body means an empty object."""
    if not content and not required:
        return {}
    try:
        value = _decode(content.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as failure:
        raise bad_request("the body is not JSON") from failure
    if type(value) is not dict:
        raise bad_request("the body must be a JSON object")
    return value


# Python's decoder accepts NaN and Infinity, which are not JSON.
def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decode = json.JSONDecoder(parse_constant=_no_constant).decode


# A model takes milliseconds to make, and tests make many consoles.
@cache
def _model_of(kinds: tuple[tuple[str, Any], ...], unknown: str, *, nulls: bool) -> type[BaseModel]:
    """Return the model of a body."""
    extra: Literal["ignore", "forbid"] = "ignore" if unknown == "ignored" else "forbid"
    members: dict[str, Any] = {name: (kind | None if nulls else kind, None) for name, kind in kinds}
    config = ConfigDict(strict=True, extra=extra, title="body")
    return create_model("Body", __config__=config, **members)


# Two annotations of one bound are not equal, so `_model_of` would make a model for each.
@cache
def _bound_length(kind: Any, least: int, most: int | None = None) -> Any:
    return Annotated[kind, Field(min_length=least, max_length=most)]


class Fields:
    """The fields that the body of one operation may contain, on one console.

    Args:
        kinds: The type of each field.
        unknown: Whether other fields are `ignored` or `refused`.
        nulls: Whether null is allowed for every field.
    """

    def __init__(self, kinds: Mapping[str, Any], unknown: str, *, nulls: bool) -> None:
        self._model = _model_of(tuple(kinds.items()), unknown, nulls=nulls)

    def read(self, given: Mapping[str, Any], *, required: Iterable[str] = ()) -> dict[str, Any]:
        """Return the known fields that are given; 400 VALIDATION_FAILED for any other."""
        absent = [name for name in required if given.get(name) is None]
        try:
            held = self._model.model_validate(given)
        except ValidationError as problem:
            errors = self._errors(given, problem)
        else:
            errors = {}
            if not absent:
                read, sent = held.__dict__, held.model_fields_set
                return {name: read[name] for name in given if name in sent}
        # A required field that is null would be reported twice.
        errors = {name: text for name, text in errors.items() if name not in absent}
        raise invalid([*errors.items(), *((name, "is required") for name in absent)])

    def _errors(self, given: Mapping[str, Any], problem: ValidationError) -> dict[str, str]:
        """Return the first problem of each field, in the order of the body."""
        messages: dict[str, str] = {}
        for item in problem.errors(include_url=False, include_input=False, include_context=False):
            messages.setdefault(str(item["loc"][0]), item["msg"].replace("Input should", "should"))
        return {name: messages[name] for name in given if name in messages}


class Bodies:
    """The request bodies that a console of one profile accepts."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def _fields(self, kinds: Mapping[str, Any], *, nulls: bool | None = None) -> Fields:
        if nulls is None:
            nulls = self._profile.nulls == "clear"
        return Fields(kinds, self._profile.unknown_fields, nulls=nulls)

    @cached_property
    def _host(self) -> dict[str, Any]:
        kinds = _settable("host")
        for name in self._profile.strings_to_255:
            kinds[name] = _bound_length(str, 1, 255)
        for name, most in self._profile.array_bounds.items():
            kinds[name] = _bound_length(kinds[name], 0, most)
        return kinds

    @cached_property
    def host_row(self) -> Fields:
        """A row of the bulk import."""
        return self._fields(self._host, nulls=True)

    @cached_property
    def host_update(self) -> Fields:
        """The update of a host, without the fields that only a creation sets."""
        kinds = {name: kind for name, kind in self._host.items() if name not in ONLY_AT_CREATION}
        if self._profile.connect_fields == "refused":
            kinds |= dict.fromkeys(CONNECT_FIELDS, Fixed)
        return self._fields(kinds)

    @cached_property
    def _agent(self) -> dict[str, Any]:
        kinds = {**_settable("agent"), "plugin_ids": Strings}
        for name in self._profile.agent_at_least_1:
            kinds[name] = NonEmpty
        kinds[self._profile.agent_1_to_100] = _bound_length(str, 1, 100)
        return kinds

    @cached_property
    def agent_create(self) -> Fields:
        """The creation of an agent; null means the same as an absent field."""
        return self._fields(self._agent, nulls=True)

    @cached_property
    def agent_update(self) -> Fields:
        """The update of an agent."""
        return self._fields(self._agent)

    @cached_property
    def attachment(self) -> Fields:
        """The plugin to attach."""
        return self._fields({"plugin_id": NonEmpty})

    def of(self, kind: str, *, nulls: bool | None = None) -> Fields:
        """The fields of a kind of object that only its type bounds."""
        return self._fields(_settable(kind), nulls=nulls)


def _refuse(_value: Any) -> NoReturn:
    raise ValueError("cannot be changed")


Fixed = Annotated[Any, BeforeValidator(_refuse)]


def _settable(kind: str) -> dict[str, Any]:
    return {name: held for name, held in FIELDS[kind].items() if held is not None}


class Refusal(Exception):
    """A refused request, in the terms of the document's Errors part.

    `field` is set when one input is at fault, `errors` when several are.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        field: str | None = None,
        errors: Sequence[tuple[str, str]] = (),
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field
        self.errors = errors
        self.details = details

    @property
    def explanation(self) -> str:
        """The mistakes, in one line."""
        return "; ".join(f"{name} {text}" for name, text in self.errors) or self.message

    def body(self, request_id: str) -> dict[str, Any]:
        """Return the error body without empty members."""
        body: dict[str, Any] = {
            "code": self.code,
            "message": self.message,
            "request_id": request_id,
        }
        if self.field is not None:
            body["field"] = self.field
        if self.errors:
            body["errors"] = [{"field": name, "message": text} for name, text in self.errors]
        if self.details is not None:
            body["details"] = self.details
        return body


def bad_request(message: str, field: str | None = None) -> Refusal:
    """400: the body, or a parameter, cannot be read."""
    return Refusal(400, "BAD_REQUEST", message, field)


def invalid(errors: Sequence[tuple[str, str]]) -> Refusal:
    """400: one or several inputs are missing, malformed, or not allowed."""
    if len(errors) == 1:
        name, text = errors[0]
        return Refusal(400, "VALIDATION_FAILED", f"{name} {text}", name)
    return Refusal(400, "VALIDATION_FAILED", f"{len(errors)} fields are at fault", None, errors)


def unauthorized(message: str) -> Refusal:
    """401: no credentials, or the key is invalid, revoked or expired."""
    return Refusal(401, "UNAUTHORIZED", message)


def not_found(what: str, row_id: str) -> Refusal:
    """404: the caller can see no such row."""
    return Refusal(404, "NOT_FOUND", f"no {what} {row_id}")


def license_cap() -> Refusal:
    """403: the license allows no more objects."""
    return Refusal(403, "LICENSE_CAP_REACHED", "the license allows no more hosts or agents")


def conflict(message: str, details: dict[str, Any] | None = None) -> Refusal:
    """409. The document does not show the name of its code."""
    return Refusal(409, "CONFLICT", message, details=details)
