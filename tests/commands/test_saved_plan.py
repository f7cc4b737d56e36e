"""Plans that are saved, reviewed and applied later: exactly they, or nothing."""

import json
import os
import stat
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest

from declarations import agent_on, host_with_agent, hosts, write_stacks
from text_groups import read_rows

ROWS = read_rows(__file__)

HOST = {"opsconsole_host": {"a": {"name": "a", "knowledge": "one"}}}


def with_knowledge(text: str) -> dict[str, Any]:
    return {"opsconsole_host": {"a": {"name": "a", "knowledge": text}}}


def content(native: Any, name: str) -> str:
    data = (native.folder / name).read_bytes()
    return zlib.decompress(data.partition(b"\n")[2]).decode()


def test_a_saved_plan_is_applied_as_it_is(native):
    assert 'opsconsole apply "p"' in native.run_plan(HOST, "-out=p", "-input=false").err
    native.write(with_knowledge("two"))
    assert "not 0000" in native.run("apply", "p", "-checksum=0000", expect=1).err
    assert '+ knowledge                        = "one"' in native.run("show", "p").out
    assert json.loads(native.run("show", "-json", "p").out)["errored"] is False
    assert "Apply complete! Resources: 1 added" in native.run("apply", "p", "-input=false").out
    assert native.console.rows("hosts")[0]["knowledge"] == "one"


def test_page_of_a_saved_plan_names_the_stack_too(native, monkeypatch):
    monkeypatch.chdir(native.folder)
    write_stacks(native.folder, {"north": {"resource": HOST}})
    native.run("plan", "--out=p", "--html=planned.html")
    native.run("show", "p", "--html=shown.html")
    native.run("apply", "p", "--html=applied.html")
    pages = [Path(f"{name}.html").read_text() for name in ("planned", "shown", "applied")]
    titles = {page.partition("<title>")[2].partition("</title>")[0] for page in pages}
    assert len(titles) == 1 and "north" in titles.pop()


@pytest.mark.parametrize(
    ("move", "said"),
    [
        (lambda native, _: native.run("state", "rm", "opsconsole_host.a"), "The plan is stale"),
        (
            lambda native, row: native.console.change("hosts", row["id"], private_ip="10.1.1.1"),
            "opsconsole_host.a: private_ip",
        ),
        (
            lambda native, row: native.console.delete("hosts", row["id"]),
            "opsconsole_host.a is gone",
        ),
        (
            lambda native, _: native.console.fault(operation="host_update", status=409, times=None),
            'Cannot read the host "a" (hst_',
        ),
    ],
)
def test_saved_plan_is_refused_if_state_or_console_changed(native, move, said):
    native.apply(HOST)
    native.run_plan(with_knowledge("two"), "-out=p")
    move(native, *native.console.rows("hosts"))
    before = native.state
    refused = native.run("apply", "p", expect=1)
    assert said in refused.text
    assert refused.text.count("Error:") == 1
    assert native.state == before
    assert all(row["knowledge"] == "one" for row in native.console.rows("hosts"))


def test_saved_plan_ignores_what_the_console_changes_by_itself(native):
    native.apply(HOST)
    native.run_plan(with_knowledge("two"), "-out=p")
    [row] = native.console.rows("hosts")
    native.console.change("hosts", row["id"], name="a")
    native.run("apply", "p")
    assert native.console.rows("hosts")[0]["knowledge"] == "two"


def test_saved_plan_is_applied_once_to_its_state_file(native):
    native.run_plan(HOST, "-state=elsewhere.tfstate", "-out=p")
    native.run("apply", "p")
    assert (native.folder / "elsewhere.tfstate").exists()
    assert "The plan is stale" in native.run("apply", "p", expect=1).err
    assert len(native.console.rows("hosts")) == 1
    native.run("plan", "-destroy", "-state=elsewhere.tfstate", "-out=p")
    assert "Destroy complete! Resources: 1 destroyed." in native.run("apply", "p").out


