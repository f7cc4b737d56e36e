"""The consoles that tests run on: the profiles of the emulator, and more combinations of switches.

Together the consoles use every value of every switch; `tests/emulator/test_profiles.py` sees to it.
"""

import json
import urllib.request
from typing import Any

from opsconsole.emulator import Emulator, Profile, profiles
from opsconsole.emulator.document import EXTRA

_SWITCHES: dict[str, dict[str, Any]] = {
    "fickle": {
        "unset": "alternating",
        "unset_lists": "unset",
        "order": "reversed",
        "archived_plugins_status": 200,
    },
    "sorted": {
        "order": "sorted",
        "nulls": "clear",
        "unknown_plugins_status": 200,
        "archived_plugins_status": 200,
    },
    "bumping": {"idle_update_bumps": True, "matched_sets": "merged"},
    "resized": {
        "page_size": 2,
        "page_size_parameter": "limit",
        "cursor_parameter": "starting_after",
        "cursor_field": "last_id",
        "total_count_parameter": "with",
        "provider_settings": {"list_query": {"limit": "500"}, "list_query_narrows": False},
    },
    "unsaid": {
        "has_more": "absent",
        "filter_parameter": "q",
        "agent_at_least_1": ("main_engine", "specialty_id"),
        "agent_1_to_100": "secondary_engine",
        "hidden_status": 403,
        "conflict_code": "SPECIALTY_IN_USE",
        "on_error_default": "stop",
        "csv_delimiter": ";",
        "csv_list_separator": "|",
    },
    "worded": {
        "dry_run_created_word": "would_create",
        "updated_word": "merged",
        "skipped_word": "exists",
        "failed_word": "rejected",
        "match_by": ("public_ip",),
        "on_match": "skip",
        "dry_run_ids": "all",
        "dry_run_parameter": "preview",
        "on_error_parameter": "mode",
        "query_overrides": False,
        "index_base": 1,
        "lists_rows_after_stop": True,
    },
    "stingy": {"max_rows": 7},
    "tidying": {
        "trims": True,
        "lowercases": ("mac", "additional_names"),
        "connect_fields": "ignored",
    },
    "dropping": {"drops": ("mac", "unique_id")},
    "assigning": {"assigns": ("external_id", "unique_id"), "connect_fields": "refused"},
    "rerouting": {"jump_host_delete": "reroutes"},
    "holding": {"archived_agents_block": True},
    "archiving": {
        "extra": frozenset(EXTRA),
        "agent_delete": "archives",
        "cookie_name": "sid",
        "provider_settings": {"extra_endpoints": dict(EXTRA)},
    },
    "limited": {"requests_per_second": 500, "requests_at_once": 100, "retry_after": 1},
}

CONSOLES = {
    **profiles(),
    **{name: Profile(name=name, summary="", **switches) for name, switches in _SWITCHES.items()},
}


def call_api(console: Emulator, method: str, path: str, body: Any = None) -> None:
    """Call the console's API as somebody else."""
    request = urllib.request.Request(
        console.base_url + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {console.api_key}"},
    )
    with urllib.request.urlopen(request, timeout=300) as answer:
        answer.read()
