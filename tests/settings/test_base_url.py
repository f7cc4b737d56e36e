"""A console that cannot be used or reached: one clear error with a remedy."""

from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from declarations import attributes_in, program
from engines import ON_TERRAFORM, Run
from loopback import Handler, serve_handler
from opsconsole.emulator import Emulator

PROGRAM = program(specialty={"linux": {"key": "linux-server"}})
KEY = "svc_ak_wrong_one"


def the_error(run: Run) -> dict[str, Any]:
    """Return the only error of a run; it has a remedy and no secret."""
    [error] = run.errors
    assert error["detail"].count(".") >= 1
    assert KEY not in run.text
    return error


@pytest.mark.parametrize(
    ("variables", "told", "remedy"),
    [
        ({"OPSCONSOLE_API_KEY": ""}, "No API key is set", "Set OPSCONSOLE_API_KEY"),
        ({"OPSCONSOLE_BASE_URL": ""}, "No base address", "Set base_url"),
        ({"OPSCONSOLE_API_KEY": KEY}, "code UNAUTHORIZED", "Check the API key"),
        ({"OPSCONSOLE_BASE_URL": "http://127.0.0.1:1"}, "cannot be reached", "port of base"),
    ],
    ids=["no-key", "no-address", "wrong-key", "refused"],
)
def test_a_console_that_cannot_be_used_is_one_error(project, console, variables, told, remedy):
    engine = project(PROGRAM, console, {"max_retries": 1}, **variables)
    error = the_error(engine.plan_run(expect={1}))
    assert told in error["summary"] + error["detail"] and remedy in error["detail"]


@pytest.fixture
def console(console_of: Callable[[str], Emulator]) -> Emulator:
    """A console on a socket."""
    return console_of("default")


@pytest.fixture
def behind_a_path(console: Emulator) -> Iterator[str]:
    """The address of a server that has the console under /ops/console, and nothing else."""
    address = urlsplit(console.base_url).netloc

    class Front(Handler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            body = self.body()
            if not self.path.startswith("/ops/console/api/"):
                self.answer(404)
                return
            connection = HTTPConnection(address, timeout=300)
            path = self.path.removeprefix("/ops/console")
            connection.request(self.command, path, body, dict(self.headers))
            answer = connection.getresponse()
            kind = answer.headers["Content-Type"]
            self.answer(answer.status, answer.read(), Content_Type=kind)
            connection.close()

        do_GET = do_POST = do_DELETE = forward

    with serve_handler(Front) as front:
        yield f"{front}/ops/console"


@pytest.mark.parametrize("ending", ["", "/"])
def test_a_base_url_with_a_path_and_one_with_a_slash(applied, console, behind_a_path, ending):
    declared = program(host={"web": {"name": "web"}}, specialty={"linux": {"key": "linux-server"}})
    engine = applied(declared, console, {"base_url": behind_a_path + ending})
    engine.write(declared | {"provider": {"opsconsole": {"base_url": console.base_url + "/"}}})
    engine.plan_run(expect={0})


@ON_TERRAFORM
def test_settings_that_are_known_only_after_apply_are_one_error(project, console):
    made = {"terraform_data": {"address": {"input": console.base_url}}}
    resource = made | PROGRAM["resource"]
    settings = {"base_url": "${terraform_data.address.output}"}
    engine = project({"resource": resource}, console, settings)
    error = the_error(engine.plan_run(expect={1}))
    assert "base_url will be known only after apply" in error["summary"]
    assert "-target" in error["detail"]

    engine.apply("-target=terraform_data.address")
    engine.apply()
    engine.plan_run(expect={0})


def test_settings_follow_a_resource_in_state_or_in_the_plan(project, console):
    known = dict(console.profile.provider_settings)
    late = {"alias": "late", "org_id": "${opsconsole_host.a.name}"}
    hosts = {"a": {"name": "a"}, "b": {"name": "b", "provider": "opsconsole.late"}}
    declared = program(host=hosts) | {"provider": {"opsconsole": [known, late]}}
    engine = project(declared, console)
    engine.apply()
    assert attributes_in(engine.state())["opsconsole_host.b"]["org_id"] == "a"
    engine.plan_run(expect={0})
    engine.plan_run("-refresh-only", expect={0})
    late["org_id"] = "${opsconsole_host.a.id}"
    engine.plan_run(program=declared, expect={0})
    engine.destroy()