def test_saved_plan_is_refused_on_another_state(native):
    native.apply(HOST)
    native.run_plan(with_knowledge("two"), "-out=p")
    text = native.state_file.read_text()
    for old, new in ((f'"serial": {native.state["serial"]}', '"serial": 99'), ('"one"', '"other"')):
        native.state_file.write_text(text.replace(old, new))
        assert "The plan is stale" in native.run("apply", "p", expect=1).err
    native.state_file.write_text(text)
    native.run("destroy", "-auto-approve")
    native.state_file.unlink()
    native.run("apply", "-auto-approve")
    assert "made from another state" in native.run("apply", "p", expect=1).err


def test_saved_plan_is_private_and_holds_no_credentials(native):
    secret = "svc_ak_spelled_out"
    native.settings["api_key"] = secret
    native.write(HOST)
    (native.folder / "p").touch(mode=0o644)
    native.run("plan", "-out=p")
    assert stat.S_IMODE((native.folder / "p").stat().st_mode) == 0o600
    assert secret not in content(native, "p")
    assert "opsconsole_host" in content(native, "p")
    native.run("apply", "p")


def test_a_credential_elsewhere_in_the_program_keeps_it_from_being_saved(native):
    native.settings["api_key"] = "${local.key}"
    refused = native.run_plan(HOST, "-out=p", expect=1, locals={"key": "svc_ak_in_a_local"})
    assert "holds a credential of the provider as a literal" in refused.err
    assert not (native.folder / "p").exists()


@pytest.mark.parametrize(
    "facts", [{"ephemeral": True}, {"sensitive": True}], ids=["ephemeral", "credential"]
)
def test_secret_variables_of_a_saved_plan_are_given_again(native, facts):
    key = native.console.api_key
    native.monkeypatch.delenv("OPSCONSOLE_API_KEY")
    native.settings["api_key"] = "${var.key}"
    resource = {"opsconsole_host": {"a": {"name": "${var.name}"}}}
    variable = {"key": {"type": "string", **facts}, "name": {"type": "string"}}
    native.run_plan(resource, "-out=p", f"-var=key={key}", "-var=name=box", variable=variable)
    assert key not in content(native, "p")
    assert 'variable "key" is not set' in native.run("apply", "p", expect=1).err
    (native.folder / "other.tfvars").write_text('name = "other"')
    for words in ("-var=name=other", "-var-file=other.tfvars"):
        other = native.run("apply", "p", f"-var=key={key}", words, expect=1)
        assert "The plan holds another value of the variable name." in other.err
    native.run("apply", "p", f"-var=key={key}", "-var=name=box")
    assert [row["name"] for row in native.console.rows("hosts")] == ["box"]


def test_variables_of_a_saved_plan_keep_their_types(native):
    variables = {"any": {"default": {"name": "box"}}, "tags": {"type": "set(string)"}}
    variables |= {"none": {"type": "number", "default": None}, "digits": {"type": "number"}}
    host = {"name": "${var.any.name}", "tags": "${var.tags}"}
    output = {"digits": {"value": "${tostring(var.digits)}"}}
    native.write({"opsconsole_host": {"a": host}}, variable=variables, output=output)
    digits = "0.12345678901234567890123"
    native.run("plan", "-out=p", '-var=tags=["b:2", "a:1"]', f"-var=digits={digits}")
    program = (native.folder / "cdk.tf.json").read_text()
    assert json.dumps(program) in content(native, "p"), "without a credential it is kept as it is"
    native.run("apply", "p")
    assert native.attributes("opsconsole_host.a")["tags"] == ["a:1", "b:2"]
    assert native.state["outputs"]["digits"]["value"] == digits


def test_guard_holds_for_a_saved_plan(native, fleet):
    native.apply(fleet(24, agents=False))
    native.run_plan(fleet(2, agents=False), "-out=p", "--force")
    assert "must be forced" in native.run("apply", "p", expect=1).err
    rows = native.console.rows("hosts")
    for row in rows:
        native.console.change("hosts", row["id"], private_ip="10.1.1.1")
    refused = native.run("apply", "p", "--force", expect=1).err
    assert refused.count(": private_ip") == 20
    assert "web[7]: private_ip\n│   and 2 more\n│ Nothing was changed. Plan again.\n" in refused
    changed = iter([row["id"] for row in rows if row["name"] not in ("web-0", "web-1")])
    for _ in range(2):
        native.console.change("hosts", next(changed), private_ip=None)
    refused = native.run("apply", "p", "--force", expect=1).err
    assert (refused.count(": private_ip"), "more" in refused) == (20, False)
    for host_id in changed:
        native.console.change("hosts", host_id, private_ip=None)
    native.run("apply", "p", "--force")
    assert len(native.console.rows("hosts")) == 2


