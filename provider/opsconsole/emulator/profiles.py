"""The emulator's profiles, and its switches for all that the document calls "not shown".

A profile is a frequently used console. Switches make any other combination.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from opsconsole.emulator.document import DOCUMENTED, EXTRA


def _refuse_boolean(value: Any) -> Any:
    """Refuse true and false, which are equal to 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("a boolean is not allowed here")
    return value


class Profile(BaseModel):
    """One console that the document allows. Every attribute outside of `FIXED` is a switch.

    `docs/guides/emulator.md` explains them.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    name: str
    summary: str

    # Answers. `success` holds the statuses that differ from 200, by operation.
    success: Mapping[str, int] = {}
    unset: Annotated[
        Literal["null", "absent", "alternating"],
        # A command line reads `unset=null` as JSON's null.
        BeforeValidator(lambda value: "null" if value is None else value),
    ] = "null"
    unset_lists: Literal["empty", "unset"] = "empty"
    order: Literal["as_sent", "sorted", "reversed"] = "as_sent"

    # The treatment of values of a host.
    trims: bool = False
    lowercases: tuple[str, ...] = ()
    assigns: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()
    fills_defaults: bool = True
    connect_fields: Literal["stored", "ignored", "refused"] = "stored"

    # The content of a body: the two strings of 1 to 255, the arrays of 5 and 64, the required
    # fields.
    unknown_fields: Literal["ignored", "refused"] = "ignored"
    nulls: Literal["refused", "clear"] = "refused"
    strings_to_255: tuple[str, ...] = ("name", "public_ip")
    array_bounds: Mapping[str, int] = {"jump_host_ids": 5, "additional_names": 64}
    agent_required: tuple[str, ...] = ("host_id", "specialty_id")
    agent_at_least_1: tuple[str, ...] = ("host_id", "specialty_id")
    agent_1_to_100: str = "name"
    unknown_reference_status: Literal[400, 404] = 400

    # Updates of hosts.
    empty_update: Literal["accepted", "refused"] = "accepted"
    idle_update_bumps: bool = False

    # The bulk import.
    match_by: tuple[str, ...] = ("name",)
    on_match: Literal["update", "skip", "fail"] = "update"
    matched_sets: Literal["replaced", "merged"] = "replaced"
    dry_run_created_word: str = "created"
    updated_word: str = "updated"
    skipped_word: str = "skipped"
    failed_word: str = "failed"
    dry_run_ids: Literal["none", "existing", "all"] = "existing"
    honours_dry_run: bool = True
    dry_run_parameter: str = "dry_run"
    on_error_parameter: str = "on_error"
    on_error_default: Literal["continue", "stop"] = "continue"
    query_overrides: bool = True
    index_base: Annotated[Literal[0, 1], BeforeValidator(_refuse_boolean)] = 0
    lists_rows_after_stop: bool = False
    max_rows: int | None = None
    too_many_rows_status: Literal[400, 413] = 413
    csv_delimiter: str = ","
    csv_list_separator: str = ";"

    # Agents and their plugins.
    attach_twice_status: int = 200
    detach_absent_status: int = 404
    archived_plugins_status: int = 404
    unknown_plugins_status: int = 404
    agent_delete: Literal["removes", "archives"] = "removes"

    # Deletes.
    archived_agents_block: bool = False
    jump_host_delete: Literal["dangles", "reroutes", "refused"] = "dangles"

    # Lists.
    page_size: int | None = None
    page_size_parameter: str | None = None
    cursor_parameter: str | None = None
    cursor_field: str = "next_cursor"
    total_count: Literal["always", "asked", "never"] = "always"
    total_count_parameter: str = "include"
    has_more: Literal["true_or_false", "absent", "always_true", "always_false"] = "true_or_false"
    filter_parameter: str | None = None
    unknown_parameters: Literal["ignored", "refused"] = "ignored"

    # Refusals: an object that the key cannot see, the license, the name of the 409's code.
    hidden_status: Literal[403, 404] = 404
    license: Literal["valid", "cap_reached", "expired"] = "valid"
    conflict_code: str = "CONFLICT"

    # Limits: a token bucket.
    requests_per_second: int | None = None
    requests_at_once: int | None = None
    retry_after: int | None = None

    # Beyond the documented operations.
    extra: frozenset[str] = frozenset()
    cookie_name: str = "console_session"
    provider_settings: Mapping[str, Any] = {}

    def with_values(self, switches: Mapping[str, Any]) -> Profile:
        """Return this profile with switches set to JSON values; ValidationError for wrong ones."""
        fixed = {name: getattr(self, name) for name in FIXED}
        for name in fixed.keys() & switches.keys():
            raise ValidationError.from_exception_data(
                "switches", [{"type": "extra_forbidden", "loc": (name,), "input": switches[name]}]
            )
        # The values pass through JSON, because even a strict model then accepts arrays for tuples
        # and sets.
        text = json.dumps({**self.model_dump(mode="json"), **switches})
        return Profile.model_validate_json(text).model_copy(update=fixed)

    @property
    def hosts_readable(self) -> bool:
        """Whether the provider can read a host with the settings of `provider_settings`."""
        extra = self.provider_settings.get("extra_endpoints", {})
        return self.empty_update == "accepted" or "host_get" in {*DOCUMENTED, *extra}

    @property
    def keeps_values_as_sent(self) -> bool:
        """Whether this console answers with every accepted value of a host as it was sent."""
        return not (
            self.trims
            or self.lowercases
            or self.assigns
            or self.drops
            or self.connect_fields == "ignored"
        )

    @property
    def lists_whole(self) -> bool:
        """Whether the provider can see the end of every list, with `provider_settings`."""
        settings = self.provider_settings
        uncounted = self.has_more == "absent" and self.total_count != "always"
        if uncounted or self.has_more == "always_true":
            return False
        return self.page_size is None or "cursor_parameter" in settings or "list_query" in settings


FIXED = ("name", "summary", "provider_settings")
SWITCHES = tuple(name for name in Profile.model_fields if name not in FIXED)

_PROFILES = (
    Profile(name="default", summary="A sensible console: 200 everywhere, nulls, names match."),
    Profile(
        name="strict",
        summary="Refuses what it does not know, asks for more, and says 409 to a repetition.",
        success={"agent_create": 201, "plugin_attach": 201},
        unknown_fields="refused",
        unknown_parameters="refused",
        strings_to_255=("name", "external_id"),
        array_bounds={"jump_host_ids": 5, "tags": 64},
        agent_required=("host_id", "specialty_id", "name", "main_engine"),
        unknown_reference_status=404,
        match_by=("external_id", "name"),
        on_match="fail",
        max_rows=50,
        too_many_rows_status=400,
        attach_twice_status=409,
        archived_plugins_status=403,
        jump_host_delete="refused",
    ),
    Profile(
        name="sparse",
        summary="Leaves out what is unset, lists too, and has no defaults of its own.",
        success={"agent_create": 202, "plugin_detach": 202, "host_delete": 202},
        unset="absent",
        unset_lists="unset",
        fills_defaults=False,
        detach_absent_status=200,
        total_count="never",
    ),
    Profile(
        name="blind",
        summary="Refuses an empty update, so that hosts cannot be read; matches no import row.",
        empty_update="refused",
        match_by=(),
        dry_run_ids="none",
    ),
    Profile(
        name="paged",
        summary="Lists come in pages of two, with a cursor.",
        page_size=2,
        cursor_parameter="cursor",
        total_count="asked",
        provider_settings={"cursor_parameter": "cursor", "cursor_field": "next_cursor"},
    ),
    Profile(
        name="truncated",
        summary="Lists stop after five entries, and there is no way to the rest.",
        page_size=5,
    ),
    Profile(
        name="heedless",
        summary="Ignores dry_run: every import is real, and its answer says so.",
        honours_dry_run=False,
    ),
    Profile(
        name="extended",
        summary="Has every extra endpoint, and refuses the empty update.",
        extra=frozenset(EXTRA),
        empty_update="refused",
        provider_settings={
            "extra_endpoints": dict(EXTRA),
        },
    ),
)


def profiles() -> dict[str, Profile]:
    return {item.name: item for item in _PROFILES}
