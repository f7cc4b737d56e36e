"""A wrong value is refused where it is written, with the construct's path; tokens always pass."""

import cdktf
import pytest
from constructs import Construct

from opsconsole.bounds import Bounds
from opsconsole_cdktf import Agent, BlacklistedCommand, Host, OpsconsoleProvider, Specialty

_WRONG_VALUES = [
    (
        Host,
        {"ip_connect_mode": "nearest"},
        "cannot be 'nearest': it is one of: auto, public, private",
    ),
    (Host, {"target_port": 0}, "cannot be 0: it must be 1 to 65535"),
    (Host, {"target_port": 65536}, "cannot be 65536: it must be 1 to 65535"),
    (Host, {"target_port": -(10**20) + 1}, f"cannot be -{'9' * 20}: it must be 1 to 65535"),
    (Host, {"target_port": 10**999}, "cannot be 1e+999: it must be 1 to 65535"),
    (Host, {"target_port": 12345678 * 10**9999}, "cannot be 1.23457e+10006: it must be"),
    (Host, {"tags": ["a:b", "untagged"]}, "cannot be 'untagged': a tag is shaped <key>:<value>"),
    (Host, {"deletion_policy": "prevent"}, "cannot be 'prevent': it is one of: delete, abandon"),
    (BlacklistedCommand, {"pattern": ""}, "has 0 characters: it must have 1 to 200 of them"),
    (BlacklistedCommand, {"pattern": "x" * 201}, "has 201 characters: it must have 1 to 200"),
    (Specialty, {"timeouts": {"delete": "soon"}}, "delete: cannot be 'soon': a duration"),
    (OpsconsoleProvider, {"host_read": "guess"}, "cannot be 'guess': it is one of: empty_update,"),
]
_WRONG_TYPES = [
    (Host, {"name": 7}, "expected a string, got int"),
    (Host, {"tags": "a:b"}, "expected a list of strings, got str"),
    (Host, {"tags": [1]}, "expected a string, got int"),
    (Host, {"tags": {"a:b", 1}}, "expected a string, got int"),
    (Host, {"tags": ["a:b", None]}, "expected a string, got NoneType"),
    (Host, {"tags": 1}, "expected a list of strings, got int"),
    (Host, {"target_port": "22"}, "expected a whole number, got str"),
    (Host, {"target_port": 22.5}, "expected a whole number, got float"),
    (Host, {"target_port": float("nan")}, "expected a whole number, got nan"),
    (OpsconsoleProvider, {"request_timeout": float("-inf")}, "expected a number, got -inf"),
    (Host, {"target_port": True}, "expected a whole number, got bool"),
    (Host, {"skip_tls_verify": "no"}, "expected True or False, got str"),
    (Agent, {"credential_config": {"order": 1}}, "expected a list, got dict"),
    (Agent, {"credential_config": ["crd_1"]}, "expected AgentCredentialConfig or a mapping"),
    (Agent, {"credential_config": [{"order": "1"}]}, "order: expected a whole number, got str"),
    (Agent, {"credential_config": [{"role": "x"}]}, "unexpected keyword argument 'role'"),
    (OpsconsoleProvider, {"list_query": ["a"]}, "expected a mapping of strings, got list"),
    (
        Host,
        {"for_each": {"a": 1}},
        "expected an iterator, got dict, did you mean TerraformIterator",
    ),
    (Host, {"depends_on": ["host"]}, "expected constructs, got str"),
]


_NEEDED = {Host: {"name": "it"}, Agent: {"host_id": None, "specialty_id": None}}


def _arguments(construct, values):
    return {**_NEEDED.get(construct, {}), **values}


