"""A host depends on the specialties that its agents carry, and nothing becomes a cycle."""

import json
from pathlib import Path

import cdktf
import jsii
import pytest
from constructs import Construct

from opsconsole_cdktf import (
    Agent,
    DataSpecialties,
    DataSpecialty,
    Host,
    OpsconsoleProvider,
    Specialty,
)


def _dependencies(synthesised):
    hosts = synthesised["resource"]["opsconsole_host"]
    return {name: sorted(host.get("depends_on", [])) for name, host in hosts.items()}


def _dependency(synthesised, name="host"):
    return _dependencies(synthesised)[name]


def _pair(scope):
    return Host(scope, "host", name="host"), Specialty(scope, "specialty", key="key")


def test_a_host_depends_on_the_specialties_of_its_agents(stack, synth):
    host, specialty = _pair(stack)
    other = Specialty(stack, "other", key="other")
    # Not an id that the constructs take for themselves.
    alone = Host(stack, "opsconsole-dependencies", name="alone")
    Agent(stack, "one", host_id=host.id, specialty_id=specialty.id)
    Agent(stack, "two", host_id=host.id, specialty_id=specialty.id)
    Agent(stack, "three", host_id=host.id, specialty_id=other.id)
    Agent(stack, "four", host_id=alone.id, specialty_id="spc_known")
    expected = {
        "host": ["opsconsole_specialty.other", "opsconsole_specialty.specialty"],
        "opsconsole-dependencies": [],
    }
    assert _dependencies(synth(stack)) == expected
    assert _dependencies(synth(stack)) == expected, "a second synthesis adds nothing"


@pytest.mark.parametrize(
    ("host_id", "specialty_id"),
    [
        pytest.param(
            lambda host: "${opsconsole_host.host.id}",
            lambda specialty: "${opsconsole_specialty.specialty.id}",
            id="expressions",
        ),
        pytest.param(
            lambda host: host.get_string_attribute("id"),
            lambda specialty: specialty.get_string_attribute("id"),
            id="other-tokens",
        ),
        pytest.param(
            lambda host: host.id,
            lambda specialty: cdktf.Fn.trimspace(specialty.id),
            id="a-function",
        ),
        pytest.param(
            lambda host: cdktf.Token.as_string(cdktf.Fn.lookup({"a": host.id}, "a")),
            lambda specialty: specialty.id,
            id="a-lookup",
        ),
    ],
)
def test_however_the_ids_travel(stack, synth, host_id, specialty_id):
    host, specialty = _pair(stack)
    Agent(stack, "agent", host_id=host_id(host), specialty_id=specialty_id(specialty))
    for _ in range(2):
        assert _dependency(synth(stack)) == ["opsconsole_specialty.specialty"]


def test_ids_that_travel_through_locals(stack, synth):
    host, specialty = _pair(stack)
    inner = cdktf.TerraformLocal(stack, "inner", specialty.id)
    outer = cdktf.TerraformLocal(stack, "outer", inner.as_string)
    Agent(stack, "agent", host_id=host.id, specialty_id=outer.as_string)
    assert _dependency(synth(stack)) == ["opsconsole_specialty.specialty"]


def test_ids_that_travel_through_another_agent(stack, synth):
    host, specialty = _pair(stack)
    second = Host(stack, "second", name="second")
    first = Agent(stack, "first", host_id=host.id, specialty_id=specialty.id)
    Agent(stack, "follower", host_id=second.id, specialty_id=first.specialty_id)
    assert _dependency(synth(stack), "second") == ["opsconsole_specialty.specialty"]


def test_ids_of_an_iterator(stack, synth):
    host, specialty = _pair(stack)
    each = cdktf.TerraformIterator.from_map({"a": specialty.id})
    Agent(stack, "agents", for_each=each, host_id=host.id, specialty_id=each.value)
    assert _dependency(synth(stack)) == ["opsconsole_specialty.specialty"]


