"""The emulator against the provider's definitions: both were read from the same document."""

import pytest

from declarations import kind_of, value
from opsconsole.definition import Attribute, ChangeRule, Kind
from opsconsole.emulator.document import DOCUMENTED, FIELDS, HOST_SETS, KINDS, ONLY_AT_CREATION
from opsconsole.resources import AGENT_PLUGIN, HOST, RESOURCES
from opsconsole.v1 import operations

RESOURCES_BY_KIND = {kind_of(item): item for item in RESOURCES.values() if item is not AGENT_PLUGIN}
WRITE_ONLY = {"plugin_ids"}


def on_the_wire(kind: str) -> list[Attribute]:
    return [
        item for item in RESOURCES_BY_KIND[kind] if not item.local and item.name not in WRITE_ONLY
    ]


def test_emulator_and_provider_have_the_same_documented_operations():
    assert {item.name: str(item) for item in operations.DOCUMENTED} == DOCUMENTED


@pytest.mark.parametrize("kind", RESOURCES_BY_KIND)
def test_emulator_and_provider_have_the_same_fields(kind):
    assert {item.name for item in on_the_wire(kind)} == {*FIELDS[kind]}


@pytest.mark.parametrize(
    "kind", [name for name, item in RESOURCES_BY_KIND.items() if item.owner == "host_id"]
)
def test_objects_of_a_host_go_with_it(make, kind):
    ask = make()
    host = ask.host()["id"]
    row = ask.store.add(KINDS[kind].collection, {"name": "owned", "host_id": host})
    assert ask("DELETE", f"/api/v1/hosts/{host}")[0] == 200
    left = ask.store.tables[KINDS[kind].collection].get(row["id"])
    assert left is None or left.get("status") == "archived"


def test_sets_and_fields_of_a_creation():
    assert {item.name for item in HOST if item.kind is Kind.STRING_SET} == {*HOST_SETS}
    fixed = {item.name for item in HOST if item.change is ChangeRule.REPLACE}
    assert fixed == {*ONLY_AT_CREATION}


@pytest.mark.parametrize(
    "name", [item.name for item in on_the_wire("host") if item.optional or item.required]
)
def test_each_attribute_of_a_host_is_kept(make, name):
    ask = make()
    attribute = HOST[name]
    given = [] if attribute.refers_to else value(attribute, 1 if attribute.bounds.allowed else 0)
    entry = ask.import_rows({"name": "h", name: given})["results"][0]
    path = f"/api/v1/hosts/{entry['id']}"
    assert ask("POST", path, {})[1][name] == given
    if attribute.change is ChangeRule.UPDATE:
        # Else an update would clear it by a null, which the document does not show.
        assert attribute.computed or attribute.required
        other = ask.import_rows({"name": "other"})["results"][0]["id"]
        status, body = ask("POST", f"/api/v1/hosts/{other}", {name: given})
        assert (status, body[name]) == (200, given)
