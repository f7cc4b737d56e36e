"""Each call of the provider's service, against a scripted lifecycle."""

import asyncio
import json
from typing import Any

import pytest

from opsconsole.redaction import Redaction
from opsconsole.resources import DATA_SOURCES, RESOURCES
from opsconsole.terraform.main import connect as connect_to_console
from opsconsole.terraform.proto import tfplugin6_pb2 as pb
from opsconsole.terraform.servicer import Servicer
from opsconsole.values import UNKNOWN

HOST = "opsconsole_host"
NULL = pb.DynamicValue(msgpack=b"\xc0")
ERROR = pb.Diagnostic.ERROR


def shown(response: Any) -> str:
    return "\n".join(f"{item.summary}: {item.detail}" for item in response.diagnostics)


async def apply(client: Any, prior: Any, planned: Any, private: bytes = b"before") -> Any:
    states = {"prior_state": prior, "planned_state": planned, "config": planned}
    return await client.call(
        "ApplyResourceChange", type_name=HOST, planned_private=private, **states
    )


async def test_metadata_and_schema_name_the_same_things(client):
    names = await client.call("GetMetadata")
    schema = await client.call("GetProviderSchema")
    assert {item.type_name for item in names.resources} == RESOURCES.keys()
    assert {item.type_name for item in names.data_sources} == DATA_SOURCES.keys()
    assert schema.resource_schemas.keys() == RESOURCES.keys()
    assert schema.data_source_schemas.keys() == DATA_SOURCES.keys()
    for capabilities in (names.server_capabilities, schema.server_capabilities):
        assert capabilities.plan_destroy
        assert capabilities.get_provider_schema_optional
        assert not capabilities.move_resource_state
    assert not (await client.call("GetFunctions")).diagnostics


async def test_validation_needs_no_configuration(start, connect, wire):
    async with start() as plugin, connect(plugin) as client:
        good = wire(HOST, name="a", tags=["env:prod"], target_port=UNKNOWN)
        bad = wire(HOST, name="a", tags=["prod"], target_port=0)
        response = await client.call("ValidateResourceConfig", type_name=HOST, config=good)
        assert not response.diagnostics
        response = await client.call("ValidateResourceConfig", type_name=HOST, config=bad)
        paths = {item.attribute.steps[0].attribute_name for item in response.diagnostics}
        assert paths == {"tags", "target_port"}
        data = "opsconsole_agent_plugins"
        config = pb.DynamicValue(json=b'{"agent_id": "agt_1", "plugins": null, "complete": null}')
        response = await client.call("ValidateDataResourceConfig", type_name=data, config=config)
        assert not response.diagnostics


@pytest.mark.parametrize(
    ("settings", "at_fault"),
    [
        ({}, None),
        ({"base_url": UNKNOWN, "host_read": "never"}, None),
        ({"host_read": "none"}, None),
        ({"host_read": "never"}, "host_read"),
        ({"max_retries": -1}, "max_retries"),
        ({"base_url": "ftp://console"}, "base_url"),
    ],
)
async def test_settings_are_judged_without_the_environment(client, wire, settings, at_fault):
    response = await client.call("ValidateProviderConfig", config=wire("provider", **settings))
    paths = [item.attribute.steps[0].attribute_name for item in response.diagnostics]
    assert paths == ([at_fault] if at_fault else [])


async def test_a_wrong_setting_is_one_diagnostic_at_that_setting(client):
    [problem] = (await client.configure(base_url="wrong")).diagnostics
    assert problem.attribute.steps[0].attribute_name == "base_url"
    assert "Mend it." in problem.detail


