"""The real programs: Terraform accepts the examples; `cdktf get` makes what we stand beside."""

import ast
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from scripts.generate.attributes import camel

import opsconsole_cdktf
from engines import Cdktf, quiet_environment
from opsconsole.resources import DATA_SOURCES, RESOURCES


@pytest.fixture(scope="session")
def generated(cdktf_binary, plugin_dir, shared_folder, tmp_path_factory) -> Path:
    """The folder with the package that `cdktf get` generates from the provider's schema."""

    def get(folder: Path) -> None:
        folder.mkdir()
        home = tmp_path_factory.mktemp("home")
        environment = quiet_environment(home, plugin_dir / "opsconsole.tfrc")
        engine = Cdktf(cdktf_binary, folder, environment)
        providers = ["opsconsole/opsconsole@~> 0.1"]
        engine.configure("true", terraformProviders=providers, codeMakerOutput="generated")
        engine.run("get", "--force")

    # It takes longer than the rest of this folder.
    return shared_folder("cdktf-get", get) / "generated"


@pytest.fixture(scope="session")
def bindings(generated) -> dict[str, str]:
    """The source of each generated module, by its name."""
    modules = generated.glob("opsconsole/*/__init__.py")
    return {path.parent.name: path.read_text("utf-8") for path in modules}


def _generated_class(source: str, name: str) -> ast.ClassDef:
    found = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and node.name == name
    ]
    return found[0]


def _parameters(node: ast.ClassDef) -> set[str]:
    (init,) = (
        item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"
    )
    # Without self, scope and the construct's id, which the bindings call `id` or `id_`.
    names = [argument.arg for argument in init.args.args[3:]]
    return {*names, *(argument.arg for argument in init.args.kwonlyargs)}


def _own_parameters(own: Any) -> set[str]:
    names = list(inspect.signature(own.__init__).parameters)
    assert names[:3] == ["self", "scope", "id_"]
    [others] = get_args(get_type_hints(own.__init__)["others"])
    return {*names[3:-1], *others.__annotations__}


def _members(node: ast.ClassDef) -> set[str]:
    return {
        item.name
        for item in node.body
        if isinstance(item, ast.FunctionDef) and not item.name.startswith("_")
    }


NO_DATA_IMPORT = "generate_config_for_import"
"""cdktf generates it for data sources and providers too, where Terraform imports nothing."""


def _lacking(own: Any, binding: ast.ClassDef) -> set[str]:
    return {name for name in _members(binding) if not hasattr(own, name)}


@pytest.mark.cdktf
@pytest.mark.real_client
def test_constructs_and_provider_have_what_the_generated_bindings_have(bindings):
    """All of them in one test: most of the time is that of `cdktf get`."""
    for prefix, names in (("", RESOURCES), ("Data", DATA_SOURCES)):
        for type_name in names:
            plain = type_name.removeprefix("opsconsole_")
            own = getattr(opsconsole_cdktf, prefix + camel(plain))
            module, name = (f"data_{type_name}", type_name) if prefix else (plain, plain)
            binding = _generated_class(bindings[module], prefix + camel(name))
            parameters = _own_parameters(own)
            missing = _parameters(binding) - parameters
            assert missing <= ({"connection", "provisioners"} if prefix else set()), type_name
            assert parameters <= _parameters(binding), type_name
            assert _lacking(own, binding) == ({NO_DATA_IMPORT} if prefix else set()), type_name
    own = opsconsole_cdktf.OpsconsoleProvider
    binding = _generated_class(bindings["provider"], "OpsconsoleProvider")
    assert _parameters(binding) == _own_parameters(own)
    assert _lacking(own, binding) == {NO_DATA_IMPORT}


PROGRAM = """
import cdktf

app = cdktf.App(outdir={outdir!r})
stack = cdktf.TerraformStack(app, "stack")
cdktf.LocalBackend(stack, path="state")
OpsconsoleProvider(stack, "opsconsole", base_url="https://a.example", max_retries=2)
lab = OpsconsoleProvider(stack, "lab", alias="lab", extra_endpoints={{"host_get": "GET /h/{{id}}"}})
count = cdktf.TerraformCount.of(2)
jump = Host(stack, "jump", name="jump", is_jump_host=True, tags=["b:2", "a:1"], provider=lab)
host = Host(stack, "host", name="host", jump_host_ids=[jump.id], count=count, target_port=22)
host.reset_target_port()
linux = DataSpecialty(stack, "linux", key="linux")
database = Specialty(stack, "database", key="database", timeouts={{"delete": "2m"}})
agent = Agent(
    stack, "agent", host_id=jump.id, specialty_id=linux.id, depends_on=[host, database],
    credential_config=[AgentCredentialConfig(credential_id="crd_1", is_required=False)],
    lifecycle=cdktf.TerraformResourceLifecycle(prevent_destroy=True, ignore_changes="all"),
)
agent.import_from("agt_1")
each = cdktf.TerraformIterator.from_list(["plg_1", "plg_2"])
plugin_id = cdktf.Token.as_string(each.value)
AgentPlugin(stack, "plugins", for_each=each, agent_id=agent.id, plugin_id=plugin_id)
every = DataSpecialties(stack, "every")
BlacklistedCommand(stack, "row", id="blk_1", pattern=every.specialties.get(1).key)
Host.generate_config_for_import(stack, "new", "hst_2", lab)
cdktf.TerraformOutput(stack, "first_tag", value=cdktf.Fn.element(jump.tags, 0))
cdktf.TerraformOutput(stack, "order", value=agent.credential_config.get(0).order)
cdktf.TerraformOutput(stack, "port", value=host.target_port)
app.synth()
"""

OWN = f"from opsconsole_cdktf import {', '.join(opsconsole_cdktf.__all__)}"
GENERATED = """
from opsconsole.agent import Agent, AgentCredentialConfig
from opsconsole.agent_plugin import AgentPlugin
from opsconsole.blacklisted_command import BlacklistedCommand
from opsconsole.data_opsconsole_specialties import DataOpsconsoleSpecialties as DataSpecialties
from opsconsole.data_opsconsole_specialty import DataOpsconsoleSpecialty as DataSpecialty
from opsconsole.host import Host
from opsconsole.provider import OpsconsoleProvider
from opsconsole.specialty import Specialty
"""


def _synthesised(imports: str, folder: Path, path: Path | None) -> dict[str, object]:
    source = folder / "main.py"
    source.write_text(imports + PROGRAM.format(outdir=str(folder / "out")), "utf-8")
    environment = dict(os.environ) | ({"PYTHONPATH": str(path)} if path else {})
    subprocess.run([sys.executable, source], check=True, env=environment, timeout=300)
    text = (folder / "out" / "stacks" / "stack" / "cdk.tf.json").read_text("utf-8")
    synthesised = json.loads(text)
    synthesised["terraform"]["required_providers"]["opsconsole"]["version"] = "any"
    return dict(synthesised)


@pytest.mark.cdktf
@pytest.mark.real_client
def test_both_synthesise_the_same_program(generated, tmp_path):
    folders = [tmp_path / name for name in ("own", "generated")]
    for folder in folders:
        folder.mkdir()
    assert _synthesised(OWN, folders[0], None) == _synthesised(GENERATED, folders[1], generated)