def test_a_saved_plan_is_for_its_workspace(native):
    native.run_plan(HOST, "-out=p")
    native.monkeypatch.setenv("TF_WORKSPACE", "dev")
    refused = native.run("apply", "p", expect=1).err
    assert 'made in the workspace "default", and "dev" is selected' in refused
    assert native.console.rows("hosts") == []
    native.monkeypatch.delenv("TF_WORKSPACE")
    native.run("apply", "p")


def test_a_saved_plan_is_for_the_place_of_its_state(native):
    """Before the first apply, there is no lineage that tells one state from another."""
    elsewhere = "-backend-config=path=elsewhere.tfstate"
    native.write(HOST, terraform={"backend": {"local": {}}})
    assert "with the same --backend-config:" in native.run("plan", "-out=p", elsewhere).err
    refused = native.run("apply", "p", expect=1).err
    assert "elsewhere.tfstate, and this one is " in refused
    native.run("apply", "p", elsewhere)
    assert (native.folder / "elsewhere.tfstate").exists()
    native.run("plan", "-detailed-exitcode", elsewhere)


@pytest.mark.parametrize(
    "word", ["-target=opsconsole_host.a", "-destroy", "-refresh-only", "-refresh=false"]
)
def test_options_of_the_plan_are_refused_with_a_saved_plan(native, word):
    native.run_plan(HOST, "-out=p")
    assert "cannot be given with a saved plan" in native.run("apply", word, "p", expect=1).err


def refuse(native: Any, said: str) -> None:
    """Check that the plan `p` is neither applied nor shown, each time with this one error."""
    for command in ("apply", "show"):
        refused = native.run(command, "p", expect=1)
        assert said in refused.err
        assert refused.err.count("Error:") == 1


def test_file_that_is_no_plan_is_refused(native):
    native.write(HOST)
    refuse(native, "Cannot read the plan")
    native.run("plan", "-out=p")
    whole = (native.folder / "p").read_bytes()
    for data, said in (
        (whole[:-1], "is damaged"),
        (whole + b"x", "is damaged"),
        (b"PK\x03\x04", "is not a plan of this release"),
        (b"opsconsole plan 3\nxxxx", "is damaged"),
    ):
        (native.folder / "p").write_bytes(data)
        refuse(native, said)


def test_a_plan_that_grows_too_large_when_it_is_unpacked_is_refused(native, monkeypatch):
    native.run_plan(HOST, "-out=p")
    text = content(native, "p").encode()
    packed = zlib.compress(text + b" " * 2**20)
    (native.folder / "p").write_bytes(b"opsconsole plan 3\n" + packed)
    native.run("show", "p")
    monkeypatch.setattr("opsconsole.reconcile.saved_plan.MAX_BYTES", 2**20)
    refuse(native, "is damaged")


def test_a_plan_that_cannot_be_written_or_has_errors_is_not_saved(native):
    assert "Cannot write the plan" in native.run_plan(HOST, "-out=/dev/full", expect=1).err
    native.run_plan({"opsconsole_specialty": {"none": {"key": "none"}}}, "-out=p", expect=1)
    assert not (native.folder / "p").exists()


WHOLE = host_with_agent() | {"opsconsole_specialty": {"linux": {"key": "linux-server"}}}


@pytest.mark.parametrize(*ROWS["test_a_plan_of_another_shape_is_damaged"])
def test_a_plan_of_another_shape_is_damaged(native, path, value):
    native.apply({"opsconsole_host": WHOLE["opsconsole_host"]})
    [row] = native.console.rows("hosts")
    native.console.change("hosts", row["id"], knowledge="k")
    native.run_plan(WHOLE, "-out=p", data={"opsconsole_specialties": {"all": {}}})
    plan = holder = json.loads(content(native, "p"))
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value
    packed = zlib.compress(json.dumps(plan).encode())
    (native.folder / "p").write_bytes(b"opsconsole plan 3\n" + packed)
    refuse(native, "is damaged")
    assert not (native.folder.parent / "outside.tf.json").exists()


