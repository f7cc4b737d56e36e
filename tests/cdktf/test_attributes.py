"""Every attribute of every definition: declared, referred to, changed and taken back."""

from typing import Any

import cdktf
import pytest
from scripts.generate.attributes import camel

import declarations
import opsconsole_cdktf
from opsconsole.definition import Kind
from opsconsole.resources import DATA_SOURCES, PROVIDER, RESOURCES


def _class(name, prefix=""):
    return getattr(opsconsole_cdktf, prefix + camel(name))


_CLASSES = [
    *((d, _class(d.name), "resource", d.type_name) for d in RESOURCES.values()),
    *((d, _class(d.name, "Data"), "data", d.type_name) for d in DATA_SOURCES.values()),
]
_SETTABLE = [
    pytest.param(*entry, attribute, id=f"{entry[1].__name__}.{attribute.name}")
    for entry in _CLASSES
    for attribute in entry[0]
    if attribute.settable
]


def _required(definition: Any) -> dict[str, Any]:
    return {
        item.name: declarations.value(item, 1)
        for item in definition
        if item.required or item.needed_to_create
    }


@pytest.mark.parametrize(("definition", "construct", "block", "type_name", "attribute"), _SETTABLE)
def test_an_argument_is_synthesised_and_taken_back(
    stack, synth, definition, construct, block, type_name, attribute
):
    value = declarations.value(attribute, 1)
    made = construct(stack, "it", **{**_required(definition), attribute.name: value})
    assert synth(stack)[block][type_name]["it"][attribute.name] == value
    assert getattr(made, f"{attribute.name}_input") == value
    setattr(made, attribute.name, None)
    assert getattr(made, f"{attribute.name}_input") is None
    assert attribute.name not in synth(stack)[block][type_name]["it"]
    setattr(made, attribute.name, value)
    assert synth(stack)[block][type_name]["it"][attribute.name] == value
    if not attribute.required:
        getattr(made, f"reset_{attribute.name}")()
        assert attribute.name not in synth(stack)[block][type_name]["it"]


@pytest.mark.parametrize(("definition", "construct", "block", "type_name"), _CLASSES)
def test_every_attribute_can_be_referred_to(stack, synth, definition, construct, block, type_name):
    made = construct(stack, "it", **_required(definition))
    address = f"{'data.' if block == 'data' else ''}{type_name}.it"
    for attribute in definition:
        value = getattr(made, attribute.name)
        assert getattr(made, attribute.name) is value, "a token is made once"
        cdktf.TerraformOutput(stack, f"{attribute.name}_out", value=value)
    outputs = synth(stack)["output"]
    for attribute in definition:
        expression = f"{address}.{attribute.name}"
        if attribute.kind is Kind.STRING_SET:
            expression = f"tolist({expression})"
        assert outputs[f"{attribute.name}_out"]["value"] == f"${{{expression}}}"


@pytest.mark.parametrize(("definition", "construct", "block", "type_name"), _CLASSES)
def test_what_the_console_supplies_cannot_be_declared(
    stack, definition, construct, block, type_name
):
    made = construct(stack, "it", **_required(definition))
    for attribute in definition:
        if not attribute.settable:
            with pytest.raises(AttributeError, match=attribute.name):
                setattr(made, attribute.name, "mine")
            with pytest.raises(TypeError, match=attribute.name):
                construct(stack, "other", **_required(definition), **{attribute.name: "mine"})


def test_what_is_declared_is_not_assigned_through_its_input(stack):
    host = opsconsole_cdktf.Host(stack, "it", name="it")
    with pytest.raises(AttributeError, match="assign to `name` instead"):
        host.name_input = "other"


def test_every_setting_of_the_provider(synth):
    stack = cdktf.TerraformStack(cdktf.Testing.app(), "stack")
    settings = {attribute.name: declarations.value(attribute, 1) for attribute in PROVIDER}
    provider = opsconsole_cdktf.OpsconsoleProvider(stack, "it", **settings)
    synthesised = synth(stack)
    assert synthesised["provider"]["opsconsole"] == [settings]
    assert synthesised["terraform"]["required_providers"]["opsconsole"] == {
        "source": "opsconsole/opsconsole",
        "version": "~> 0.1",
    }
    assert provider.base_url == "base_url 1"
    assert provider.max_retries_input == 41
    provider.base_url = "https://console.example"
    provider.reset_list_query()
    changed = synth(stack)["provider"]["opsconsole"][0]
    assert changed["base_url"] == "https://console.example"
    assert "list_query" not in changed


def test_fields_of_objects_can_be_referred_to(stack, synth):
    specialties = opsconsole_cdktf.DataSpecialties(stack, "all")
    plugins = opsconsole_cdktf.DataAgentPlugins(stack, "of", agent_id="agt_1")
    agent = opsconsole_cdktf.Agent(stack, "agent", host_id=None, specialty_id=None)
    specialty = opsconsole_cdktf.Specialty(stack, "one", key="one")
    values = {
        "key": specialties.specialties.get(0).key,
        "enabled": plugins.plugins.get(2).enabled,
        "order": agent.credential_config.get(1).order,
        "delete": specialty.timeouts.delete,
        "complete": plugins.complete,
    }
    for name, value in values.items():
        cdktf.TerraformOutput(stack, name, value=value)
    assert {name: item["value"] for name, item in synth(stack)["output"].items()} == {
        "key": "${data.opsconsole_specialties.all.specialties[0].key}",
        "enabled": "${data.opsconsole_agent_plugins.of.plugins[2].enabled}",
        "order": "${opsconsole_agent.agent.credential_config[1].order}",
        "delete": "${opsconsole_specialty.one.timeouts.delete}",
        "complete": "${data.opsconsole_agent_plugins.of.complete}",
    }


def test_objects_are_declared_as_objects_or_mappings(stack, synth):
    entry = opsconsole_cdktf.AgentCredentialConfig(credential_id="crd_1", order=1)
    credentials = [entry, {"credential_id": "crd_2", "is_required": True}]
    facts = {"host_id": None, "specialty_id": None, "credential_config": credentials}
    agent = opsconsole_cdktf.Agent(stack, "a", **facts)
    opsconsole_cdktf.Specialty(stack, "s", key="k").put_timeouts(delete="5m")
    resources = synth(stack)["resource"]
    assert resources["opsconsole_agent"]["a"]["credential_config"] == [
        {"credential_id": "crd_1", "order": 1},
        {"credential_id": "crd_2", "is_required": True},
    ]
    assert resources["opsconsole_specialty"]["s"]["timeouts"] == {"delete": "5m"}
    agent.put_credential_config([entry])
    assert len(synth(stack)["resource"]["opsconsole_agent"]["a"]["credential_config"]) == 1
