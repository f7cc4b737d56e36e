"""List envelopes, extra endpoints, and how unset fields and sets are answered."""

from typing import Any
from urllib.parse import quote

import pytest

from opsconsole.emulator import profiles
from opsconsole.emulator.document import FIELDS, LISTS
from text_groups import read_rows

ROWS = read_rows(__file__)

SEARCH = "/api/v1/specialties/search"


@pytest.mark.parametrize(("name", "parameter", "field"), [
    ("paged", "cursor", "next_cursor"),
    ("resized", "starting_after", "last_id"),
])  # fmt: skip
def test_pages_lead_to_the_end(make, name, parameter, field):
    ask = make(name)
    seen, query, pages = [], "", 0
    while True:
        status, body = ask("GET", SEARCH + query)
        assert (status, len(body["data"])) == (200, 2)
        seen += [row["id"] for row in body["data"]]
        pages += 1
        if not body["has_more"]:
            break
        query = f"?{parameter}={quote(body[field])}"
    assert body[field] is None
    assert pages == 3
    assert seen == [row["id"] for row in ask.store.specialties]


WHOLE = {"object": "list", "has_more": False, "total_count": 6}


@pytest.mark.parametrize(*ROWS["test_list_envelope_follows_the_switches"])
def test_list_envelope_follows_the_switches(make, switches, query, shown, count):
    ask = make(**switches)
    status, body = ask("GET", SEARCH + query)
    rows = [row for row in ask.store.specialties if count > 1 or row["id"] == "spc_linux"]
    assert [row["id"] for row in body.pop("data")] == [row["id"] for row in rows[:count]]
    expected = {name: value for name, value in (WHOLE | shown).items() if value is not None}
    assert (status, body) == (200, expected)


def test_unset_fields_are_null_or_absent_or_either(make):
    def fields(ask: Any) -> set[str]:
        return set(ask("POST", "/api/v1/hosts/hst_a")[1])

    bare = {"id", "name", "org_id", "tenant_id", "created_at", "updated_at"}
    lists = set(LISTS["host"])
    for unset, unset_lists, expected in (
        ("null", "empty", [set(FIELDS["host"])] * 2),
        ("absent", "unset", [bare] * 2),
        ("absent", "empty", [bare | lists] * 2),
    ):
        ask = make(unset=unset, unset_lists=unset_lists)
        ask.host(id="hst_a", tags=[])
        assert [fields(ask), fields(ask)] == expected
    ask = make("fickle")
    ask.host(id="hst_a")
    assert [fields(ask) == bare for _ in range(4)] == [True, False, True, False]


def test_extra_endpoints_are_there_only_where_the_profile_has_them(make):
    settings = profiles()["extended"].provider_settings["extra_endpoints"]
    plain, extended = make(), make("extended")
    for template in settings.values():
        method, path = template.replace("{id}", "x_none").split(" ")
        assert plain(method, path)[0] in (404, 405)
        status, body = extended(method, path, {} if method == "POST" else None)
        assert status in (200, 400, 404), template
        assert status != 404 or body["message"].startswith("no ")
