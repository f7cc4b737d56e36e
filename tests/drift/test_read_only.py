"""--read-only: nothing but GET leaves the process, whatever the settings would allow."""

from contextlib import aclosing

import pytest

from opsconsole.emulator.document import EXTRA
from opsconsole.errors import UserError
from opsconsole.v1.client import Client
from opsconsole.v1.operations import DOCUMENTED
from opsconsole.v1.settings import Settings


def test_an_extra_endpoint_that_is_no_get_is_not_there(native_on, world):
    endpoints = {"host_get": "POST /api/v1/hosts/{id}", "specialty_get": EXTRA["specialty_get"]}
    native = native_on("extended")
    native.settings["extra_endpoints"] = endpoints
    native.console.switch(empty_update="accepted")
    try:
        native.apply(**world())
        native.console.reset_log()
        found = native.drift("--read-only")
    finally:
        native.console.switch(empty_update="refused")
    assert found.bucket("opsconsole_host.jump") == "unchecked"
    assert found.bucket("opsconsole_specialty.linux") == "in_sync"
    assert {entry["method"] for entry in native.console.requests()} == {"GET"}
    assert found.document["calls"]["specialty_get"] == 1


@pytest.mark.parametrize("operation", DOCUMENTED, ids=lambda item: item.name)
async def test_read_only_client_sends_only_get(operation, native):
    settings = Settings(base_url=native.console.base_url, api_key=native.console.api_key)
    native.console.reset_log()
    ids = [f"x_{number}" for number in range(operation.path.count("{"))]
    async with aclosing(Client(settings, get_only=True)) as client:
        calling = client.call(operation, ids, shape=lambda answer: answer)
        if operation.method == "GET":
            try:
                await calling
            except Exception as problem:
                assert not isinstance(problem, UserError)
            assert len(native.console.requests()) == 1
            return
        with pytest.raises(UserError, match="was not sent: this run is read only"):
            await calling
        assert client.calls == {}
    assert native.console.requests() == []
