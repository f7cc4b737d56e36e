"""Each verb, as clients of Terraform call it and read it."""

import json
import subprocess
from pathlib import Path

import pytest

from declarations import agent_on, hosts

AGENT = agent_on("web", "a", specialty_id="${data.opsconsole_specialty.linux.id}")
PROGRAM = {
    "resource": {**hosts(web={}, db={}), "opsconsole_agent": {"a": AGENT}},
    "data": {"opsconsole_specialty": {"linux": {"key": "linux-server"}}},
    "output": {"web": {"value": "${opsconsole_host.web.id}"}},
}


def test_the_version_is_told_as_terraform_tells_it(standin):
    engine = standin({}, init=False)
    for words in (("version",), ("-v",), ("--version",)):
        assert engine.run(*words).out.startswith("Terraform v1.")
    told = json.loads(engine.run("version", "-json").out)
    assert told["terraform_version"].startswith("1.")
    assert told["provider_selections"] == {"registry.terraform.io/opsconsole/opsconsole": "0.1.0"}
    other = {"required_providers": {"opsconsole": {"source": "xopsconsole/opsconsole"}}}
    engine.write({"terraform": other})
    assert json.loads(engine.run("version", "-json").out)["provider_selections"] == {}


def test_the_version_imports_nothing_heavy(standin, standin_binary):
    code = (
        "import sys; from opsconsole.standin.main import main; main(['version']);"
        "heavy = {'asyncio', 'httpx', 'rich', 'opsconsole.language',"
        "'opsconsole.reconcile', 'opsconsole.state', 'opsconsole.v1'} & set(sys.modules);"
        "sys.stderr.write(', '.join(heavy))"
    )
    python = standin_binary.parent / "python"
    assert subprocess.run([python, "-c", code], capture_output=True, text=True).stderr == ""


def test_nothing_but_errors_goes_to_stderr(standin, console_of):
    engine = standin(PROGRAM, console_of("strict"))
    assert engine.init().err == ""
    planned = engine.run("plan", "-out=p", "-input=false")
    assert planned.err == "" and "Saved the plan to: p" in planned.out
    verbs = ("validate", "show p", "apply p", "refresh", "output", "output -json", "state list")
    shown = "state show opsconsole_host.web"
    more = (shown, "providers lock -platform=linux_amd64", "get", "graph")
    for words in (*verbs, *more, "destroy -auto-approve"):
        assert engine.run(*words.split()).err == "", words


def test_a_plan_as_json_is_a_stream_of_messages(standin, console_of):
    run = standin(PROGRAM, console_of("strict")).plan_run()
    kinds = [message["type"] for message in run.messages]
    assert kinds[0] == "version"
    assert kinds.count("planned_change") == 3
    assert kinds[-2:] == ["change_summary", "outputs"]
    assert len(kinds) == len(run.out.splitlines())


def test_a_missing_variable_is_reported_in_the_words_that_clients_know(standin):
    engine = standin({"variable": {"v": {}}})
    run = engine.run("plan", expect={1})
    assert "Error: No value for required variable" in run.err
    assert 'The root module input variable "v" is not set' in run.err
    (told,) = engine.run("plan", "-json", expect={1}).errors
    assert told["summary"] == "No value for required variable"
    assert told["detail"].startswith('The root module input variable "v" is not set, and has no')


def test_the_last_line_of_a_failed_apply_says_what_failed(standin, console_of):
    console = console_of("strict")
    console.fault(method="POST", path="/agents$", status=400, times=None)
    run = standin(PROGRAM, console, init=False).run("apply", "-auto-approve", expect={1})
    console.clear_faults()
    assert run.text.splitlines()[-1] == "Failed: opsconsole_agent.a"


def test_validate_finds_what_is_wrong_without_a_console(standin):
    assert standin({**PROGRAM, "variable": {"v": {}}}).validate()["valid"] is True
    wrong = standin({"resource": {"opsconsole_host": {"h": {"name": "h", "target_port": 70000}}}})
    report = wrong.validate(expect={1})
    assert report["error_count"] == 1
    assert "target_port cannot be 70000" in report["diagnostics"][0]["summary"]


def test_words_come_from_the_environment_and_another_directory(standin, console_of):
    engine = standin({**PROGRAM, "variable": {"v": {}}}, console_of("strict"))
    engine.run("plan", TF_CLI_ARGS="-no-color", TF_CLI_ARGS_plan="-var v=1 -out=here")
    assert (engine.folder / "here").exists()
    (engine.folder / "below").mkdir()
    for path in engine.folder.glob("*.tf.json"):
        path.rename(path.parent / "below" / path.name)
    engine.run("-chdir=below", "plan", "-var=v=1", "-out=there")
    assert (engine.folder / "below" / "there").exists()


def test_some_values_are_those_of_flags_that_are_not_given(standin, console_of):
    engine = standin(PROGRAM, console_of("strict"))
    told = engine.run("plan", "-out=", "-state=", "-parallelism=0").out
    assert "Plan: 3 to add" in told
    engine.run("plan", "-out=p", "-out=")
    assert not (engine.folder / "p").exists()
    assert "must be 1 or more" in engine.run("plan", "-parallelism=-1", expect={1}).err


def test_what_cannot_be_asked_for_is_one_clear_error(standin):
    engine = standin({})
    for words, said in (
        (("plan", "-out"), "-out needs a value."),
        (("plan", "-lock=perhaps"), "-lock is on or off, not 'perhaps'."),
        (("apply", "a", "b"), "`apply` takes at most 1 argument, not 2."),
        (("state", "show"), "`state show` takes 1 argument, not 0."),
        (("state", "rm"), "`state rm` takes at least 1 argument, not 0."),
        (("import", "--", "a"), "`import` takes 2 arguments, not 1."),
        (("state", "show", "--", "-x", "a"), "`state show` takes 1 argument, not 2."),
        (("-chdir=nowhere", "plan"), "-chdir: there is no directory nowhere."),
    ):
        run = engine.run(*words, expect={1})
        assert said in run.err
        assert "Traceback" not in run.err


def test_output_that_cannot_be_written_is_an_error(standin_binary):
    with Path("/dev/full").open("w") as full:
        command = [standin_binary, "providers", "schema", "-json"]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith(
        "Error: The output is incomplete, because the output cannot be written"
    )


def test_help_lists_verbs_and_flags(standin):
    engine = standin({}, init=False)
    assert "providers schema" in engine.run("-help").out
    assert "-detailed-exitcode" in engine.run("plan", "-help").out
    assert engine.run(expect={127}).out.startswith("Usage: opsconsole-terraform")


@pytest.mark.terraform
def test_the_schema_is_the_one_that_terraform_prints(standin, terraform):
    theirs = terraform({}).run("providers", "schema", "-json")
    ours = standin({}).run("providers", "schema", "-json")
    assert json.loads(ours.out) == json.loads(theirs.out)
