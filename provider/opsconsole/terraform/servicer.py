"""The provider's service: the calls about one resource, and the handling of exceptions.

One function a call: decode, one call into the lifecycle, encode. What is planned or done is
decided there, not here. The calls about the whole provider are in `provider_calls`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpclib.const import Handler

from opsconsole.diagnostics import error
from opsconsole.lifecycle.interface import (
    CreateRequest,
    DeleteRequest,
    PlanChange,
    PlanCreation,
    PlanRemoval,
    PlanRequest,
    ReadRequest,
    UpdateRequest,
)
from opsconsole.lifecycle.translate import diagnose
from opsconsole.redaction import Redaction
from opsconsole.terraform.configured import (
    Configured,
    Connect,
    NotServedError,
    attribute_path,
    not_begun,
)
from opsconsole.terraform.proto import tfplugin6_pb2 as pb
from opsconsole.terraform.provider_calls import ProviderCalls
from opsconsole.terraform.transport import Activity, Method, unary_handlers


class ResourceCalls:
    """Answers the calls about one resource, for one process."""

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
            diagnostics=self._provider.rendered(
                (*outcome.diagnostics, *not_begun(outcome)), "resource", name
            ),
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
            diagnostics=self._provider.rendered(outcome.diagnostics, "resource", name),
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
            diagnostics=self._provider.rendered(
                (*outcome.diagnostics, *not_begun(outcome)), "resource", name
            ),
        )

    async def import_resource_state(
        self, request: pb.ImportResourceState.Request
    ) -> pb.ImportResourceState.Response:
        """Read the resource that an import id names."""
        name = request.type_name
        outcome = await self._provider.steps(name).import_state(request.id)
        response = pb.ImportResourceState.Response(
            diagnostics=self._provider.rendered(outcome.diagnostics, "resource", name)
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


_SERVICE: Final = pb.DESCRIPTOR.services_by_name["Provider"]


class Servicer:
    """Serves one Terraform process.

    Functions and ephemeral resources are not in the schema, so Terraform never calls for them;
    such a call is answered UNIMPLEMENTED.
    """

    def __init__(self, connect: Connect, redaction: Redaction) -> None:
        self._provider = Configured(connect, redaction)
        whole, resource = ProviderCalls(self._provider), ResourceCalls(self._provider)
        self._methods: dict[str, Callable[[Any], Awaitable[Message]]] = {
            "GetMetadata": whole.get_metadata,
            "GetProviderSchema": whole.get_provider_schema,
            "GetFunctions": whole.get_functions,
            "ValidateProviderConfig": whole.validate_provider_config,
            "ConfigureProvider": whole.configure_provider,
            "ValidateResourceConfig": whole.validate_resource_config,
            "ValidateDataResourceConfig": whole.validate_data_resource_config,
            "ReadDataSource": whole.read_data_source,
            "StopProvider": whole.stop_provider,
            "UpgradeResourceState": resource.upgrade_resource_state,
            "ReadResource": resource.read_resource,
            "PlanResourceChange": resource.plan_resource_change,
            "ApplyResourceChange": resource.apply_resource_change,
            "ImportResourceState": resource.import_resource_state,
            "MoveResourceState": resource.move_resource_state,
        }

    def handlers(self, activity: Activity) -> dict[str, Handler]:
        """Return the handlers of the provider's calls."""
        guarded = {name: self._guarded(name, method) for name, method in self._methods.items()}
        return unary_handlers(_SERVICE, guarded, activity)

    async def close(self) -> None:
        """Let go of everything; no call comes afterwards."""
        await self._provider.close()

    def _guarded(self, name: str, method: Method) -> Method:
        """Let no exception out: it becomes a diagnostic, and state stays as it was."""
        response_type: Any = GetMessageClass(_SERVICE.methods_by_name[name].output_type)

        async def answer(request: Any) -> Message:
            try:
                return await method(request)
            except NotServedError as refused:
                found = refused.diagnostics
            except Exception as problem:
                found = diagnose(problem, _doing(name, request))
            diagnostics = self._provider.rendered(found, "provider")
            response: Message = response_type(diagnostics=diagnostics)
            _keep_state(request, response)
            return response

        return answer


def _doing(name: str, request: Any) -> str:
    if name == "ConfigureProvider":
        return "configure the provider"
    type_name = getattr(request, "type_name", "")
    return f"answer Terraform's {name}" + (f" for {type_name}" if type_name else "")


def _keep_state(request: Any, response: Any) -> None:
    """Answer with the state that was sent: without one Terraform would take it for gone."""
    if isinstance(request, pb.ApplyResourceChange.Request):
        response.new_state.CopyFrom(request.prior_state)
        response.private = request.planned_private
    elif isinstance(request, pb.ReadResource.Request):
        response.new_state.CopyFrom(request.current_state)
        response.private = request.private
