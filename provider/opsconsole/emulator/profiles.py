"""The named profiles. Together they use every value of every switch; a test sees to it."""

from __future__ import annotations

from functools import cache

from opsconsole.emulator.profile import Profile
from opsconsole.emulator.routes import EXTRA

PLAIN = (
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
        name="fickle",
        summary="Unset fields are null in one answer and absent in the next; sets come reversed.",
        unset="alternating",
        unset_lists="unset",
        order="reversed",
        archived_plugins_status=200,
    ),
    Profile(
        name="sorted",
        summary="Sorts sets, clears a field that is sent null, lists the plugins of any agent.",
        order="sorted",
        nulls="clear",
        unknown_plugins_status=200,
        archived_plugins_status=200,
    ),
    Profile(
        name="bumping",
        summary="Every update, an empty one too, moves updated_at; an import only adds to sets.",
        idle_update_bumps=True,
        matched_sets="merged",
    ),
    Profile(
        name="blind",
        summary="Refuses an empty update, so that hosts cannot be read; matches no import row.",
        empty_update="refused",
        match_by=(),
        dry_run_ids="none",
    ),
)

LISTS = (
    Profile(
        name="paged",
        summary="Lists come in pages of two, with a cursor.",
        page_size=2,
        cursor_parameter="cursor",
        total_count="asked",
        provider_settings={"cursor_parameter": "cursor", "cursor_field": "next_cursor"},
    ),
    Profile(
        name="resized",
        summary="Lists come in pages of two, or as large as asked for; the cursor has odd names.",
        page_size=2,
        page_size_parameter="limit",
        cursor_parameter="starting_after",
        cursor_field="last_id",
        total_count_parameter="with",
        provider_settings={"list_query": {"limit": "500"}, "list_query_narrows": False},
    ),
    Profile(
        name="truncated",
        summary="Lists stop after five entries, and there is no way to the rest.",
        page_size=5,
    ),
    Profile(
        name="unsaid",
        summary="Lists hold no has_more; the search filters by `q`; agent bounds are elsewhere.",
        has_more="absent",
        filter_parameter="q",
        agent_at_least_1=("main_engine", "specialty_id"),
        agent_1_to_100="secondary_engine",
        hidden_status=403,
        conflict_code="SPECIALTY_IN_USE",
        on_error_default="stop",
        csv_delimiter=";",
        csv_list_separator="|",
    ),
)

IMPORTS = (
    Profile(
        name="worded",
        summary="Words, bases and parameter names of the import that nobody would guess.",
        dry_run_created_word="would_create",
        updated_word="merged",
        skipped_word="exists",
        failed_word="rejected",
        match_by=("public_ip",),
        on_match="skip",
        dry_run_ids="all",
        dry_run_parameter="preview",
        on_error_parameter="mode",
        query_overrides=False,
        index_base=1,
        lists_rows_after_stop=True,
    ),
    Profile(
        name="stingy",
        summary="Takes seven rows in one import.",
        max_rows=7,
    ),
    Profile(
        name="heedless",
        summary="Ignores dry_run: every import is real, and its answer says so.",
        honours_dry_run=False,
    ),
)

VALUES = (
    Profile(
        name="tidying",
        summary="Trims strings, lowers names and mac, and ignores a change of the connect mode.",
        trims=True,
        lowercases=("mac", "additional_names"),
        connect_fields="ignored",
    ),
    Profile(
        name="dropping",
        summary="Keeps no mac and no unique_id of a host.",
        drops=("mac", "unique_id"),
    ),
    Profile(
        name="assigning",
        summary="Gives every host an external_id and unique_id of its own; connect mode is fixed.",
        assigns=("external_id", "unique_id"),
        connect_fields="refused",
    ),
)

CASCADES = (
    Profile(
        name="rerouting",
        summary="Deleting a jump host takes it off the hosts that used it, and names them.",
        jump_host_delete="reroutes",
    ),
    Profile(
        name="holding",
        summary="Archived agents still hold their specialty.",
        archived_agents_block=True,
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
    Profile(
        name="archiving",
        summary="Has every extra endpoint; its agent delete archives. Its session cookie is `sid`.",
        extra=frozenset(EXTRA),
        agent_delete="archives",
        cookie_name="sid",
        provider_settings={
            "extra_endpoints": dict(EXTRA),
        },
    ),
)

LIMITS = (
    Profile(
        name="limited",
        summary="Answers 500 requests a second, 100 at once, and becomes slow under load.",
        requests_per_second=500,
        requests_at_once=100,
        retry_after=1,
        crowding_microseconds=20,
    ),
)


@cache
def profiles() -> dict[str, Profile]:
    """Return the named profiles, `default` first. The result is shared: leave it as it is."""
    return {item.name: item for item in (*PLAIN, *LISTS, *IMPORTS, *VALUES, *CASCADES, *LIMITS)}