def test_data_sources_and_variables_need_no_order(stack, synth):
    host, _ = _pair(stack)
    known = DataSpecialty(stack, "known", key="key")
    given = cdktf.TerraformVariable(stack, "given", type="string")
    Agent(stack, "one", host_id=host.id, specialty_id=known.id)
    Agent(stack, "two", host_id=host.id, specialty_id=given.string_value)
    Agent(stack, "three", host_id=host.id, specialty_id=None)
    assert _dependency(synth(stack)) == []


def test_ids_of_a_list_need_no_order(stack, synth):
    host, _ = _pair(stack)
    first = DataSpecialties(stack, "all").specialties.get(0)
    Agent(stack, "agent", host_id=host.id, specialty_id=first.id)
    assert _dependency(synth(stack)) == []


def test_an_agent_that_refers_to_itself_ends_the_search(stack, synth):
    host, _ = _pair(stack)
    agent = Agent(stack, "agent", host_id=host.id, specialty_id=None)
    agent.specialty_id = agent.specialty_id
    assert _dependency(synth(stack)) == []


def test_an_iterator_over_hosts(stack, synth):
    names = cdktf.TerraformIterator.from_list(["a", "b"])
    Host(stack, "host", for_each=names, name=names.value)
    specialty = Specialty(stack, "specialty", key="key")
    chained = cdktf.TerraformIterator.from_map({"a": '${opsconsole_host.host["a"].id}'})
    Agent(stack, "agents", for_each=chained, host_id=chained.value, specialty_id=specialty.id)
    assert _dependency(synth(stack)) == ["opsconsole_specialty.specialty"]


def test_dependencies_of_the_user_are_kept(stack, synth):
    host, specialty = _pair(stack)
    other = Host(stack, "other", name="other", depends_on=(host,))
    Agent(stack, "agent", host_id=other.id, specialty_id=specialty.id)
    expected = ["opsconsole_host.host", "opsconsole_specialty.specialty"]
    assert _dependency(synth(stack), "other") == expected
    assert _dependency(synth(stack), "other") == expected


def test_a_dependency_that_is_declared_is_not_declared_twice(stack, synth):
    specialty = Specialty(stack, "specialty", key="key")
    host = Host(stack, "host", name="host", depends_on=[specialty])
    Agent(stack, "agent", host_id=host.id, specialty_id=specialty.id)
    assert _dependency(synth(stack)) == ["opsconsole_specialty.specialty"]


def test_a_changed_agent_changes_the_order(stack, synth):
    host, specialty = _pair(stack)
    agent = Agent(stack, "agent", host_id=host.id, specialty_id=None)
    assert _dependency(synth(stack)) == []
    agent.specialty_id = specialty.id
    assert _dependency(synth(stack)) == ["opsconsole_specialty.specialty"]
    agent.reset_specialty_id()
    assert _dependency(synth(stack)) == []


def _behind(stack, host):
    return Host(stack, "neighbour", name="neighbour", jump_host_ids=[host.id])


@pytest.mark.parametrize(
    "values",
    [
        lambda stack, host: {"key": host.name},
        lambda stack, host: {"key": "key", "depends_on": [host]},
        lambda stack, host: {"key": DataSpecialty(stack, "between", name=host.name).key},
        lambda stack, host: {"key": _behind(stack, host).name, "timeouts": {"delete": "1m"}},
        "later",
        "overridden",
    ],
)
def test_no_cycle(stack, synth, values):
    if isinstance(values, str):
        host, specialty = _pair(stack)
    else:
        host = Host(stack, "host", name="host")
        specialty = Specialty(stack, "specialty", **values(stack, host))
    if values == "later":
        specialty.depends_on = [host.fqn]
    elif values == "overridden":
        specialty.add_override("depends_on", ["opsconsole_host.host"])
    second = Specialty(stack, "second", key="second")
    Agent(stack, "agent", host_id=host.id, specialty_id=specialty.id)
    Agent(stack, "other", host_id=host.id, specialty_id=second.id)
    for _ in range(2):
        assert _dependency(synth(stack)) == ["opsconsole_specialty.second"]


