"""What stands in for what only Linux has: memory files and handles of processes."""

import asyncio
import os
import subprocess
import sys

import pytest

from opsconsole.terraform.certificate import make_certificate, server_context
from opsconsole.terraform.serving import wait_for_shutdown
from opsconsole.terraform.transport import Activity, PluginServer
from patience import PATIENCE


def test_a_certificate_is_read_without_memory_files(identity, monkeypatch):
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
