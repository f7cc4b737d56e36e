"""What a probe asks of lists: pages, totals, cursors and filters, by GET alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from opsconsole.probe.calls import ProbeCall, ProbeCalls, ProbeFinding, quoted, unknown_id
from opsconsole.v1.exchange import WrongShape
from opsconsole.v1.list_envelope import page
from opsconsole.v1.operations import LIST_PLUGINS, SEARCH_SPECIALTIES

MISSING_AGENT: Final = "agt_opsconsole_probe_none"
TOTAL_PARAMETERS: Final = ("include", "with", "expand", "fields")
CURSOR_PARAMETERS: Final = ("cursor", "after", "starting_after", "page_token", "page", "offset")
FILTER_PARAMETERS: Final = ("q", "query", "search", "key", "filter")
MOST_CURSORS: Final = 3
"""Members of an envelope that are tried as cursors."""
NO_MATCH: Final = "opsconsole-probe-no-such-thing"
_ENVELOPE: Final = frozenset({"object", "data", "has_more", "total_count"})


async def ask_lists(
    calls: ProbeCalls, search: ProbeCall, agent_id: str | None
) -> list[ProbeFinding]:
    """Return what the search, whose first answer is given, and an agent's plugins show."""
    plugins = None if agent_id is None else await calls.ask(LIST_PLUGINS, agent_id)
    seen = [call for call in (search, plugins) if call is not None and _is_list(call)]
    found = [await _missing_agent(calls, plugins)]
    if not seen:
        why = f"No list was answered: {search.outcome}."
        return found + [
            ProbeFinding(name, why=why)
            for name in ("has_more", "page_size", "total_count", "cursor", "filter")
        ]
    total, counted = await _total_count(calls, search)
    totals = {call.number: _total(call) for call in seen} | {search.number: counted}
    cut = [call for call in seen if _is_cut(call, totals[call.number])]
    cursor = await _cursor(calls, search, counted)
    if cursor.learned and search not in cut:
        cut.append(search)
    found += [_has_more(seen, totals), _page_size(seen, cut), total, cursor]
    found.append(await _filter(calls, search))
    return found


def _is_list(call: ProbeCall) -> bool:
    if not call.succeeded:
        return False
    try:
        page(call.body, None)
    except WrongShape:
        return False
    return True


def _ids(call: ProbeCall) -> list[str]:
    return [entry["id"] for entry in call.body["data"]]


def _total(call: ProbeCall) -> int | None:
    return page(call.body, None).total_count


def _is_cut(call: ProbeCall, total: int | None) -> bool:
    """Return whether a list is known to show some of its entries only."""
    return total is not None and total > len(call.body["data"])


async def _missing_agent(calls: ProbeCalls, known: ProbeCall | None) -> ProbeFinding:
    call = await calls.ask(LIST_PLUGINS, MISSING_AGENT)
    found = unknown_id("missing_agent", call, known)
    return replace(found, answer="an empty list") if _is_list(call) else found


def _has_more(lists: list[ProbeCall], totals: Mapping[int, int | None]) -> ProbeFinding:
    said = [call for call in lists if isinstance(call.body.get("has_more"), bool)]
    numbers = tuple(call.number for call in lists)
    denied = any(
        totals[call.number] is not None
        and call.body["has_more"] != _is_cut(call, totals[call.number])
        for call in said
    )
    how_many = "each list says" if len(said) == len(lists) else "some lists say"
    if denied:
        answer = f"{how_many} it, and total_count contradicts it"
        return ProbeFinding("has_more", answer, calls=numbers, value="contradicted")
    if not said:
        return ProbeFinding("has_more", "no list says it", calls=numbers, value="absent")
    value = "said" if len(said) == len(lists) else "sometimes"
    return ProbeFinding("has_more", f"{how_many} it", calls=numbers, value=value)


def _page_size(lists: list[ProbeCall], cut: list[ProbeCall]) -> ProbeFinding:
    """Return how many entries a list holds of which more are known to exist."""
    sizes = {len(call.body["data"]) for call in cut}
    if len(sizes) == 1:
        [size] = sizes
        numbers = tuple(call.number for call in cut)
        return ProbeFinding("page_size", f"{size} entries", calls=numbers, value=size)
    most = max(len(call.body["data"]) for call in lists)
    why = f"No list is known to have more than one page; the longest holds {most}."
    return ProbeFinding("page_size", why="Lists are cut at several sizes." if sizes else why)


