"""Definitions as schema messages, diagnostics and paths as messages."""

import json
from typing import Any

import pytest

from opsconsole.definition import Kind
from opsconsole.diagnostics import error, warning
from opsconsole.redaction import Redaction
from opsconsole.resources import DATA_SOURCES, PROVIDER, RESOURCES
from opsconsole.terraform.codec import attribute_path, render_diagnostics, schema
from opsconsole.terraform.main import connect
from opsconsole.terraform.proto import tfplugin6_pb2 as pb
from opsconsole.terraform.servicer import Servicer

DEFINITIONS: dict[str, Any] = {"provider": PROVIDER, **RESOURCES} | {
    f"data {name}": item for name, item in DATA_SOURCES.items()
}


def check(definition: Any, shown: Any) -> None:
    for attribute, rendering in zip(definition, shown, strict=True):
        assert rendering.name == attribute.name
        assert rendering.description == attribute.description
        for flag in ("required", "optional", "computed", "sensitive"):
            assert getattr(rendering, flag) == getattr(attribute, flag)
        if attribute.attributes:
            assert not rendering.type
            check(attribute.attributes, rendering.nested_type.attributes)
        else:
            assert json.loads(rendering.type)


@pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=DEFINITIONS.keys())
def test_every_attribute_is_shown(definition):
    shown = schema(definition)
    assert shown.version == shown.block.version == 0
    assert shown.block.description == definition.description
    check(definition, shown.block.attributes)


@pytest.mark.parametrize(
    ("resource", "name", "expected"),
    [
        ("opsconsole_host", "name", b'"string"'),
        ("opsconsole_host", "target_port", b'"number"'),
        ("opsconsole_host", "skip_tls_verify", b'"bool"'),
        ("opsconsole_host", "tags", b'["set","string"]'),
        ("opsconsole_host", "jump_host_ids", b'["list","string"]'),
        ("opsconsole_agent", "credential_config", pb.Schema.Object.LIST),
        ("opsconsole_specialty", "timeouts", pb.Schema.Object.SINGLE),
    ],
)
def test_types(resource, name, expected):
    attributes = {item.name: item for item in schema(RESOURCES[resource]).block.attributes}
    found = attributes[name]
    assert (found.nested_type.nesting if isinstance(expected, int) else found.type) == expected


def test_map_settings_and_secrets():
    attributes = {item.name: item for item in schema(PROVIDER).block.attributes}
    assert attributes["extra_endpoints"].type == b'["map","string"]'
    assert {name for name, item in attributes.items() if item.sensitive} == {
        "api_key",
        "session_cookie",
    }
    assert any(item.kind is Kind.STRING_MAP for item in PROVIDER)


@pytest.mark.parametrize(
    ("where", "path", "steps"),
    [
        ("opsconsole_host", ("name",), ["name"]),
        ("opsconsole_host", ("tags", 1), ["tags"]),
        ("opsconsole_host", ("jump_host_ids", 1), ["jump_host_ids", 1]),
        ("opsconsole_host", ("nothing",), []),
        ("opsconsole_specialty", ("timeouts", "delete"), ["timeouts", "delete"]),
        ("opsconsole_agent", ("credential_config", 0, "order"), ["credential_config", 0, "order"]),
    ],
)
def test_paths(where, path, steps):
    rendering = attribute_path(path, RESOURCES[where].by_name)
    selected = [getattr(step, step.WhichOneof("selector")) for step in rendering.steps]
    assert selected == steps


def test_elements_of_a_map_are_named_by_key():
    path = attribute_path(("extra_endpoints", "host_get"), PROVIDER.by_name)
    assert path.steps[1].element_key_string == "host_get"


def test_diagnostics():
    redaction = Redaction()
    redaction.learn("hunter22")
    found = [error("wrong: hunter22", "detail hunter22", ("name",)), warning("careful")]
    first, second = render_diagnostics(found, RESOURCES["opsconsole_host"].by_name, redaction)
    assert (first.severity, second.severity) == (pb.Diagnostic.ERROR, pb.Diagnostic.WARNING)
    assert (first.summary, first.detail) == ("wrong: ***", "detail ***")
    assert first.attribute.steps[0].attribute_name == "name"
    assert not second.HasField("attribute")


@pytest.mark.parametrize("name", ["OPSCONSOLE_API_KEY", "OPSCONSOLE_SESSION_COOKIE"])
def test_secrets_of_the_environment_are_hidden(name, monkeypatch):
    monkeypatch.setenv(name, "sid=hunter22")
    redaction = Redaction()
    Servicer(connect, redaction)
    assert redaction.hide("the console echoes hunter22") == "the console echoes ***"
