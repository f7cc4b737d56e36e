"""What the engine lacks goes to the real Terraform: whole, before any effect, with the reason."""

import json
import os
import zipfile

import pytest

from text_groups import read_rows

ROWS = read_rows(__file__)

HOST = {"resource": {"opsconsole_host": {"web": {"name": "web"}}}}
AWS = {"resource": {"aws_instance": {"web": {"ami": "a"}}}}
VERBS = ("init", "validate", "plan", "apply", "destroy", "refresh", "output", "show", "graph")


@pytest.fixture
def elsewhere(standin, fake_terraform):
    """Make a folder whose calls are handed over to a program that tells what it was called with."""

    def make(program, **variables):
        path = {"OPSCONSOLE_TERRAFORM_FALLBACK": str(fake_terraform), **variables}
        return standin(program, init=False, **path)

    return make


@pytest.mark.parametrize(*ROWS["programs for terraform"])
def test_a_program_for_terraform_goes_there_with_every_verb(elsewhere, program, named):
    engine = elsewhere(program)
    for verb in VERBS:
        run = engine.run(verb, "-some-flag", expect={7})
        assert run.out == f"called: {verb} -some-flag\n"
        assert run.err.count("\n") == 1
        assert named in run.err
    assert {path.name for path in engine.folder.iterdir()} == {"main.tf.json"}


def _host(**arguments):
    return {"resource": {"opsconsole_host": {"web": {"name": "web", **arguments}}}}


@pytest.mark.parametrize(*ROWS["test_newer_language_is_not_a_mistake"])
def test_newer_language_is_not_a_mistake(elsewhere, program, named):
    engine = elsewhere(program)
    for verb in ("validate", "state list"):
        run = engine.run(*verb.split(), expect={7})
        assert run.out == f"called: {verb}\n"
        assert named in run.err
    assert "main.tf.json" in run.err or "opsconsole_host.web" in run.err


@pytest.mark.parametrize("name", ["more.tf", "main.tofu", "main.tofu.json"])
def test_files_of_another_syntax_go_to_their_engine(elsewhere, name):
    engine = elsewhere(HOST)
    (engine.folder / name).write_text("")
    assert f"because of {name}" in engine.run("plan", expect={7}).err


def test_a_value_for_terraform_goes_there_with_messages_too(elsewhere):
    engine = elsewhere(_host(name='${tonumber("1p5")}'))
    engine.init()
    for words in ("plan", "plan -json", "apply -json -auto-approve"):
        assert engine.run(*words.split(), expect={7}).out.endswith(f"called: {words}\n")


def test_what_opentofu_alone_finds_or_encrypts_goes_to_it(elsewhere):
    where = {"terraform": {"backend": {"local": {"path": "${var.where}"}}}}
    engine = elsewhere(HOST | where | {"variable": {"where": {"default": "x"}}})
    assert "an expression in the backend local (${var.where})" in engine.run("plan", expect={7}).err
    engine.write(HOST)
    asked = {"TF_ENCRYPTION": "state {\n  enforced = true\n}"}
    assert "because of TF_ENCRYPTION" in engine.run("plan", expect={7}, **asked).err


def test_an_unknown_verb_goes_to_terraform(elsewhere):
    run = elsewhere(HOST).run("-chdir=.", "console", "-x", expect={7})
    assert run.out == "called: -chdir=. console -x\n"
    assert "because of the verb `console`" in run.err
    for words in ("fmt -help", "-help bogus"):
        assert elsewhere(HOST).run(*words.split(), expect={7}).out == f"called: {words}\n"


def test_a_directory_without_plugins_is_reported(elsewhere):
    engine = elsewhere(HOST | {"terraform": {"backend": {"local": {"path": "s"}}}})
    engine.init()
    assert "initialised without plugins" in engine.run("console", expect={7}).err


def test_a_plan_file_goes_to_the_engine_that_made_it(elsewhere, console_of):
    console = console_of("strict")
    engine = elsewhere(
        HOST, OPSCONSOLE_BASE_URL=console.base_url, OPSCONSOLE_API_KEY=console.api_key
    )
    with zipfile.ZipFile(engine.folder / "theirs", "w") as archive:
        archive.writestr("tfplan", "")
    for verb in ("apply", "show"):
        run = engine.run(verb, "theirs", expect={7})
        assert "the plan theirs, which Terraform made" in run.err
    engine.run("plan", "-out=ours")
    engine.write(AWS)
    assert "opsconsole_host.web" in engine.run("show", "ours").out
    run = engine.run("show", "ours", OPSCONSOLE_ENGINE="terraform", expect={1})
    assert "the plan was made by the native engine" in run.err


def test_an_engine_can_be_forced(elsewhere):
    engine = elsewhere(HOST)
    run = engine.run("validate", OPSCONSOLE_ENGINE="terraform", expect={7})
    assert "because of OPSCONSOLE_ENGINE=terraform" in run.err
    engine.write(AWS)
    run = engine.run("plan", OPSCONSOLE_ENGINE="native", expect={1})
    assert "the native engine does not support" in run.err
    run = engine.run("plan", OPSCONSOLE_ENGINE="both", expect={1})
    assert "OPSCONSOLE_ENGINE is 'both'" in run.err


def test_an_imported_resource_with_a_mistake_is_not_to_be_generated(elsewhere):
    imported = {"import": [{"to": "opsconsole_host.web", "id": "hst_1"}]}
    run = elsewhere(_host(count=1, for_each=[]) | imported).run("validate", expect={1})
    assert "count and for_each exclude each other" in run.err.replace("\n│ ", " ")


