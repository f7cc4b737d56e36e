"""The calls that speak of one resource: upgrade, read, plan, apply, import, move.

One function a call: decode, one call into the lifecycle, encode. What is planned or done is
decided there and nowhere here.
"""

from __future__ import annotations

from collections.abc import Iterable

from opsconsole.diagnostics import Diagnostic, error
from opsconsole.lifecycle.interface import (
    CreateRequest,
    DeleteRequest,
    Outcome,
    PlanChange,
    PlanCreation,
    PlanRemoval,
    PlanRequest,
    ReadRequest,
    UpdateRequest,
)
from opsconsole.terraform.configured import Configured, NotServedError
from opsconsole.terraform.proto import tfplugin6_pb2 as pb
from opsconsole.terraform.rendering import attribute_path


class ResourceCalls:
    """Answers them for one process."""

    def __init__(self, provider: Configured) -> None:
        self._provider = provider

    async def upgrade_resource_state(
        self, request: pb.UpgradeResourceState.Request
    ) -> pb.UpgradeResourceState.Response:
        """Read a stored state as this version has it; needs no configuration."""
        codec = self._provider.codec("resource", request.type_name)
        if not request.raw_state.json:
            raise NotServedError(
                error(
                    "The state was written by Terraform 0.11 or older",
                    "No version of this provider wrote such a state.",
                )
            )
        state = codec.decode_state(request.raw_state.json)
        return pb.UpgradeResourceState.Response(upgraded_state=codec.encode(state))

    async def read_resource(self, request: pb.ReadResource.Request) -> pb.ReadResource.Response:
        """Read what the console holds."""
        name = request.type_name
        codec = self._provider.codec("resource", name)
        prior = codec.decode(request.current_state)
        if prior is None:
            return pb.ReadResource.Response(new_state=request.current_state)
        self._provider.claim("read", name, prior)
        outcome = await self._provider.read(name, ReadRequest(prior, request.private))
        return pb.ReadResource.Response(
            new_state=codec.encode(outcome.state),
            private=outcome.private,
            diagnostics=self._tell(name, (*outcome.diagnostics, *_not_begun(outcome))),
        )

    async def plan_resource_change(
        self, request: pb.PlanResourceChange.Request
    ) -> pb.PlanResourceChange.Response:
        """Say what would be done.

        Terraform's own proposal is only looked at for being null, which asks for removal.
        """
        name = request.type_name
        steps = self._provider.steps(name)
        codec = self._provider.codec("resource", name)
        prior, private = codec.decode(request.prior_state), request.prior_private
        config = codec.decode(request.config) or {}
        if codec.decode(request.proposed_new_state) is None:
            asked: PlanRequest = PlanRemoval(prior or {}, private)
        elif prior is None:
            asked = PlanCreation(config, private)
        else:
            asked = PlanChange(prior, config, private)
        [outcome] = await steps.plan([asked])
        attributes = self._provider.attributes("resource", name)
        return pb.PlanResourceChange.Response(
            planned_state=codec.encode(outcome.planned),
            requires_replace=[attribute_path((item,), attributes) for item in outcome.replace],
            planned_private=outcome.private,
            diagnostics=self._tell(name, outcome.diagnostics),
        )

    async def apply_resource_change(
        self, request: pb.ApplyResourceChange.Request
    ) -> pb.ApplyResourceChange.Response:
        """Carry out what was planned."""
        name = request.type_name
        codec = self._provider.codec("resource", name)
        prior, planned = codec.decode(request.prior_state), codec.decode(request.planned_state)
        config, private = codec.decode(request.config) or {}, request.planned_private
        if prior is None:
            creation = CreateRequest(config, planned or {}, private)
            outcome = await self._provider.create(name, creation)
        elif planned is None:
            self._provider.claim("delete", name, prior)
            outcome = await self._provider.steps(name).delete(DeleteRequest(prior, private))
        else:
            self._provider.claim("change", name, prior)
            change = UpdateRequest(prior, config, planned, private)
            outcome = await self._provider.steps(name).update(change)
        return pb.ApplyResourceChange.Response(
            new_state=codec.encode(outcome.state),
            private=outcome.private,
            diagnostics=self._tell(name, (*outcome.diagnostics, *_not_begun(outcome))),
        )

    async def import_resource_state(
        self, request: pb.ImportResourceState.Request
    ) -> pb.ImportResourceState.Response:
        """Read the resource that an import id names."""
        name = request.type_name
        outcome = await self._provider.steps(name).import_state(request.id)
        response = pb.ImportResourceState.Response(
            diagnostics=self._tell(name, outcome.diagnostics)
        )
        if outcome.state is not None:
            response.imported_resources.add(
                type_name=name,
                state=self._provider.codec("resource", name).encode(outcome.state),
                private=outcome.private,
            )
        return response

    async def move_resource_state(
        self, request: pb.MoveResourceState.Request
    ) -> pb.MoveResourceState.Response:
        """Refuse to make one resource of another: no two of this provider are alike."""
        raise NotServedError(
            error(
                f"A {request.source_type_name} cannot become a {request.target_type_name}",
                "Remove the `moved` block, and `terraform import` the object under its new "
                "address.",
            )
        )

    def _tell(self, name: str, diagnostics: Iterable[Diagnostic]) -> list[pb.Diagnostic]:
        return self._provider.tell(diagnostics, self._provider.attributes("resource", name))


def _not_begun(outcome: Outcome) -> tuple[Diagnostic, ...]:
    """Say that nothing was asked of the console, where the run was told to stop before."""
    if outcome.begun:
        return ()
    return (error("Not begun: the run was told to stop", "Nothing was sent for it; run again."),)
