"""Warns of ids in a program that no list shows; the console decides about them.

No operation lists all plugins, so an id that no agent has may be right. A complete list of
specialties proves absence, but a key may still use a specialty that it cannot see.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.lifecycle.session import ConsoleSession
from opsconsole.resources.agent.known import KnownAgents
from opsconsole.values import Values

_ALIKE = 0.8
_MAX_NAMED = 20

Names = frozenset[tuple[str, tuple[str, ...]]]
"""An id, and other names that people may use for its object."""


def doubts_of_agent(
    session: ConsoleSession, config: Values, prior: Values | None = None
) -> list[Diagnostic]:
    """Warn of the ids that an agent is about to take on and that no list of the run shows."""
    held = prior or {}
    plugin_ids = config.get("plugin_ids")
    wanted = plugin_ids if isinstance(plugin_ids, list) else []
    kept = held.get("plugin_ids") or ()
    found = doubtful_plugins(session, (i for i in wanted if i not in kept), "plugin_ids")
    specialty_id = config.get("specialty_id")
    # One in state that was never seen is sent nowhere.
    seen = prior is None or held.get("specialty_id") is not None
    if isinstance(specialty_id, str) and seen and specialty_id != held.get("specialty_id"):
        found += _doubtful_specialty(session, specialty_id)
    return found


def doubtful_plugins(
    session: ConsoleSession, plugin_ids: Iterable[Any], attribute: str
) -> list[Diagnostic]:
    """Warn of ids that no list of the run shows."""
    shown = session.get(KnownAgents).shown_plugins
    unseen = [item for item in plugin_ids if isinstance(item, str) and item not in shown]
    if not unseen or not shown:
        return []
    names = frozenset((key, (name,)) for key, name in shown.items())
    whole = all(listing.complete for listing in session.lists_read("plugin_list").values())
    found = []
    for item in unseen:
        near = near_ids(item, names)
        # When Terraform plans, further lists may still be read, and an incomplete list proves
        # nothing. In these cases only an id that is similar to a listed one is doubted.
        if not near and not (whole and session.plans_whole):
            continue
        advice = f"Did you mean {near}?" if near else f"They have {_some(sorted(shown))}."
        summary = (
            f"No agent that was read has the plugin {item}"
            if whole
            else f"No list that was read shows the plugin {item}"
        )
        detail = (
            f"{advice} No operation lists all plugins: the console decides when it is attached."
        )
        found.append(warning(summary, detail, (attribute,)))
    return found


def _doubtful_specialty(session: ConsoleSession, specialty_id: str) -> list[Diagnostic]:
    """Warn of an id that a whole search does not show, where the run has searched already."""
    listing = session.lists_read("specialty_search").get("")
    if listing is None or not listing.complete:
        return []
    if any(entry["id"] == specialty_id for entry in listing.entries):
        return []
    names = frozenset(
        (entry["id"], tuple(str(entry[n]) for n in ("key", "name") if entry.get(n)))
        for entry in listing.entries
    )
    near = near_ids(specialty_id, names)
    known = f"There are {_some(sorted(entry['id'] for entry in listing.entries))}."
    advice = f"Did you mean {near}?" if near else known if names else "There is none."
    return [
        warning(
            f"There is no specialty {specialty_id} that this key can see",
            f"{advice} The console decides when the agent is created.",
            ("specialty_id",),
        )
    ]


@lru_cache(maxsize=256)
def near_ids(wanted: str, names: Names) -> str:
    """Return similar ids, and ids of objects with such a name, as a phrase.

    At most three, the nearest first; empty where there is none.
    """
    from difflib import get_close_matches  # only what is wrong needs it

    spellings: dict[str, tuple[str, str]] = {}
    for key, also in sorted(names):
        spellings.setdefault(key, (key, f'"{key}"'))
        for text in (key, key.partition("_")[2]):
            spellings.setdefault(_plain(text), (key, f'"{key}"'))
        for text in also:
            spellings.setdefault(_plain(text), (key, f'{key} ("{text}")'))
    near = get_close_matches(wanted, spellings, cutoff=_ALIKE)
    near += get_close_matches(_plain(wanted), spellings, cutoff=_ALIKE)
    phrases: dict[str, str] = {}
    for spelling in near:
        phrases.setdefault(*spellings[spelling])
    *others, last = [*phrases.values()][:3] or [""]
    return f"{', '.join(others)} or {last}" if others else last


def _plain(text: str) -> str:
    """Return a name as people write it in an id: "Disk usage" as "disk-usage"."""
    return re.sub(r"[\W_]+", "-", text.casefold()).strip("-")


def _some(items: list[str]) -> str:
    return ", ".join(items[:_MAX_NAMED]) + (", …" if items[_MAX_NAMED:] else "")