async def test_journals_of_the_native_engine(start, connect, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    journal = tmp_path / "terraform.tfstate.opsconsole-journal"
    async with start(env={"TF_LOG": "info"}) as plugin, connect(plugin) as client:
        journal.write_text("")
        [found] = (await client.configure()).diagnostics
        assert found.severity == ERROR
        assert str(journal) in found.detail
        assert "opsconsole state fold" in found.detail
        response = await client.call("ImportResourceState", type_name=HOST, id="hst_1")
        assert shown(response) == "The provider is not configured: "
        journal.unlink()
        await client.configure()
        client.channel.close()
        plugin.process.terminate()
        assert (await plugin.stderr()).count("configured under Terraform") == 1


async def calls_that_need_a_configuration(client: Any, wire: Any) -> list[Any]:
    state = wire(HOST, name="a")
    one = {"type_name": HOST}
    unread = pb.DynamicValue(json=b'{"specialties": null, "complete": null}')
    return [
        await client.call("ReadResource", current_state=state, **one),
        await client.call("PlanResourceChange", proposed_new_state=state, config=state, **one),
        await apply(client, NULL, state),
        await client.call("ImportResourceState", id="hst_1", **one),
        await client.call("ReadDataSource", type_name="opsconsole_specialties", config=unread),
    ]


async def test_unknown_settings_put_everything_off(start, connect, wire):
    async with start() as plugin, connect(plugin) as client:
        for response in await calls_that_need_a_configuration(client, wire):
            assert shown(response) == "The provider is not configured: "
        assert not (await client.configure(base_url=UNKNOWN, org_id="org_1")).diagnostics
        for response in await calls_that_need_a_configuration(client, wire):
            [problem] = response.diagnostics
            assert problem.summary == "The provider's base_url will be known only after apply"
            assert "-target" in problem.detail
        assert not (await client.configure(base_url="https://console")).diagnostics
        for response in await calls_that_need_a_configuration(client, wire):
            assert not response.diagnostics


async def test_stored_states_are_read_as_this_version_has_them(client, codec_of):
    body = json.dumps({"name": "a", "target_port": 22, "gone_attribute": 1}).encode()
    response = await client.call(
        "UpgradeResourceState", type_name=HOST, raw_state=pb.RawState(json=body)
    )
    expected = RESOURCES[HOST].empty() | {"name": "a", "target_port": 22}
    assert codec_of(HOST).decode(response.upgraded_state) == expected


@pytest.mark.parametrize(
    "raw", [pb.RawState(flatmap={"name": "a"}), pb.RawState(json=b"{"), pb.RawState(json=b"[]")]
)
async def test_states_that_cannot_be_read(client, raw):
    response = await client.call("UpgradeResourceState", type_name=HOST, raw_state=raw)
    assert [item.severity for item in response.diagnostics] == [ERROR]


async def test_read(client, wire):
    state = wire(HOST, name="a", id="hst_1")
    response = await client.call(
        "ReadResource", type_name=HOST, current_state=state, private=b"kept"
    )
    assert (response.new_state, response.private) == (state, b"kept")
    gone = wire(HOST, name="gone")
    response = await client.call("ReadResource", type_name=HOST, current_state=gone)
    assert response.new_state == NULL
    assert (await client.call("ReadResource", type_name=HOST, current_state=NULL)).new_state == NULL


async def test_an_object_at_two_addresses_is_read_changed_and_deleted_once(client, wire):
    """Declaring only one of them would have the object of the other deleted."""
    state, changed = wire(HOST, name="a", id="hst_1"), wire(HOST, name="b", id="hst_1")
    for act in (
        lambda: client.call("ReadResource", type_name=HOST, current_state=state),
        lambda: apply(client, state, changed),
        lambda: apply(client, state, NULL),
    ):
        assert not (await act()).diagnostics
        refused = await act()
        assert shown(refused).startswith("Two addresses in state hold the host hst_1: One object")
        assert refused.new_state == state


async def test_creations_that_come_together_go_together(client, wire):
    responses = await asyncio.gather(
        *(apply(client, NULL, wire(HOST, name=f"h{number}")) for number in range(60))
    )
    together = [int(response.private) for response in responses]
    assert sum(1 / size for size in together) < 10


async def test_a_diagnostic_carries_its_path_and_no_secret(client, wire):
    response = await apply(client, NULL, wire(HOST, name="refused"))
    [problem] = response.diagnostics
    assert [step.attribute_name for step in problem.attribute.steps] == ["tags"]
    assert problem.detail == "with ***, Authorization: ***"
    assert response.new_state == NULL


async def test_an_exception_becomes_a_diagnostic_and_state_stays(start, connect, wire):
    async with start(env={"TF_LOG": "error"}) as plugin, connect(plugin) as client:
        await client.configure()
        state = wire(HOST, name="raise")
        changed = wire(HOST, name="raise", knowledge="new")
        read = await client.call("ReadResource", type_name=HOST, current_state=state)
        plan = await client.call(
            "PlanResourceChange", type_name=HOST, config=state, proposed_new_state=state
        )
        updated = await apply(client, state, changed)
        deleted = await apply(client, state, NULL)
        created = await apply(client, NULL, state)
        for response in (read, plan, updated, deleted, created):
            [problem] = response.diagnostics
            assert problem.severity == ERROR
            assert "svc_ak" not in shown(response)
        assert read.new_state == updated.new_state == deleted.new_state == state
        assert updated.private == b"before"
        assert created.new_state == NULL
        client.channel.close()
        plugin.process.terminate()
        lines = [
            json.loads(line) for line in (await plugin.stderr()).splitlines() if line[0] == "{"
        ]
        assert {line["@level"] for line in lines} == {"error"}
        assert any("RuntimeError: scripted, with ***" in line["@message"] for line in lines)


async def test_import(client, codec_of):
    response = await client.call("ImportResourceState", type_name=HOST, id="hst_1")
    [imported] = response.imported_resources
    assert (imported.type_name, imported.private) == (HOST, b"imported")
    assert codec_of(HOST).decode(imported.state)["id"] == "hst_1"
    response = await client.call("ImportResourceState", type_name=HOST, id="agt_1")
    assert not response.imported_resources
    assert "no such host" in shown(response)


async def test_moves_are_refused(client):
    response = await client.call(
        "MoveResourceState", source_type_name="other_host", target_type_name=HOST
    )
    assert "other_host cannot become opsconsole_host" in shown(response)


async def test_a_data_source_that_a_stop_leaves_unread(wire):
    """Terraform would call an answer without a value a bug of the provider."""
    calls = Servicer(connect_to_console, Redaction())
    settings = wire("provider", base_url="http://localhost:9", api_key="svc_ak_any")
    await calls.configure_provider(pb.ConfigureProvider.Request(config=settings))
    await calls.stop_provider(pb.StopProvider.Request())
    config = pb.DynamicValue(json=b'{"specialties": null, "complete": null}')
    asked = pb.ReadDataSource.Request(type_name="opsconsole_specialties", config=config)
    assert "Not begun: the run was told to stop" in shown(await calls.read_data_source(asked))
    await calls.close()


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("ReadResource", "resource"),
        ("ValidateResourceConfig", "resource"),
        ("ReadDataSource", "data source"),
        ("ValidateDataResourceConfig", "data source"),
    ],
)
async def test_unknown_types(client, call, kind):
    response = await client.call(call, type_name="opsconsole_nothing")
    assert shown(response) == f"This provider has no {kind} opsconsole_nothing: "
