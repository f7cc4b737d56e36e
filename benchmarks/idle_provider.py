"""A provider with our schema that does nothing: what it costs is Terraform's own work, and gRPC's.

It answers every call at once with what Terraform itself proposes, and speaks to no console.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from google.protobuf.message import Message
from grpclib.const import Handler

from opsconsole.terraform.codec import provider_schema
from opsconsole.terraform.proto import tfplugin6_pb2 as pb
from opsconsole.terraform.transport import Activity, unary_handlers

_OURS = "raise SystemExit(main())"
_IDLE = (
    "import sys; sys.path.append(sys.argv[1]); "
    'make = lambda _: __import__("benchmarks.idle_provider").idle_provider.Idle(); '
    "raise SystemExit(main(make))"
)


def in_place_of(launcher: Path) -> None:
    """Make an installed launcher start this provider, as it would start ours."""
    root = Path(__file__).resolve().parent.parent
    text = launcher.read_text()
    assert f"{_OURS}'" in text
    launcher.write_text(text.replace(f"{_OURS}'", f"{_IDLE}' '{root}'"))


class Idle:
    """Its service."""

    def handlers(self, activity: Activity) -> dict[str, Handler]:
        """Return the handlers of what Terraform calls for hosts."""
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
        """There is nothing to let go of."""


def _nothing(response: type[Message]) -> Any:
    async def answer(request: Message) -> Message:
        return response()

    return answer


async def _schema(request: pb.GetProviderSchema.Request) -> pb.GetProviderSchema.Response:
    return provider_schema()


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
