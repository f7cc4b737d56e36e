"""The bodies of requests by a profile and of the control side, and the refusals of both."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, NoReturn, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model

from opsconsole.document_models import describe_errors
from opsconsole.emulator.document import CONNECT_FIELDS, FIELDS, ONLY_AT_CREATION, NonEmpty, Strings
from opsconsole.emulator.profiles import Profile

Read = TypeVar("Read")


class BadBody(Exception):
    """A control body of the wrong shape; names position, expected and actual value."""


class ControlBody(BaseModel):
    """A control body: numbers are not booleans, and unknown members are refused."""

    model_config = ConfigDict(strict=True, extra="forbid")


def read(what: str, validate: Callable[[Any], Read], value: Any) -> Read:
    """Return `validate(value)` of a model's method; `what` is for errors."""
    try:
        return validate(value)
    except ValidationError as problem:
        raise BadBody(f"{what}: {describe_errors(problem)}") from None


def with_switches(profile: Profile, values: Mapping[str, Any]) -> Profile:
    """Return the profile with some switches set to JSON values; raise BadBody for mistakes."""
    return read("switches", profile.with_values, values)


def json_body(content: bytes, *, required: bool = True) -> dict[str, Any]:
    """Read a JSON object; 400 BAD_REQUEST for anything else. No body means an empty object."""
    if not content and not required:
        return {}
    try:
        value = _decode(content.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as problem:
        raise bad_request("the body is not JSON") from problem
    if type(value) is not dict:
        raise bad_request("the body must be a JSON object")
    return value


# Python's decoder accepts NaN and Infinity, which are not JSON.
def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode


# A model takes milliseconds to make, and tests make many consoles.
@cache
def _model_of(kinds: tuple[tuple[str, Any], ...], unknown: str, *, nulls: bool) -> type[BaseModel]:
    extra: Literal["ignore", "forbid"] = "ignore" if unknown == "ignored" else "forbid"
    members: dict[str, Any] = {name: (kind | None if nulls else kind, None) for name, kind in kinds}
    config = ConfigDict(strict=True, extra=extra, title="body")
    return create_model("Body", __config__=config, **members)


# Two annotations of one bound are not equal, so `_model_of` would make a model for each.
@cache
def _bound_length(kind: Any, least: int, most: int) -> Any:
    return Annotated[kind, Field(min_length=least, max_length=most)]


def read_fields(
    model: type[BaseModel], given: Mapping[str, Any], *, required: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the fields of a body that the model knows; 400 VALIDATION_FAILED for wrong ones."""
    absent = [name for name in required if given.get(name) is None]
    wrong: dict[str, str] = {}
    try:
        held = model.model_validate(given)
        if not absent:
            return {name: getattr(held, name) for name in given if name in held.model_fields_set}
    except ValidationError as problem:
        for item in problem.errors(include_url=False, include_input=False, include_context=False):
            text = item["msg"].replace("Input should", "should")
            wrong.setdefault(str(item["loc"][0]), text)
    # The order is that of the body. A required field that is null would be reported twice.
    errors = [(name, wrong[name]) for name in given if name in wrong and name not in absent]
    raise invalid([*errors, *((name, "is required") for name in absent)])


class Bodies:
    """The models of the request bodies that a console of one profile accepts."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        host = _settable("host")
        for name in profile.strings_to_255:
            host[name] = _bound_length(str, 1, 255)
        for name in profile.array_bounds.keys() & host.keys():
            host[name] = _bound_length(host[name], 0, profile.array_bounds[name])
        self.host_row = self._model(host, nulls=True)
        update = {name: kind for name, kind in host.items() if name not in ONLY_AT_CREATION}
        if profile.connect_fields == "refused":
            update |= dict.fromkeys(CONNECT_FIELDS, Fixed)
        self.host_update = self._model(update)
        agent = {**_settable("agent"), "plugin_ids": Strings}
        for name in profile.agent_at_least_1:
            agent[name] = NonEmpty
        agent[profile.agent_1_to_100] = _bound_length(str, 1, 100)
        # In a creation, null means the same as an absent field.
        self.agent_create = self._model(agent, nulls=True)
        self.agent_update = self._model(agent)
        self.attachment = self._model({"plugin_id": NonEmpty})

    def _model(self, kinds: Mapping[str, Any], *, nulls: bool | None = None) -> type[BaseModel]:
        if nulls is None:
            nulls = self._profile.nulls == "clear"
        return _model_of(tuple(kinds.items()), self._profile.unknown_fields, nulls=nulls)

    def of(self, kind: str, *, nulls: bool | None = None) -> type[BaseModel]:
        """Return the model of the fields of a kind of object, bounded by their types alone."""
        return self._model(_settable(kind), nulls=nulls)


def _refuse_change(_value: Any) -> NoReturn:
    raise ValueError("cannot be changed")


Fixed = Annotated[Any, BeforeValidator(_refuse_change)]


def _settable(kind: str) -> dict[str, Any]:
    return {name: held for name, held in FIELDS[kind].items() if held is not None}


@dataclass(eq=False)
class Refusal(Exception):
    """A refused request (the document: Errors).

    `field` is set when one input is at fault, `errors` when several are.
    """

    status: int
    code: str
    message: str
    field: str | None = None
    errors: Sequence[tuple[str, str]] = ()
    details: dict[str, Any] | None = None

    @property
    def explanation(self) -> str:
        return "; ".join(f"{name} {text}" for name, text in self.errors) or self.message

    def body(self, request_id: str) -> dict[str, Any]:
        """Return the error body without empty members."""
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        body["request_id"] = request_id
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