async def _total_count(calls: ProbeCalls, search: ProbeCall) -> tuple[ProbeFinding, int | None]:
    """Return with the finding how many entries there are."""
    if not _is_list(search):
        return ProbeFinding("total_count", why=f"The search answered {search.outcome}."), None
    if (total := _total(search)) is not None:
        found = ProbeFinding("total_count", "shown always", calls=(search.number,), value="always")
        return found, total
    for name in TOTAL_PARAMETERS:
        call = await calls.ask(SEARCH_SPECIALTIES, query={name: "total_count"})
        if _is_list(call) and (total := _total(call)) is not None:
            # It is of use only where has_more does not tell whether a list is whole.
            useful = search.body.get("has_more") is None
            given = calls.settings.list_query
            settings: dict[str, Any] = {
                "list_query": {**given, f"specialties.{name}": "total_count"},
            }
            if not given:
                settings["list_query_narrows"] = False
            found = ProbeFinding(
                "total_count",
                f"shown where {name}=total_count asks for it",
                calls=(search.number, call.number),
                value=name,
                settings=settings if useful else {},
            )
            return found, total
    tried = ", ".join(TOTAL_PARAMETERS)
    why = f"It is not shown, and none of {tried} asks for it."
    return ProbeFinding("total_count", why=why), None


async def _cursor(calls: ProbeCalls, search: ProbeCall, total: int | None) -> ProbeFinding:
    if not _is_list(search):
        return ProbeFinding("cursor", why=f"The search answered {search.outcome}.")
    if search.body.get("has_more") is not True and not _is_cut(search, total):
        return ProbeFinding("cursor", why="The search is not known to have another page.")
    fields = [
        (name, str(value))
        for name, value in search.body.items()
        if name not in _ENVELOPE and isinstance(value, str | int) and not isinstance(value, bool)
    ][:MOST_CURSORS]
    first = set(_ids(search))
    for field, value in fields:
        for parameter in CURSOR_PARAMETERS:
            call = await calls.ask(SEARCH_SPECIALTIES, query={parameter: value})
            if _is_list(call) and _ids(call) and first.isdisjoint(_ids(call)):
                return ProbeFinding(
                    "cursor",
                    f"{parameter} takes {field} of the page before",
                    calls=(search.number, call.number),
                    value=[parameter, field],
                    settings={"cursor_parameter": parameter, "cursor_field": field},
                )
    if not fields:
        return ProbeFinding("cursor", why="The envelope holds nothing that could be a cursor.")
    return ProbeFinding(
        "cursor", why=f"None of {', '.join(CURSOR_PARAMETERS)} led to another page."
    )


async def _filter(calls: ProbeCalls, search: ProbeCall) -> ProbeFinding:
    """Find a parameter that leaves entries out: nothing for a word that no entry has."""
    if not _is_list(search) or len(search.body["data"]) < 2:
        return ProbeFinding("filter", why="The search shows fewer than two specialties.")
    chosen: Mapping[str, Any] = search.body["data"][0]
    word = chosen.get("key")
    if not isinstance(word, str):
        return ProbeFinding("filter", why="The first specialty shows no key.")
    for parameter in FILTER_PARAMETERS:
        nothing = await calls.ask(SEARCH_SPECIALTIES, query={parameter: NO_MATCH})
        if not _is_list(nothing) or nothing.body["data"]:
            continue
        some = await calls.ask(SEARCH_SPECIALTIES, query={parameter: word})
        if _is_list(some) and chosen.get("id") in _ids(some):
            return ProbeFinding(
                "filter",
                f"{parameter} filters: {parameter}={quoted(word)} shows {len(_ids(some))} of them",
                calls=(nothing.number, some.number),
                value=parameter,
            )
    return ProbeFinding("filter", why=f"None of {', '.join(FILTER_PARAMETERS)} filters.")