def test_what_is_needed_is_demanded_and_what_is_misspelt_is_named(stack, synth):
    with pytest.raises(TypeError, match="missing 2 required keyword-only arguments: 'host_id' and"):
        Agent(stack, "it", name="x")
    with pytest.raises(TypeError, match="it: scope: expected a construct, got NoneType"):
        Host(None, "it", name="x")
    with pytest.raises(TypeError, match="stack: id: expected a string, got int"):
        Host(stack, 1, name="x")
    with pytest.raises(TypeError, match=r"argument 'nmae'\. Did you mean \"name\"\?"):
        Host(stack, "it", nmae="x")
    with pytest.raises(TypeError, match=r"'spec_id'\. Did you mean \"specialty_id\"\?"):
        Agent(stack, "it", host_id="hst_1", spec_id="x")
    # An agent that was imported, and never shown its host: null is written, and taken as meant.
    Agent(stack, "it", host_id=None, specialty_id="spc_1")
    written = {"host_id": "${null}", "specialty_id": "spc_1"}
    assert synth(stack)["resource"]["opsconsole_agent"]["it"] == written


@pytest.mark.parametrize(("construct", "values", "problem"), _WRONG_VALUES)
def test_a_value_out_of_bounds(stack, construct, values, problem):
    with pytest.raises(ValueError) as failure:
        construct(Construct(stack, "group"), "it", **_arguments(construct, values))
    (name,) = values
    assert str(failure.value).startswith(f"stack/group/it: {name}: ")
    assert problem in str(failure.value)


@pytest.mark.parametrize(("construct", "values", "problem"), _WRONG_TYPES)
def test_a_value_of_a_wrong_type(stack, construct, values, problem):
    with pytest.raises(TypeError) as failure:
        construct(stack, "it", **_arguments(construct, values))
    (name,) = values
    assert str(failure.value).startswith(f"stack/it: {name}: ")
    assert problem in str(failure.value)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"name": "host"}, "name: got Host, did you mean .id?"),
        ({"jump_host_ids": ["host"]}, "jump_host_ids: got Host, did you mean .id?"),
        ({"jump_host_ids": "host"}, "jump_host_ids: got Host, did you mean a list of .id?"),
        ({"name": "text"}, "name: got TerraformVariable, did you mean .string_value?"),
        ({"target_port": "text"}, "target_port: got TerraformVariable, did you mean .value?"),
        ({"name": "group"}, "name: expected a string, got Construct: a construct is not a value"),
    ],
)
def test_a_construct_where_a_value_belongs(stack, values, problem):
    constructs = {
        "host": Host(stack, "host", name="host"),
        "text": cdktf.TerraformVariable(stack, "text", type="string"),
        "group": Construct(stack, "group"),
    }

    def put(value):
        return (
            [constructs[item] for item in value] if isinstance(value, list) else constructs[value]
        )

    with pytest.raises(TypeError) as failure:
        Host(stack, "it", **{"name": "it"} | {name: put(value) for name, value in values.items()})
    assert str(failure.value) == f"stack/it: {problem}"


def test_a_slip_in_an_allowed_value_names_the_closest_in_one_traceback(stack):
    with pytest.raises(ValueError) as failure:
        Host(stack, "it", name="it", target_type="wirnm")  # type: ignore[arg-type]  # the slip
    assert str(failure.value) == (
        "stack/it: target_type: cannot be 'wirnm': it is one of: ssh, winrm, did you mean 'winrm'?"
    )
    assert failure.value.__cause__ is None
    assert failure.value.__context__ is None


def test_an_attribute_that_does_not_exist_is_no_assignment(stack):
    host = Host(stack, "it", name="it")
    with pytest.raises(
        AttributeError, match=r"stack/it: Host has no attribute tagz, did you mean tags\?"
    ):
        host.tagz = ["a:1"]  # type: ignore[attr-defined]  # the slip
    with pytest.raises(AttributeError, match=r"OpsconsoleProvider has no attribute url$"):
        OpsconsoleProvider(stack, "other", alias="other").url = "x"  # type: ignore[attr-defined]


