"""A provider with our schema that does nothing: what it costs is Terraform's own work, and gRPC's.

It answers every call at once with what Terraform itself proposes, and speaks to no console. It is
started by the launcher of the installed provider, after `in_place_of` has rewritten that.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from google.protobuf.message import Message
from grpclib.const import Handler

from opsconsole.resources import DATA_SOURCES, PROVIDER, RESOURCES
from opsconsole.terraform.calls import Activity, unary_handlers
from opsconsole.terraform.certificate import make_certificate
from opsconsole.terraform.handshake import (
    Listener,
    client_certificate,
    handshake_line,
    socket_parents,
)
from opsconsole.terraform.proto import tfplugin6_pb2 as pb
from opsconsole.terraform.schema import provider_schema
from opsconsole.terraform.serving import serve_process

_THEIRS = "from opsconsole.terraform.main import main; raise SystemExit(main())"
# The module's name stays in the command line, by which plugins are told apart.
_OURS = (
    "import sys, opsconsole.terraform.main; sys.path.append(sys.argv[1]); "
    "from benchmarks.idle_provider import main; main()"
)


def in_place_of(launcher: Path) -> None:
    """Make an installed launcher start this provider."""
    root = Path(__file__).resolve().parent.parent
    text = launcher.read_text().replace(f"'{_THEIRS}'", f"'{_OURS}' '{root}'")
    launcher.write_text(text)


class _Idle:
    def handlers(self, activity: Activity) -> dict[str, Handler]:
        service = pb.DESCRIPTOR.services_by_name["Provider"]
        methods = {
            "GetProviderSchema": _schema,
            "ValidateProviderConfig": _nothing(pb.ValidateProviderConfig.Response),
            "ConfigureProvider": _nothing(pb.ConfigureProvider.Response),
            "ValidateResourceConfig": _nothing(pb.ValidateResourceConfig.Response),
            "UpgradeResourceState": _upgrade,
            "ReadResource": _read,
            "PlanResourceChange": _plan,
            "ApplyResourceChange": _apply,
        }
        return unary_handlers(service, methods, activity)

    async def close(self) -> None:
        pass


def _nothing(response: type[Message]) -> Any:
    async def answer(request: Message) -> Message:
        return response()

    return answer


async def _schema(request: pb.GetProviderSchema.Request) -> pb.GetProviderSchema.Response:
    return provider_schema(PROVIDER, RESOURCES, DATA_SOURCES)


async def _upgrade(request: pb.UpgradeResourceState.Request) -> pb.UpgradeResourceState.Response:
    return pb.UpgradeResourceState.Response(
        upgraded_state=pb.DynamicValue(json=request.raw_state.json)
    )


async def _read(request: pb.ReadResource.Request) -> pb.ReadResource.Response:
    return pb.ReadResource.Response(new_state=request.current_state)


async def _plan(request: pb.PlanResourceChange.Request) -> pb.PlanResourceChange.Response:
    return pb.PlanResourceChange.Response(planned_state=request.proposed_new_state)


async def _apply(request: pb.ApplyResourceChange.Request) -> pb.ApplyResourceChange.Response:
    return pb.ApplyResourceChange.Response(new_state=request.planned_state)


def main() -> None:
    """Serve Terraform until it is done."""
    parent = os.getppid()
    client_pem = client_certificate(os.environ)
    listener = Listener(socket_parents(os.environ))
    certificate = make_certificate()
    os.write(1, handshake_line(listener.path, certificate.der).encode("ascii"))
    os.dup2(2, 1)
    try:
        serve_process(lambda redaction: _Idle(), listener, certificate, client_pem, parent)
    finally:
        listener.remove()
