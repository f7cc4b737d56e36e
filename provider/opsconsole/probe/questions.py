"""What the API document leaves open: what is done by default, and which setting changes it.

A probe asks a console the questions that have a name. Nothing here makes a call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that the document does not show.

    Attributes:
        name: Its name in findings.
        open: What is not shown.
        default: What is done unless a setting says otherwise.
        settings: The settings that change it.
    """

    name: str
    open: str
    default: str
    settings: tuple[str, ...] = ()


_LISTS = ("cursor_parameter", "cursor_field")
_QUERY = ("list_query", "list_query_narrows")

QUESTIONS: Final = (
    Question(
        "host_reading",
        "Whether a host can be read: no operation is shown for it.",
        "An empty partial update, whose answer is the host. Where that is refused, hosts are "
        "unchecked.",
        ("host_read", "extra_endpoints"),
    ),
    Question(
        "reading_bumps",
        "Whether an update without a field moves updated_at.",
        "A change of updated_at alone is not a difference.",
        ("host_read", "extra_endpoints"),
    ),
    Question(
        "unset_fields",
        "Whether an unset field is null in an answer, or left out.",
        "Both mean the same; a field that was never shown keeps what state holds.",
    ),
    Question(
        "missing_host",
        "Which status and code an update of an unknown host gives.",
        "404 means deleted, or not visible to this key.",
        ("on_missing", "on_missing_host"),
    ),
    Question(
        "missing_agent",
        "Which status and code the plugin list of an unknown agent gives.",
        "404 means deleted, or not visible to this key; an empty list means that no plugin is "
        "attached.",
        ("on_missing",),
    ),
    Question(
        "has_more",
        "Whether lists always say has_more.",
        "A list without it is whole only where total_count is the number of its entries.",
        _QUERY,
    ),
    Question(
        "page_size",
        "How many entries a page of a list holds.",
        "Any; a list with more proves presence only, unless the cursor is known.",
        _LISTS,
    ),
    Question(
        "total_count",
        "Whether lists hold total_count, and the parameter that asks for it.",
        "It is used where it is shown, and is not asked for.",
        _QUERY,
    ),
    Question(
        "cursor",
        "How the next page of a list is asked for.",
        "It is not: a longer list proves presence only.",
        _LISTS,
    ),
    Question(
        "filter",
        "Which query parameters filter the search.",
        "None is sent; the whole list is searched.",
        _QUERY,
    ),
    Question(
        "dry_run",
        "Whether an import honours dry_run in its query or in its envelope.",
        "It is sent in both places, and an answer that does not say dry_run: true counts as an "
        "import.",
    ),
    Question(
        "index_base",
        "Whether results[].index begins at 0 or 1.",
        "Either is understood.",
    ),
    Question(
        "verdict_created",
        "What a dry run calls a row that would be created.",
        "The counts decide, whatever the word.",
    ),
    Question(
        "verdict_same",
        "What a dry run calls a row that equals a host.",
        "Anything but created means that the host exists, or that the row fails.",
    ),
    Question(
        "verdict_ids",
        "Whether a dry run's verdict holds the id of the host that the row matches.",
        "It is used where it is there, for adoption and for what an interrupted run created.",
        ("on_existing_host",),
    ),
    Question(
        "matching",
        "By which field an import row matches a host that is there.",
        "The console decides; a declared host that is there already is an error.",
        ("on_existing_host",),
    ),
    Question(
        "tags",
        "Whether tags are trimmed, sorted or kept once each.",
        "They are a set: neither order nor repetition is a difference.",
    ),
    Question(
        "import_size",
        "How many rows an import takes.",
        "500; fewer where the console refuses the size (400 or 413).",
        ("import_chunk_size",),
    ),
    Question(
        "rate_limit",
        "Whether answers tell of rate limits.",
        "The rate is found from 429 and Retry-After.",
        ("max_concurrency", "rate_limit_patience"),
    ),
)
"""What a probe asks."""

UNASKED: Final = (
    Question(
        "agent_fields",
        "How an agent's fields are read.",
        "Only its plugins are; other fields are as the console last answered a write.",
        ("extra_endpoints",),
    ),
    Question(
        "plugin_catalogue",
        "Which plugins there are: only those of one agent are listed.",
        "A plan warns of an id that no list that it read shows; the console decides when the "
        "plugin is attached.",
    ),
    Question(
        "host_length_bounds",
        "Which host fields have the lengths of 1 to 255, and which arrays the bounds of 5 and 64.",
        "They are not checked before they are sent.",
    ),
    Question(
        "agent_length_bounds",
        "Which agent fields have the minimum lengths of 1 and the length of 1 to 100, and which "
        "are required.",
        "host_id and specialty_id are demanded; lengths are the console's to judge.",
    ),
    Question(
        "import_parameters",
        "The names of the import's query parameters, and whether they outrank the envelope.",
        "dry_run is sent in both places, on_error in the envelope alone.",
    ),
    Question(
        "csv",
        "The column layout of a CSV import, and its query parameters.",
        "A file whose first line names host fields is sent in several requests, any other as "
        "one; the parameter is named on the command line.",
    ),
    Question(
        "success_statuses",
        "The success status of most operations.",
        "Each 2xx is a success.",
    ),
    Question(
        "error_codes",
        "The code of a 409, and codes other than those shown.",
        "They are quoted and not explained.",
    ),
    Question(
        "creation_only",
        "What a console keeps of external_id, unique_id, mac and org_id, which no update takes.",
        "What it does not keep is reported once, and is not a difference until it is declared "
        "otherwise.",
    ),
    Question(
        "rerouted_hosts",
        "What rerouted_hosts contains.",
        "It is shown, and those hosts are read again.",
    ),
    Question(
        "cookie",
        "The name of the session cookie.",
        "It is given with its value.",
        ("session_cookie",),
    ),
)
"""What only a write, or the console's operator, could tell."""