def test_a_class_of_ones_own_keeps_what_it_likes(stack, synth):
    class Web(Host):
        def __init__(self, scope, id_, **values) -> None:
            super().__init__(scope, id_, name=id_, **values)
            self.owner = "somebody"

    assert Web(stack, "web", tags=["role:web"]).owner == "somebody"
    declared = synth(stack)["resource"]["opsconsole_host"]["web"]
    assert declared == {"name": "web", "tags": ["role:web"]}


def test_one_end_of_a_range_is_enough():
    for bounds, value, wanted in (
        (Bounds(min_length=1), "", "it must have at least 1 of them"),
        (Bounds(max_length=2), "abc", "it must have at most 2 of them"),
        (Bounds(minimum=1), 0, "it must be at least 1"),
    ):
        broken = bounds.check(value)
        assert broken is not None and broken.expected == wanted


def test_a_whole_number_is_synthesised_without_a_fraction(stack, synth):
    Host(stack, "it", name="it", target_port=22.0)  # type: ignore[arg-type]  # lenient
    assert repr(synth(stack)["resource"]["opsconsole_host"]["it"]["target_port"]) == "22"


def test_hover_text_has_allowed_values_and_bounds():
    text = Host.__doc__ or ""
    assert "One of `ssh`, `winrm`." in text
    assert "1 to 65535." in text
    assert "1 to 200 characters." in (BlacklistedCommand.__doc__ or "")


def test_a_wrong_construct_leaves_nothing_behind(stack, synth):
    with pytest.raises(ValueError):
        Host(stack, "it", name="it", target_port=0)
    Host(stack, "it", name="it", target_port=1)
    assert synth(stack)["resource"]["opsconsole_host"]["it"]["target_port"] == 1


def test_a_wrong_value_assigned_later(stack, synth):
    host = Host(stack, "it", name="it", target_port=22)
    with pytest.raises(ValueError, match="stack/it: target_port: cannot be 70000: it must be"):
        host.target_port = 70000
    assert synth(stack)["resource"]["opsconsole_host"]["it"]["target_port"] == 22


def test_what_only_terraform_knows_passes(stack, synth):
    text = cdktf.TerraformVariable(stack, "text", type="string")
    number = cdktf.TerraformVariable(stack, "number", type="number")
    flag = cdktf.TerraformVariable(stack, "flag", type="bool")
    many = cdktf.TerraformVariable(stack, "many", type="list(string)")
    values: dict[str, tuple[object, object]] = {
        "name": (text.string_value, "${var.text}"),
        "ip_connect_mode": (text.string_value, "${var.text}"),
        "target_port": (number.value, "${var.number}"),
        "skip_tls_verify": (flag.boolean_value, "${var.flag}"),
        "tags": (many.list_value, "${var.many}"),
        "additional_names": (
            [text.string_value, "${var.text}-b"],
            ["${var.text}", "${var.text}-b"],
        ),
        "eligible_subnets": (("10.0.0.0/8",), ["10.0.0.0/8"]),
        "knowledge": ("${var.text}", "${var.text}"),
    }
    Host(stack, "it", **{name: given for name, (given, _) in values.items()})
    made = synth(stack)["resource"]["opsconsole_host"]["it"]
    assert made == {name: written for name, (_, written) in values.items()}


def test_a_python_set_is_sorted(stack, synth):
    Host(stack, "it", name="it", tags={"c:3", "a:1", "b:2"})  # type: ignore[arg-type]  # lenient
    assert synth(stack)["resource"]["opsconsole_host"]["it"]["tags"] == ["a:1", "b:2", "c:3"]


def test_an_object_that_is_a_token(stack, synth):
    credentials = cdktf.TerraformVariable(stack, "credentials", type="any")
    Agent(stack, "all", **_NEEDED[Agent], credential_config=credentials.value)
    Agent(stack, "some", **_NEEDED[Agent], credential_config=[credentials.value])
    agents = synth(stack)["resource"]["opsconsole_agent"]
    assert agents["all"]["credential_config"] == "${var.credentials}"
    assert agents["some"]["credential_config"] == ["${var.credentials}"]
