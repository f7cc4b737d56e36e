"""Each attribute of each resource: created or adopted, changed by its declaration, changed behind.

Driven by the definitions: an attribute is covered by being defined. Each gets a resource of its
own, so that a request carries that one attribute alone.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from declarations import (
    agent_on,
    attribute_at,
    gates,
    held,
    kind_of,
    program,
    value,
)
from engines import Terraform
from opsconsole.definition import Attribute, ChangeRule, ResourceDefinition
from opsconsole.emulator import Emulator
from opsconsole.emulator.document import KINDS
from opsconsole.resources import AGENT, RESOURCES

AGENT_FRAME = agent_on("gate_0")
COLLECTIONS = {item.name: KINDS[kind_of(item)].collection for item in RESOURCES.values()}
COLLECTIONS["agent_plugin"] = "attachments"
_LABELS: dict[str, dict[str, Any]] = {"specialty": {}, "blacklisted_command": {"pattern": "old"}}
ADOPTED = tuple(_LABELS)
CHANGED_BY_EXTRAS = ("opsconsole_specialty", "opsconsole_agent", "opsconsole_blacklisted_command")


@dataclass
class Scenario:
    """One resource against one console: a declaration for each of its attributes."""

    definition: ResourceDefinition
    console: Emulator
    adopts: bool = True

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return tuple(a for a in self.definition.settable if self.adopts or a.name != "id")

    @property
    def extra(self) -> Mapping[str, str]:
        """The extra endpoints that the provider is told of."""
        return self.console.profile.provider_settings.get("extra_endpoints", {})

    def rule(self, attribute: Attribute) -> ChangeRule:
        """What a change of the attribute asks for."""
        return ChangeRule.UPDATE if attribute.lifted_by in self.extra else attribute.change

    def change(self, attribute: Attribute) -> ChangeRule:
        """What a changed declaration asks for; no agent is replaced while its host stays."""
        alone = self.definition is AGENT and "agent_delete" not in self.extra
        rule = self.rule(attribute)
        return ChangeRule.REFUSE if alone and rule is ChangeRule.REPLACE else rule

    def address(self, attribute: Attribute) -> str:
        return f"{self.definition.type_name}.{attribute.name}"

    def seed(self) -> None:
        """Put the rows on the console that the declarations adopt."""
        if self.definition.name not in ADOPTED:
            return
        collection = COLLECTIONS[self.definition.name]
        for attribute in self.attributes:
            name = attribute.name
            if name in ("id", "key"):
                for variant in (0, 1):
                    row = {"id": f"row_{name}_{variant}", **_LABELS[self.definition.name]}
                    self.console.create(collection, **row | {name: value(attribute, variant)})
                continue
            row = {"id": f"row_{name}", **_LABELS[self.definition.name]}
            if self.definition.name == "specialty":
                row["key"] = f"key_{name}"
                if self.change(attribute) is ChangeRule.REFUSE:
                    row[name] = value(attribute, 0)
            self.console.create(collection, **row)

    def declaration(self, attribute: Attribute, variant: int) -> dict[str, Any]:
        name = attribute.name
        declared = {name: value(attribute, variant)}
        match self.definition.name:
            case "host":
                return {"name": name} | declared
            case "agent":
                return {"name": name, **AGENT_FRAME} | declared
            case "agent_plugin":
                agent = "${opsconsole_agent.first.id}"
                return {"agent_id": agent, "plugin_id": "plg_backup"} | declared
            case "specialty":
                frame = {} if name in ("id", "key") else {"key": f"key_{name}"}
                return frame | declared
            case "blacklisted_command":
                frame = {} if name == "id" else {"id": f"row_{name}"}
                if not self.adopts:
                    frame = {"pattern": f"for {name}"}
                if name == "tenant_wide" and not declared[name]:
                    frame["org_id"] = "org_main"
                return frame | declared
        return {item.name: value(item, 0) for item in self.attributes if item.required} | declared

    def program(self, variants: dict[str, int]) -> dict[str, Any]:
        declared = {
            attribute.name: self.declaration(attribute, variants.get(attribute.name, 0))
            for attribute in self.attributes
        }
        around: dict[str, Any] = {"host": gates(), "agent": {}}
        if self.definition.name == "agent_plugin":
            around["agent"] = {name: {"name": name, **AGENT_FRAME} for name in ("first", "second")}
        around.setdefault(self.definition.name, {}).update(declared)
        return program(**around)

    def rows(self, engine: Terraform) -> Iterator[tuple[Attribute, dict[str, Any], Any]]:
        """Yield each attribute that the console keeps, its resource in state, and its row."""
        state = held(engine)
        for attribute in self.attributes:
            values = state[self.address(attribute)]
            if not attribute.local:
                row = self.console.row(COLLECTIONS[self.definition.name], values["id"])
                yield attribute, values, row

    def check(self, engine: Terraform, variants: dict[str, int]) -> None:
        """Check that declaration, state and console agree on each attribute."""
        for attribute, values, row in self.rows(engine):
            wanted = value(attribute, variants.get(attribute.name, 0))
            if attribute.refers_to is None:
                assert values[attribute.name] == wanted, attribute.name
            if attribute.name == "plugin_ids":
                attached = self.console.rows("attachments")
                kept = [item["plugin_id"] for item in attached if item["agent_id"] == row["id"]]
            else:
                kept = row[attribute.name]
            assert as_set(kept) == as_set(values[attribute.name]), attribute.name


def as_set(item: Any) -> Any:
    return sorted(item) if isinstance(item, list) and item and isinstance(item[0], str) else item


@pytest.fixture(
    params=[
        *(("default", name) for name in RESOURCES),
        *(("extended", name) for name in CHANGED_BY_EXTRAS),
    ],
    ids=lambda pair: "-".join(pair),
)
def scenario(request: pytest.FixtureRequest, console_of: Callable[[str], Emulator]) -> Scenario:
    """One resource on one console, with the rows that it adopts."""
    profile, name = request.param
    made = Scenario(RESOURCES[name], console_of(profile))
    made.seed()
    return made


def test_each_attribute_is_created_changed_and_repaired(scenario, applied):
    engine = applied(scenario.program({}), scenario.console)
    scenario.check(engine, {})

    variants = {attribute.name: 1 for attribute in scenario.attributes}
    refused = refusals(engine, scenario, variants)
    for name in refused:
        variants[name] = 0
    change_by_declaration(engine, scenario, variants)
    change_behind(engine, scenario, variants)


@pytest.mark.parametrize("name", ADOPTED)
def test_a_creation_sends_each_attribute(name, console_of, applied):
    definition = RESOURCES[f"opsconsole_{name}"]
    scenario = Scenario(definition, console_of("extended"), adopts=False)
    engine = applied(scenario.program({}), scenario.console)
    scenario.check(engine, {})


def refusals(engine: Terraform, scenario: Scenario, variants: dict[str, int]) -> set[str]:
    """Check that what nothing can change is an error at that attribute; return its names."""
    refused = {a.name for a in scenario.attributes if scenario.change(a) is ChangeRule.REFUSE}
    if not refused:
        return refused
    run = engine.plan_run(program=scenario.program(variants), expect={1})
    assert {(error["address"], attribute_at(engine.folder, error)) for error in run.errors} == {
        (f"{scenario.definition.type_name}.{name}", name) for name in refused
    }
    return refused


def change_by_declaration(engine: Terraform, scenario: Scenario, variants: dict[str, int]) -> None:
    """Check what is planned, what is sent and what is kept for each changed attribute."""
    plan = engine.plan(program=scenario.program(variants))
    expected = {
        scenario.address(attribute): ["delete", "create"]
        if scenario.change(attribute) is ChangeRule.REPLACE
        else ["update"]
        for attribute in scenario.attributes
        if variants[attribute.name]
    }
    assert plan.actions == expected
    for address, actions in plan.actions.items():
        if len(actions) > 1:
            assert plan.change(address)["replace_paths"] == [[address.rpartition(".")[2]]]

    scenario.console.reset_log()
    engine.apply(plan.saved)
    scenario.check(engine, variants)
    check_bodies(engine, scenario, variants)
    engine.plan_run(expect={0})


def check_bodies(engine: Terraform, scenario: Scenario, variants: dict[str, int]) -> None:
    """Check that a partial update carried the changed attribute and nothing else."""
    operation = f"{kind_of(scenario.definition)}_update"
    sent: dict[str, list[Any]] = {}
    for entry in scenario.console.requests():
        if entry["operation"] == operation and entry["body"]:
            sent.setdefault(entry["path"].rpartition("/")[2], []).append(entry["body"])
    expected = {}
    for attribute, values, _ in scenario.rows(engine):
        updated = scenario.change(attribute) is ChangeRule.UPDATE and variants[attribute.name]
        if updated and attribute.name != "plugin_ids":
            expected[values["id"]] = [{attribute.name: values[attribute.name]}]
    if scenario.definition.name == "blacklisted_command":
        expected["row_tenant_wide"] = [{"org_id": "org_main"}]
    assert sent == expected


def change_behind(engine: Terraform, scenario: Scenario, variants: dict[str, int]) -> None:
    """Change each attribute on the console; the next plan finds it and the next apply mends it."""
    found: dict[str, list[str]] = {}
    followed: set[str] = set()
    refused: set[str] = set()
    seen_whole = scenario.definition is not AGENT or "agent_get" in scenario.extra
    for attribute, values, row in list(scenario.rows(engine)):
        if scenario.definition.name == "agent_plugin" or attribute.name == "id":
            continue
        address = scenario.address(attribute)
        if attribute.name == "plugin_ids":
            scenario.console.delete("attachments", f"{row['id']}/{values['plugin_ids'][0]}")
            found[address] = ["update"]
            continue
        other = behind(scenario, attribute, variants)
        scenario.console.change(COLLECTIONS[scenario.definition.name], row["id"], **other)
        if not seen_whole:
            continue
        match scenario.rule(attribute):
            case ChangeRule.UPDATE:
                found[address] = ["update"]
            case ChangeRule.REPLACE:
                followed.add(address)
            case _:
                refused.add(address)
    if refused:
        run = engine.plan_run(expect={1})
        assert {error["address"] for error in run.errors} == refused
        return
    plan = engine.plan()
    assert plan.actions == found
    assert set(plan.drift) == set(found) | followed
    told = {w["address"] for w in plan.run.warnings if "The console itself changed" in w["summary"]}
    assert told == followed
    if found:
        engine.apply(plan.saved)
        engine.plan_run(expect={0})


def behind(scenario: Scenario, attribute: Attribute, variants: dict[str, int]) -> dict[str, Any]:
    """Return another value than the declared one, without references."""
    if attribute.refers_to == "host":
        hosts = [row["id"] for row in scenario.console.rows("hosts") if row["name"] == "gate-0"]
        return {attribute.name: hosts if attribute.name.endswith("s") else "hst_other"}
    return {attribute.name: value(attribute, 1 - variants[attribute.name])}
