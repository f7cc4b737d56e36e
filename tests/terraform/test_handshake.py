"""The handshake: who is served, what the line says, and how a process ends."""

import asyncio
import contextlib
import signal
import ssl
import stat
import sys
from pathlib import Path

import pytest

from engines import run_program
from opsconsole.terraform import handshake
from opsconsole.terraform.handshake import (
    COOKIE_NAME,
    RefusedError,
    SocketListener,
    client_certificate,
)
from patience import PATIENCE

PROVIDER = (sys.executable, "-m", "opsconsole.terraform.main")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({COOKIE_NAME: ""}, "Terraform itself starts it"),
        ({COOKIE_NAME: "guess"}, "Terraform itself starts it"),
        ({"PLUGIN_PROTOCOL_VERSIONS": "4,5"}, "version 6"),
        ({"PLUGIN_CLIENT_CERT": ""}, "shows who it is"),
    ],
)
async def test_whom_it_refuses(start, changed, says):
    async with start(PROVIDER, changed) as plugin:
        assert plugin.line == ""
        assert says in await plugin.stderr()
        assert await plugin.ended() == 1


def test_a_client_that_names_no_versions_is_taken_at_its_cookie(identity):
    cookie = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2"
    environment = {COOKIE_NAME: cookie, "PLUGIN_CLIENT_CERT": identity.certificate}
    assert client_certificate(environment) == identity.certificate
    with pytest.raises(RefusedError):
        client_certificate(environment | {"PLUGIN_PROTOCOL_VERSIONS": "16"})


async def test_the_line_and_the_socket(start, connect):
    async with start(PROVIDER) as plugin:
        core, protocol, network, path, kind, certificate = plugin.line.split("|")
        assert (core, protocol, network, kind) == ("1", "6", "unix", "grpc")
        assert len(certificate) > 50
        assert "=" not in certificate
        assert stat.S_IMODE(plugin.folder.stat().st_mode) == 0o700
        assert path == str(plugin.folder / "provider.sock")
        async with connect(plugin) as client:
            assert (await client.call("GetMetadata")).resources


LIFECYCLES, ANSWERS = "opsconsole.resources.lifecycles", "opsconsole.lifecycle.answers"
SERVING = "import opsconsole.terraform.serving, opsconsole.resources.lifecycles"
SCHEMA = """
import asyncio
from opsconsole.redaction import Redaction
from opsconsole.terraform.main import make_service
assert asyncio.run(make_service(Redaction()).get_provider_schema(None)).resource_schemas
"""


@pytest.mark.parametrize(
    ("code", "there", "heavy"),
    [
        ("", "terraform.main", {"httpx", "aiohttp", "google.protobuf", "grpclib", LIFECYCLES}),
        # Several processes of a run are asked for nothing else.
        (SCHEMA, "lifecycle.interface", {ANSWERS, "opsconsole.v1.answers", "aiohttp"}),
        # It takes a while to load, and the first answer of a console is early enough.
        (SERVING, "resources.lifecycles", {"pydantic"}),
    ],
)
def test_what_is_heavy_is_imported_once_it_is_needed(code, there, heavy):
    # How long a start takes is measured by `make bench`; this is what makes it short.
    program = f"{code}\nimport sys, opsconsole.terraform.main; print(*sys.modules)"
    loaded = set(run_program(sys.executable, "-c", program).out.split())
    assert f"opsconsole.{there}" in loaded
    assert not heavy & loaded


async def test_stdout_carries_nothing_else_and_stderr_nothing_unasked(start, connect):
    async with start(PROVIDER) as plugin, connect(plugin) as client:
        await client.configure(base_url="https://localhost", api_key="svc_ak_0")
        await client.call("GetProviderSchema")
        client.channel.close()
        plugin.process.terminate()
        assert await plugin.process.stdout.read() == b""
        assert await plugin.stderr() == ""
        assert await plugin.ended() == 0
        assert not plugin.folder.exists()


