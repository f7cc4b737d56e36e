"""A wrong value is refused where it is written, with the construct's path; tokens always pass."""

from __future__ import annotations

import cdktf
import pytest
from constructs import Construct

from opsconsole_cdktf import Agent, BlacklistedCommand, Host, OpsconsoleProvider, Specialty

_WRONG_VALUES = [
    (Host, {"ip_connect_mode": "nearest"}, "'nearest' is none of auto, public, private"),
    (Host, {"target_port": 0}, "0 is less than 1"),
    (Host, {"target_port": 65536}, "65536 is more than 65535"),
    (Host, {"tags": ["a:b", "untagged"]}, "'untagged': a tag is shaped <key>:<value>"),
    (Host, {"deletion_policy": "prevent"}, "'prevent' is none of delete, abandon"),
    (BlacklistedCommand, {"pattern": ""}, "'' is shorter than 1 characters"),
    (BlacklistedCommand, {"pattern": "x" * 201}, "its 201 characters are more than 200"),
    (Specialty, {"timeouts": {"delete": "soon"}}, "delete: 'soon': a duration"),
    (OpsconsoleProvider, {"host_read": "guess"}, "'guess' is none of empty_update, none"),
]
_WRONG_TYPES = [
    (Host, {"name": 7}, "expected a string, got int"),
    (Host, {"tags": "a:b"}, "expected a list of strings, got str"),
    (Host, {"tags": [1]}, "expected a string, got int"),
    (Host, {"tags": 1}, "expected a list of strings, got int"),
    (Host, {"target_port": "22"}, "expected a number, got str"),
    (Host, {"target_port": True}, "expected a number, got bool"),
    (Host, {"skip_tls_verify": "no"}, "expected True or False, got str"),
    (Agent, {"credential_config": {"order": 1}}, "expected a list, got dict"),
    (Agent, {"credential_config": ["crd_1"]}, "expected AgentCredentialConfig or a mapping"),
    (Agent, {"credential_config": [{"order": "1"}]}, "order: expected a number, got str"),
    (Agent, {"credential_config": [{"role": "x"}]}, "unexpected keyword argument 'role'"),
    (OpsconsoleProvider, {"list_query": ["a"]}, "expected a mapping of strings, got list"),
]


def _arguments(construct, values):
    return {"name": "it", **values} if construct is Host else values


@pytest.mark.parametrize(("construct", "values", "problem"), _WRONG_VALUES)
def test_a_value_out_of_bounds(stack, construct, values, problem) -> None:
    with pytest.raises(ValueError) as failure:
        construct(Construct(stack, "group"), "it", **_arguments(construct, values))
    (name,) = values
    assert str(failure.value).startswith(f"stack/group/it: {name}: ")
    assert problem in str(failure.value)


@pytest.mark.parametrize(("construct", "values", "problem"), _WRONG_TYPES)
def test_a_value_of_a_wrong_type(stack, construct, values, problem) -> None:
    with pytest.raises(TypeError) as failure:
        construct(stack, "it", **_arguments(construct, values))
    (name,) = values
    assert str(failure.value).startswith(f"stack/it: {name}: ")
    assert problem in str(failure.value)


def test_a_wrong_construct_leaves_nothing_behind(stack, synth) -> None:
    with pytest.raises(ValueError):
        Host(stack, "it", name="it", target_port=0)
    Host(stack, "it", name="it", target_port=1)
    assert synth(stack)["resource"]["opsconsole_host"]["it"]["target_port"] == 1


def test_a_wrong_value_assigned_later(stack, synth) -> None:
    host = Host(stack, "it", name="it", target_port=22)
    with pytest.raises(ValueError, match="stack/it: target_port: 70000 is more than 65535"):
        host.target_port = 70000
    assert synth(stack)["resource"]["opsconsole_host"]["it"]["target_port"] == 22


def test_what_only_terraform_knows_passes(stack, synth) -> None:
    text = cdktf.TerraformVariable(stack, "text", type="string")
    number = cdktf.TerraformVariable(stack, "number", type="number")
    flag = cdktf.TerraformVariable(stack, "flag", type="bool")
    many = cdktf.TerraformVariable(stack, "many", type="list(string)")
    Host(
        stack,
        "it",
        name=text.string_value,
        ip_connect_mode=text.string_value,
        target_port=number.number_value,
        skip_tls_verify=flag.boolean_value,
        tags=many.list_value,
        additional_names=[text.string_value, "${var.text}-b"],
        eligible_subnets=("10.0.0.0/8",),
        knowledge="${var.text}",
    )
    assert synth(stack)["resource"]["opsconsole_host"]["it"] == {
        "name": "${var.text}",
        "ip_connect_mode": "${var.text}",
        "target_port": "${var.number}",
        "skip_tls_verify": "${var.flag}",
        "tags": "${var.many}",
        "additional_names": ["${var.text}", "${var.text}-b"],
        "eligible_subnets": ["10.0.0.0/8"],
        "knowledge": "${var.text}",
    }


def test_a_python_set_is_sorted(stack, synth) -> None:
    Host(stack, "it", name="it", tags={"c:3", "a:1", "b:2"})  # type: ignore[arg-type]  # lenient
    assert synth(stack)["resource"]["opsconsole_host"]["it"]["tags"] == ["a:1", "b:2", "c:3"]


def test_an_object_that_is_a_token(stack, synth) -> None:
    credentials = cdktf.TerraformVariable(stack, "credentials", type="any")
    Agent(stack, "all", credential_config=credentials.value)
    Agent(stack, "some", credential_config=[credentials.value])
    agents = synth(stack)["resource"]["opsconsole_agent"]
    assert agents["all"]["credential_config"] == "${var.credentials}"
    assert agents["some"]["credential_config"] == ["${var.credentials}"]