def test_saved_plan_keeps_its_time(native):
    knowledge = '${plantimestamp()} ${opsconsole_host.first.id == "" ? 1 : 2}'
    a = {"name": "a", "knowledge": knowledge, "jump_host_ids": ["${opsconsole_host.first.id}"]}
    known = "credential_id = null, credential_role = null, is_required = true"
    late = f'${{opsconsole_host.first.id == "" ? {{order = 1, {known}}} : {{order = 2, {known}}}}}'
    agent = agent_on("first", credential_config=[{"credential_role": a["jump_host_ids"][0]}, late])
    resources = {**hosts("first", a=a), "opsconsole_agent": {"x": agent}}
    native.write(resources, output={"when": {"value": "${plantimestamp()}"}})
    native.run("plan", "-out=p")
    planned = json.loads(content(native, "p"))["plan"]["planned_at"]
    native.run("apply", "p")
    rows = {row["name"]: row for row in native.console.rows("hosts")}
    stamp = native.state["outputs"]["when"]["value"]
    assert rows["a"]["knowledge"] == f"{stamp} 2"
    assert planned.startswith(stamp.removesuffix("Z"))


def test_settings_and_rules_may_follow_the_workspace(native):
    """A saved plan, `import`, `hosts import` and `validation` blocks know the workspace."""
    base_url = native.console.environment["OPSCONSOLE_BASE_URL"]
    url = f'${{terraform.workspace == "prod" ? "{base_url}" : "http://127.0.0.1:9"}}'
    native.settings = {"base_url": url, "max_retries": 0}
    other = native.console.create("hosts", name="other")
    b = {"name": "other"}
    native.write({"opsconsole_host": HOST["opsconsole_host"] | {"b": b}})
    native.run("workspace", "new", "prod")
    native.run("import", "opsconsole_host.b", other["id"])
    native.run("apply", "-auto-approve")
    condition = '${var.v == "x" && terraform.workspace == "prod"}'
    rule = {"condition": condition, "error_message": "wrong workspace"}
    native.write(
        {"opsconsole_host": {"a": {"name": "a", "knowledge": "two"}, "b": {"name": "other"}}},
        variable={"v": {"default": "x", "validation": [rule]}},
    )
    native.run("validate")
    native.run("plan", "-out=p")
    native.run("apply", "p")
    (native.folder / "hosts.json").write_text('[{"name": "third"}]')
    native.run("hosts", "import", "hosts.json", "--dry-run")


def test_a_plan_is_written_over_a_plan_and_over_no_other_file(native):
    native.write(HOST)
    program = native.folder / "main.py"
    program.write_text("print('mine')\n")
    native.console.reset_log()
    refused = native.run("plan", "--out", "main.py", expect=1)
    assert refused.err == (
        "Error: main.py exists already and is not a plan, so it is not overwritten.\n"
        "Name another file, or remove that file first.\n"
    )
    assert program.read_text() == "print('mine')\n"
    assert native.console.traffic()["total"] == 0

    (native.folder / "empty").touch()
    with zipfile.ZipFile(native.folder / "terraforms", "w") as archive:
        archive.writestr("tfplan", "")
    for name in ("new", "new", "empty", "terraforms", os.devnull):
        native.run("plan", "--out", name)
    with zipfile.ZipFile(native.folder / "photos.zip", "w") as archive:
        archive.writestr("photo", "")
    native.run("plan", "--out", "photos.zip", expect=1)


def test_a_saved_plan_keeps_the_verdicts(native):
    native.run_plan({"opsconsole_host": {"new": {"name": "new"}}}, "--preflight", "-out=p")
    assert "(dry run: would be created)" in native.run("show", "p").out
    native.run("apply", "p")
    changed = {"opsconsole_host": {"new": {"name": "new", "knowledge": "k"}}}
    assert "dry run" not in native.run_plan(changed, "--preflight").out, "it creates nothing"