def test_without_terraform_there_is_one_error(standin):
    engine = standin(AWS, init=False)
    assert "neither terraform nor tofu is on PATH" in engine.run("plan", expect={1}).err
    run = engine.run("plan", OPSCONSOLE_TERRAFORM_FALLBACK="/nowhere", expect={1})
    assert "OPSCONSOLE_TERRAFORM_FALLBACK names /nowhere, which is not on PATH" in run.err


def test_it_never_becomes_itself(standin, standin_binary, tmp_path, plain_path):
    engine = standin(AWS, init=False)
    link = tmp_path / "terraform"
    link.symlink_to(standin_binary)
    run = engine.run("plan", PATH=f"{tmp_path}{os.pathsep}{plain_path}", expect={1})
    assert "neither terraform nor tofu is on PATH" in run.err
    for start in ("", "exec "):
        wrapper = tmp_path / "wrapper"
        wrapper.write_text(f'#!/bin/sh\n{start}opsconsole-terraform "$@"\n')
        wrapper.chmod(0o755)
        run = engine.run("plan", OPSCONSOLE_TERRAFORM_FALLBACK=str(wrapper), expect={1})
        assert "it runs opsconsole-terraform again" in run.err


@pytest.mark.terraform
def test_real_terraform_takes_over(standin, terraform_binary):
    program = {"resource": {"terraform_data": {"d": {"input": "x"}}}}
    engine = standin(program, init=False, OPSCONSOLE_TERRAFORM_FALLBACK=str(terraform_binary))
    (engine.folder / "main.tf.json").write_text(json.dumps(program))
    engine.init()
    engine.apply()
    assert 'a resource of the provider "terraform"' in engine.run("output").err
    assert engine.run("state", "list").out == "terraform_data.d\n"


@pytest.mark.parametrize(*ROWS["test_a_flag_of_another_release_goes_to_it_with_all_others"])
def test_a_flag_of_another_release_goes_to_it_with_all_others(elsewhere, words):
    engine = elsewhere(HOST)
    run = engine.run(*words, expect={7})
    assert run.out == f"called: {' '.join(words)}\n"
    flag = next(word for word in words if word.startswith("-")).partition("=")[0]
    assert flag in run.err
    run = engine.run(*words, OPSCONSOLE_ENGINE="native", expect={1})
    assert (
        f"the native engine lacks the {'global option' if words[0][0] == '-' else 'flag'} {flag}"
        in run.err.replace("\n│ ", " ")
    )


def test_flags_that_terraform_lacks_stay_behind(elsewhere):
    engine = elsewhere(AWS)
    words = ("-chdir=.", "plan", "-full", "-lock-timeout", "1s", "-journal", "j", "--journal=j")
    inserted = {"TF_CLI_ARGS_plan": "-compact=false -var 'a=b c'"}
    run = engine.run(*words, "-out=p", expect={7}, **inserted)
    assert run.out == "called: -chdir=. plan -lock-timeout 1s -out=p and -var 'a=b c'\n"
    run = engine.run("plan", "-some-flag", "-compact", expect={7})
    assert run.out == "called: plan -some-flag\n"
    assert engine.run("console", "-full", expect={7}).out == "called: console -full\n"


LOCKED = 'provider "registry.{}.org/opsconsole/opsconsole" {{\n  version = "0.1.0"\n}}\n'


@pytest.mark.parametrize(*ROWS["initialised folders"])
def test_the_engine_that_initialised_a_folder_takes_over(
    standin, fake_terraform, plain_path, files, wanted
):
    fakes = fake_terraform.parent
    (fakes / "tofu").write_bytes(fake_terraform.read_bytes())
    (fakes / "tofu").chmod(0o755)
    engine = standin(AWS, init=False)
    engine.environment["PATH"] = f"{fakes}{os.pathsep}{plain_path}"
    for name, text in files.items():
        (engine.folder / name).write_text(text)
    run = engine.run("plan", expect={7})
    assert f"handed over to {fakes / wanted}" in run.err
    (fakes / "tofu").unlink()
    if wanted == "tofu":
        run = engine.run("plan", expect={1})
        assert f"tofu, the CLI of {engine.folder}, is not on PATH" in run.err


def test_a_folder_of_opentofu_speaks_of_it(standin, console_of):
    """Messages, and the addresses of the provider, in state too."""
    engine = standin(HOST, console_of("default"), init=False)
    (engine.folder / ".terraform.lock.hcl").write_text(LOCKED.format("opentofu"))
    address = "registry.opentofu.org/opsconsole/opsconsole"
    assert "OpenTofu has been successfully initialized!" in engine.init().out
    assert address in engine.run("providers").out
    engine.run("plan", "-out=p")
    shown = json.loads(engine.run("show", "-json", "p").out)
    assert shown["resource_changes"][0]["provider_name"] == address
    engine.apply()
    state = json.loads((engine.folder / "terraform.tfstate").read_text())
    assert state["resources"][0]["provider"] == f'provider["{address}"]'
    assert state["terraform_version"] == ""
    engine.write({"import": [{"to": "opsconsole_host.x", "id": "hst_1"}]})
    assert "and tofu, the CLI of" in engine.run("plan", expect={1}).err.replace("\n│ ", " ")
    engine.write(HOST | {"moved": {"from": "module.a.x_y.z", "to": "x_y.z"}})
    run = engine.run("plan", OPSCONSOLE_ENGINE="native", expect={1})
    assert "OpenTofu can run it: use `tofu`" in run.err
