"""The provider's service: which call is answered by what, and what becomes of an exception."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpclib.const import Handler

from opsconsole.lifecycle.translate import diagnose
from opsconsole.redaction import Redaction
from opsconsole.resources import PROVIDER
from opsconsole.terraform.calls import Activity, Method, unary_handlers
from opsconsole.terraform.configured import Configured, Connect, NotServedError
from opsconsole.terraform.proto import tfplugin6_pb2 as pb
from opsconsole.terraform.provider_calls import ProviderCalls
from opsconsole.terraform.resource_calls import ResourceCalls

_SERVICE: Final = pb.DESCRIPTOR.services_by_name["Provider"]


class Servicer:
    """Serves one Terraform process.

    Functions and ephemeral resources are not in the schema, so Terraform never calls for them;
    whoever does is answered UNIMPLEMENTED.
    """

    def __init__(self, connect: Connect, redaction: Redaction) -> None:
        self._provider = Configured(connect, redaction)
        about, resource = ProviderCalls(self._provider), ResourceCalls(self._provider)
        self._methods: dict[str, Callable[[Any], Awaitable[Message]]] = {
            "GetMetadata": about.get_metadata,
            "GetProviderSchema": about.get_provider_schema,
            "GetFunctions": about.get_functions,
            "ValidateProviderConfig": about.validate_provider_config,
            "ConfigureProvider": about.configure_provider,
            "ValidateResourceConfig": about.validate_resource_config,
            "ValidateDataResourceConfig": about.validate_data_resource_config,
            "ReadDataSource": about.read_data_source,
            "StopProvider": about.stop_provider,
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
            response: Message = response_type(
                diagnostics=self._provider.tell(found, PROVIDER.by_name)
            )
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
