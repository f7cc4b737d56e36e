"""gRPC as Terraform uses it: many streams, big messages, frames nobody knows, a clean end."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from typing import Any

import h2.config
import h2.connection
import h2.events
import pytest
from grpclib.client import StreamStreamMethod, UnaryStreamMethod, UnaryUnaryMethod
from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError
from grpclib.health.v1 import health_pb2

from opsconsole.terraform.certificate import make_certificate, server_context
from opsconsole.terraform.proto import plugin_pb2
from opsconsole.terraform.proto import tfplugin6_pb2 as pb
from opsconsole.terraform.serving import wait_for_shutdown
from opsconsole.terraform.transport import STREAMS_AT_ONCE, Activity, BoundedCodec, PluginServer
from patience import PATIENCE

AGENT = "opsconsole_agent"


def agent(wire: Any, name: str) -> dict[str, Any]:
    planned = wire(AGENT, name=name)
    null = pb.DynamicValue(msgpack=b"\xc0")
    states = {"prior_state": null, "planned_state": planned, "config": planned}
    return {"type_name": AGENT, "planned_private": b"", **states}


async def test_a_hundred_and_fifty_applies_are_in_flight_at_once(start, connect, wire):
    """None ends before the last has come, and the provider can be stopped meanwhile."""
    async with start(env={"SCRIPTED_PARTIES": "150"}) as plugin, connect(plugin) as client:
        await client.configure()
        calls = [
            asyncio.create_task(client.call("ApplyResourceChange", **agent(wire, f"a{number}")))
            for number in range(149)
        ]
        async with asyncio.timeout(PATIENCE):
            assert not (await client.call("StopProvider")).Error
        assert not any(call.done() for call in calls)
        last = await client.call("ApplyResourceChange", **agent(wire, "last"))
        responses = [*await asyncio.gather(*calls), last]
        assert not any(response.diagnostics for response in responses)


async def test_big_messages_both_ways(client, codec_of):
    knowledge = "x" * (24 << 20)
    raw = {"raw_state": pb.RawState(json=json.dumps({"knowledge": knowledge}).encode())}
    response = await client.call("UpgradeResourceState", type_name="opsconsole_host", **raw)
    assert codec_of("opsconsole_host").decode(response.upgraded_state)["knowledge"] == knowledge


def test_messages_beyond_the_limit():
    codec = BoundedCodec(largest=10)
    small, large = pb.DynamicValue(json=b"12345678"), pb.DynamicValue(json=b"123456789")
    assert codec.decode(codec.encode(small, pb.DynamicValue), pb.DynamicValue) == small
    for fails in (
        lambda: codec.encode(large, pb.DynamicValue),
        lambda: codec.decode(large.SerializeToString(), pb.DynamicValue),
    ):
        with pytest.raises(GRPCError) as problem:
            fails()
        assert problem.value.status is Status.RESOURCE_EXHAUSTED


@pytest.mark.parametrize("name", ["OpenEphemeralResource", "CallFunction", "Invented"])
async def test_calls_that_the_schema_never_asks_for(client, name):
    takes = pb.StopProvider.Request
    call: Any = UnaryUnaryMethod(client.channel, f"/tfplugin6.Provider/{name}", takes, takes)
    with pytest.raises(GRPCError) as problem:
        await call(takes(), timeout=PATIENCE)
    assert problem.value.status is Status.UNIMPLEMENTED


async def test_health(client):
    call: Any = UnaryUnaryMethod(
        client.channel,
        "/grpc.health.v1.Health/Check",
        health_pb2.HealthCheckRequest,
        health_pb2.HealthCheckResponse,
    )
    response = await call(health_pb2.HealthCheckRequest(service="plugin"), timeout=PATIENCE)
    assert response.status == health_pb2.HealthCheckResponse.SERVING


async def test_the_streams_stay_open_until_shutdown(start, connect):
    async with start() as plugin, connect(plugin) as client:
        assert not (await client.configure()).diagnostics
        stdio: Any = UnaryStreamMethod(
            client.channel, "/plugin.GRPCStdio/StreamStdio", plugin_pb2.Empty, plugin_pb2.StdioData
        )
        broker: Any = StreamStreamMethod(
            client.channel,
            "/plugin.GRPCBroker/StartStream",
            plugin_pb2.ConnInfo,
            plugin_pb2.ConnInfo,
        )
        shutdown: Any = UnaryUnaryMethod(
            client.channel, "/plugin.GRPCController/Shutdown", plugin_pb2.Empty, plugin_pb2.Empty
        )
        with contextlib.suppress(GRPCError, StreamTerminatedError):
            async with stdio.open() as output, broker.open() as offers:
                await output.send_message(plugin_pb2.Empty(), end=True)
                await offers.send_request()
                await offers.end()
                heard = [
                    asyncio.create_task(output.recv_message()),
                    asyncio.create_task(offers.recv_message()),
                ]
                assert (await client.call("GetMetadata")).resources
                assert not any(stream.done() for stream in heard)
                await shutdown(plugin_pb2.Empty(), timeout=PATIENCE)
                await asyncio.wait(heard, timeout=PATIENCE)
                for stream in heard:
                    with contextlib.suppress(GRPCError, StreamTerminatedError):
                        assert stream.result() is None
        assert await plugin.ended() == 0
        assert not plugin.folder.exists()
        assert "closed" in await plugin.stderr()


async def test_shutdown_does_not_wait_long_for_what_hangs(start, connect, wire):
    async with start(env={"SCRIPTED_PARTIES": "2"}) as plugin, connect(plugin) as client:
        await client.configure()
        hanging = asyncio.create_task(client.call("ApplyResourceChange", **agent(wire, "a")))
        shutdown: Any = UnaryUnaryMethod(
            client.channel, "/plugin.GRPCController/Shutdown", plugin_pb2.Empty, plugin_pb2.Empty
        )
        await shutdown(plugin_pb2.Empty(), timeout=PATIENCE)
        async with asyncio.timeout(PATIENCE):
            assert await plugin.ended() == 0
        with pytest.raises((GRPCError, StreamTerminatedError, ConnectionError)):
            await hanging


async def test_a_console_that_hangs_does_not_hold_up_the_end(start, connect):
    async with start(env={"SCRIPTED_PARTING": "3600", "TF_LOG": "warn"}) as plugin:
        async with connect(plugin) as client:
            await client.configure()
            client.channel.close()
            plugin.process.terminate()
            async with asyncio.timeout(PATIENCE):
                assert await plugin.ended() == 0
        assert "connections to the console were cut" in await plugin.stderr()
        assert not plugin.folder.exists()


async def test_unknown_frames_are_passed_over(start, identity):
    async with start() as plugin:
        reader, writer = await asyncio.open_unix_connection(
            plugin.path, ssl=plugin.context(identity), server_hostname="localhost"
        )
        with contextlib.closing(writer):
            client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
            client.initiate_connection()
            unknown_frame = b"\0\0\4\xfa\0\0\0\0\0data"
            writer.write(client.data_to_send() + unknown_frame)
            client.ping(b"are you?")
            writer.write(client.data_to_send())
            seen: list[type] = []
            async with asyncio.timeout(PATIENCE):
                while h2.events.PingAckReceived not in seen:
                    data = await reader.read(4096)
                    assert data, "the provider dropped the connection"
                    seen.extend(type(event) for event in client.receive_data(data))
                    writer.write(client.data_to_send())
            assert client.remote_settings.max_concurrent_streams == STREAMS_AT_ONCE


def test_a_certificate_is_read_without_memory_files(identity, monkeypatch):
    """Only Linux has them, and handles of processes."""
    monkeypatch.delattr(os, "memfd_create", raising=False)
    assert server_context(make_certificate().pem, identity.certificate).get_ca_certs()


def waiting_process() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)


@pytest.mark.parametrize("handles", [True, False])
async def test_a_parent_that_is_gone_ends_the_process(identity, monkeypatch, handles):
    """Both when it has ended before anybody looked, and when it ends later."""
    if not handles:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    server = PluginServer({}, identity.certificate)
    async with asyncio.timeout(PATIENCE):
        await wait_for_shutdown(server, asyncio.Event(), Activity(), parent=-1)
    with waiting_process() as parent:
        monkeypatch.setattr(os, "getppid", lambda: parent.pid if parent.poll() is None else 1)
        ending = asyncio.create_task(
            wait_for_shutdown(server, asyncio.Event(), Activity(), parent=parent.pid)
        )
        await asyncio.sleep(0.05)
        assert not ending.done()
        parent.kill()
        async with asyncio.timeout(PATIENCE):
            await ending