async def test_what_is_printed_goes_to_stderr(start, connect):
    async with start() as plugin, connect(plugin) as client:
        await client.configure()
        client.channel.close()
        plugin.process.terminate()
        assert await plugin.process.stdout.read() == b""
        assert (await plugin.stderr()).splitlines() == ["stray print", "closed"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
async def test_signals_of_the_terminal_are_left_to_terraform(start, connect, number):
    async with start() as plugin:
        plugin.process.send_signal(number)
        async with connect(plugin) as client:
            assert (await client.call("GetMetadata")).resources
            plugin.process.send_signal(number)
            assert not (await client.call("StopProvider")).Error


async def test_sigterm_before_anybody_connects(start):
    async with start() as plugin:
        plugin.process.terminate()
        assert await plugin.ended() in (0, 128 + signal.SIGTERM)
        assert not plugin.folder.exists()


async def test_sigterm_lets_the_client_take_the_last_answers(start, connect):
    async with start() as plugin:
        async with connect(plugin) as client:
            await client.configure()
            plugin.process.terminate()
            assert (await client.call("GetMetadata")).resources
            assert (await client.call("GetMetadata")).resources
        assert await plugin.ended() == 0


async def test_sigterm_waits_for_what_is_in_flight(start, connect, wire):
    async with start(env={"SCRIPTED_PARTIES": "2"}) as plugin, connect(plugin) as client:
        await client.configure()
        planned = wire("opsconsole_agent", name="a")
        states = {"prior_state": {"msgpack": b"\xc0"}, "planned_state": planned, "config": planned}
        fields = {"type_name": "opsconsole_agent", **states}
        first = asyncio.create_task(client.call("ApplyResourceChange", **fields))
        await client.call("GetMetadata")
        plugin.process.terminate()
        assert (await client.call("GetMetadata")).resources
        await client.call("ApplyResourceChange", **fields)
        assert not (await first).diagnostics
        assert await plugin.ended() == 0


async def test_the_end_of_the_parent_is_noticed(start, connect):
    """A shell in between stands for a Terraform that is killed."""
    wrapper = ("/bin/sh", "-c", f"{' '.join(PROVIDER)}; true")
    async with start(wrapper) as plugin, connect(plugin) as client:
        assert (await client.call("GetMetadata")).resources
        plugin.process.kill()
        async with asyncio.timeout(PATIENCE):
            while plugin.folder.exists():  # noqa: ASYNC110  # no event of another process
                await asyncio.sleep(0.02)


async def test_a_client_that_goes_away_is_not_waited_for_long(start, connect):
    async with start() as plugin:
        async with connect(plugin) as client:
            await client.call("GetMetadata")
        assert await plugin.ended() == 0
        assert not plugin.folder.exists()


@pytest.mark.parametrize("who", ["nobody", "a stranger", "a relative", "no HTTP/2"])
async def test_other_clients_are_refused(start, identity, stranger, relative, who):
    clients = {"nobody": None, "a stranger": stranger, "a relative": relative}
    shown = clients.get(who, identity)
    async with start(PROVIDER) as plugin:
        context = plugin.context(shown, "http/1.1" if who == "no HTTP/2" else "h2")
        with pytest.raises((ssl.SSLError, ConnectionError, EOFError)):
            reader, writer = await asyncio.open_unix_connection(
                plugin.path, ssl=context, server_hostname="localhost"
            )
            with contextlib.closing(writer):
                writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
                while await asyncio.wait_for(reader.read(4096), PATIENCE):
                    pass
                raise EOFError("closed by the provider")


async def test_plaintext_is_refused(start):
    async with start(PROVIDER) as plugin:
        reader, writer = await asyncio.open_unix_connection(plugin.path)
        with contextlib.closing(writer):
            writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
            assert b"HTTP" not in await asyncio.wait_for(reader.read(), PATIENCE)


async def test_a_certificate_that_is_none_ends_the_process(start):
    broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    async with start(PROVIDER, {"PLUGIN_CLIENT_CERT": broken}) as plugin:
        assert await plugin.ended() == 1
        assert not plugin.folder.exists()


async def test_a_long_temporary_folder_is_passed_over(start, tmp_path):
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    async with start(PROVIDER, {"TMPDIR": str(deep)}) as plugin:
        assert plugin.folder.parent == Path("/tmp")


def test_a_socket_that_cannot_be_made_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(handshake, "_LONGEST_PATH", 4000)
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    with pytest.raises(OSError, match="too long"):
        SocketListener([deep])
    assert not list(deep.iterdir())


def test_a_listener_says_when_no_folder_serves():
    with pytest.raises(FileNotFoundError, match="/missing/"):
        SocketListener([Path("/missing")])
    with pytest.raises(OSError, match="no folder"):
        SocketListener([])