def test_a_specialty_that_refers_elsewhere_is_no_cycle(stack, synth):
    host = Host(stack, "host", name="host")
    specialty = Specialty(stack, "specialty", key=Host(stack, "far", name="far").name)
    Agent(stack, "agent", host_id=host.id, specialty_id=specialty.id)
    assert _dependencies(synth(stack)) == {"host": ["opsconsole_specialty.specialty"], "far": []}


def test_two_that_exclude_each_other_get_one_order(stack, synth):
    left, right = Host(stack, "left", name="left"), Host(stack, "right", name="right")
    of_left = Specialty(stack, "of_left", key=left.name)
    of_right = Specialty(stack, "of_right", key=right.name)
    Agent(stack, "one", host_id=left.id, specialty_id=of_right.id)
    Agent(stack, "two", host_id=right.id, specialty_id=of_left.id)
    assert _dependencies(synth(stack)) == {"left": ["opsconsole_specialty.of_right"], "right": []}


@jsii.implements(cdktf.IAspect)
class _Assign:
    def __init__(self, specialty_id: str) -> None:
        self._specialty_id = specialty_id

    def visit(self, node) -> None:
        if isinstance(node, Agent):
            node.specialty_id = self._specialty_id


def test_an_aspect_may_choose_the_specialty(stack, synth):
    host, specialty = _pair(stack)
    Agent(stack, "agent", host_id=host.id, specialty_id=None)
    cdktf.Aspects.of(stack).add(_Assign(specialty.id))
    assert _dependency(synth(stack)) == ["opsconsole_specialty.specialty"]


def test_constructs_within_constructs(stack, synth):
    host, specialty = _pair(Construct(Construct(stack, "outer"), "inner"))
    Agent(Construct(stack, "agents"), "agent", host_id=host.id, specialty_id=specialty.id)
    ((name, dependencies),) = _dependencies(synth(stack)).items()
    assert name.startswith("outer_inner_host_")
    assert [item.rsplit("_", 1)[0] for item in dependencies] == [
        "opsconsole_specialty.outer_inner_specialty"
    ]


def test_stacks_are_kept_apart(synth):
    app = cdktf.Testing.app()
    stacks = [cdktf.TerraformStack(app, name) for name in ("hosts", "specialties", "agents")]
    for each in stacks:
        OpsconsoleProvider(each, "opsconsole")
    hosts, specialties, agents = stacks
    host, near = _pair(hosts)
    far = Specialty(specialties, "far", key="far")
    Agent(agents, "joins-far", host_id=host.id, specialty_id=far.id)
    assert _dependency(synth(hosts)) == []
    Agent(agents, "joins-near", host_id=host.id, specialty_id=near.id)
    assert _dependency(synth(hosts)) == ["opsconsole_specialty.specialty"]
    near.depends_on = ["data.opsconsole_specialty.absent"]
    assert _dependency(synth(hosts)) == ["opsconsole_specialty.specialty"]


def test_a_search_among_references_between_stacks():
    app = cdktf.Testing.app()
    first, second = cdktf.TerraformStack(app, "first"), cdktf.TerraformStack(app, "second")
    for each in (first, second):
        OpsconsoleProvider(each, "opsconsole")
    far = Host(first, "far", name="far")
    host = Host(second, "host", name="host", knowledge=far.name)
    specialty = Specialty(second, "specialty", key="key")
    Agent(second, "agent", host_id=host.fqn, specialty_id=specialty.id)
    Agent(second, "other", host_id=far.id, specialty_id=specialty.id)
    app.synth()
    text = Path(app.outdir, "stacks", "second", "cdk.tf.json").read_text("utf-8")
    assert _dependency(json.loads(text)) == ["opsconsole_specialty.specialty"]
