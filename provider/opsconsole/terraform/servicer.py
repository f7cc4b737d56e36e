"""The provider's service: the calls of Terraform to one process.

Each call decodes, calls the lifecycle once, and encodes; the lifecycle decides.
"""

from __future__ import annotations

import logging
import os
import pathlib
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpclib.const import Handler

from opsconsole.definition import Attribute
from opsconsole.diagnostics import Diagnostic, error
from opsconsole.errors import ConfigurationError
from opsconsole.lifecycle.interface import (
    CreateRequest,
    DeleteRequest,
    Outcome,
    PlanChange,
    PlanCreation,
    PlanRemoval,
    PlanRequest,
    ReadOutcome,
    ReadRequest,
    UpdateRequest,
)
from opsconsole.lifecycle.private_state import is_sentinel
from opsconsole.lifecycle.translate import diagnose
from opsconsole.local_terraform import cli_of, unfolded_journals
from opsconsole.redaction import Redaction
from opsconsole.resources import DATA_SOURCES, PROVIDER, RESOURCES
from opsconsole.terraform.batcher import Batcher
from opsconsole.terraform.codec import (
    CAPABILITIES,
    ObjectCodec,
    attribute_path,
    provider_schema,
    render_diagnostics,
)
from opsconsole.terraform.proto import tfplugin6_pb2 as pb
from opsconsole.terraform.transport import Activity, Method, unary_handlers
from opsconsole.v1.settings import ENVIRONMENT, Settings
from opsconsole.values import Values, holds_unknown, unknown_names

if TYPE_CHECKING:
    from opsconsole.lifecycle.base import BaseLifecycle
    from opsconsole.resources.lifecycles import ConfiguredProvider

Connect = Callable[[Values], Awaitable["ConfiguredProvider"]]
"""Makes a provider of its settings; raises OpsconsoleError for wrong settings."""

SERVICE: Final = pb.DESCRIPTOR.services_by_name["Provider"]
"""The service of plugin protocol 6."""

_ANY_KEY = "svc_ak_any"

_log = logging.getLogger(__name__)


class NotServedError(Exception):
    """A call cannot be served; its diagnostic says why."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.summary)
        self.diagnostics: tuple[Diagnostic, ...] = (diagnostic,)


class Servicer:
    """Serves one Terraform process: the provider, configured or not yet.

    Each call of the service has a method of its name: `read_resource` for `ReadResource`. Functions
    and ephemeral resources are not in the schema; calls of them are answered with UNIMPLEMENTED.
    """

    def __init__(self, connect: Connect, redaction: Redaction) -> None:
        self.redaction = redaction
        for name in PROVIDER.sensitive_names:
            redaction.learn(os.environ.get(ENVIRONMENT[name]))
        self._connect = connect
        self._provider: ConfiguredProvider | None = None
        self._why_not = error("The provider is not configured")
        self._batchers: dict[str, Batcher] = {}
        self._stopped = False
        self._claims: set[tuple[str, str, str]] = set()
        self._codecs: dict[tuple[str, str], ObjectCodec] = {}
        self._schema: pb.GetProviderSchema.Response | None = None

    def _learn_secrets(self, config: Values) -> None:
        for name in PROVIDER.sensitive_names:
            value = config.get(name)
            if isinstance(value, str):
                self.redaction.learn(value)

    def _claim(self, doing: str, type_name: str, values: Values) -> None:
        """Note that an object is read or changed, once in each process; else raise NotServedError.

        Args:
            doing: `read`, `change` or `delete`.
            values: The object in state.
        """
        object_id = values.get("id")
        if not isinstance(object_id, str) or is_sentinel(object_id):
            return
        claim = (doing, type_name, object_id)
        # A second claim means that two addresses have the same object. Removing one address would
        # delete the object of the other.
        if claim in self._claims:
            title, command = RESOURCES[type_name].title, cli_of().command
            raise NotServedError(
                error(
                    f"Two addresses in state hold the {title} {object_id}",
                    "One object has one address: removing either would delete what the other "
                    f"manages. Find both with `{command} state list` and `{command} state show`, "
                    f"and forget one of them with `{command} state rm ADDRESS`; the console is not "
                    "touched by that.",
                    ("id",),
                )
            )
        self._claims.add(claim)

    def _require_provider(self) -> ConfiguredProvider:
        """Return the configured provider; raise NotServedError if there is none."""
        if self._provider is None:
            raise NotServedError(self._why_not)
        return self._provider

    def _lifecycle(self, type_name: str) -> BaseLifecycle:
        """Return the lifecycle of a resource that `codec` knows."""
        return self._require_provider().lifecycles[type_name]

    def codec(self, kind: str, type_name: str = "") -> ObjectCodec:
        """Return the codec of a `resource`, a `data source` or the `provider`."""
        key = kind, type_name
        if key not in self._codecs:
            definitions: Mapping[str, Iterable[Attribute]] = {
                "resource": RESOURCES,
                "data source": DATA_SOURCES,
                "provider": {"": PROVIDER},
            }[kind]
            if type_name not in definitions:
                raise NotServedError(error(f"This provider has no {kind} {type_name}"))
            self._codecs[key] = ObjectCodec(definitions[type_name])
        return self._codecs[key]

    def _render(self, diagnostics: Iterable[Diagnostic], codec: ObjectCodec) -> list[pb.Diagnostic]:
        return render_diagnostics(diagnostics, codec.attributes, self.redaction)

    async def close(self) -> None:
        provider, self._provider = self._provider, None
        if provider is not None:
            await provider.close()

    def handlers(self, activity: Activity) -> dict[str, Handler]:
        own = {
            re.sub(r"(?<=.)(?=[A-Z])", "_", name).lower(): name for name in SERVICE.methods_by_name
        }
        methods = {
            name: self._catch_errors(name, getattr(self, method))
            for method, name in own.items()
            if hasattr(self, method)
        }
        return unary_handlers(SERVICE, methods, activity)

    def _catch_errors(self, name: str, method: Method) -> Method:
        """Return the method of the call `name`; an exception becomes a diagnostic, state stays."""
        response_type: Any = GetMessageClass(SERVICE.methods_by_name[name].output_type)

        async def answer(request: Any) -> Message:
            try:
                return await method(request)
            except NotServedError as problem:
                diagnostics = problem.diagnostics
            except Exception as problem:
                diagnostics = diagnose(problem, _describe_call(name, request))
            rendered = self._render(diagnostics, self.codec("provider"))
            response: Message = response_type(diagnostics=rendered)
            _keep_state(request, response)
            return response

        return answer

    async def get_metadata(self, request: pb.GetMetadata.Request) -> pb.GetMetadata.Response:
        """Name everything that the provider offers."""
        return pb.GetMetadata.Response(
            server_capabilities=CAPABILITIES,
            resources=[pb.GetMetadata.TypeName(type_name=name) for name in RESOURCES],
            data_sources=[pb.GetMetadata.TypeName(type_name=name) for name in DATA_SOURCES],
        )

    async def get_provider_schema(
        self, request: pb.GetProviderSchema.Request
    ) -> pb.GetProviderSchema.Response:
        if self._schema is None:
            self._schema = provider_schema()
        return self._schema

    async def get_functions(self, request: pb.GetFunctions.Request) -> pb.GetFunctions.Response:
        """Name the functions that configurations may call: none."""
        return pb.GetFunctions.Response()

    async def validate_provider_config(
        self, request: pb.ValidateProviderConfig.Request
    ) -> pb.ValidateProviderConfig.Response:
        """Validate the provider's settings by themselves, without the environment."""
        codec = self.codec("provider")
        config = codec.decode(request.config) or {}
        self._learn_secrets(config)
        diagnostics: tuple[Diagnostic, ...] = ()
        # Assume that the environment has the required settings.
        environment = {
            ENVIRONMENT["base_url"]: "https://localhost",
            ENVIRONMENT["api_key"]: _ANY_KEY,
        }
        try:
            if not holds_unknown(config):
                Settings.from_values(config, environment)
        except ConfigurationError as problem:
            diagnostics = diagnose(problem, "use the provider's settings")
        return pb.ValidateProviderConfig.Response(diagnostics=self._render(diagnostics, codec))

    async def configure_provider(
        self, request: pb.ConfigureProvider.Request
    ) -> pb.ConfigureProvider.Response:
        """Take the provider's settings, completed from the environment; unknown ones defer it."""
        codec = self.codec("provider")
        config = codec.decode(request.config) or PROVIDER.empty()
        await self.close()
        self._learn_secrets(config)
        # A journal has changes that the console has and the state lacks. A plan on that state would
        # make the changes again. A journal also names open intents, which may have created objects.
        if journals := unfolded_journals(pathlib.Path.cwd()):
            left_behind = error(
                "An interrupted run of opsconsole left a journal",
                f"{', '.join(map(str, journals))} may hold changes that are not in the state yet, "
                "and writes whose outcome is not known: Terraform would make them a second time. "
                "Run `opsconsole state fold` in this folder, then Terraform again.",
            )
            return pb.ConfigureProvider.Response(diagnostics=self._render((left_behind,), codec))
        if unknown := unknown_names(config):
            self._why_not = error(
                f"The provider's {', '.join(unknown)} will be known only after apply",
                "Nothing can be read or planned before the provider's settings are known. Apply "
                "what they depend on first, with -target, or set them from variables or the "
                "environment.",
            )
            return pb.ConfigureProvider.Response()
        self._provider = await self._connect(config)
        self._claims.clear()
        self._batchers.clear()
        # Terraform may have requested the stop before the provider was configured.
        if self._stopped:
            self._provider.stop()
        _log.info("configured under Terraform %s", request.terraform_version)
        return pb.ConfigureProvider.Response()

    async def validate_resource_config(
        self, request: pb.ValidateResourceConfig.Request
    ) -> pb.ValidateResourceConfig.Response:
        codec = self.codec("resource", request.type_name)
        config = codec.decode(request.config) or {}
        definition = RESOURCES[request.type_name]
        diagnostics = definition.problems(config)
        # Terraform itself refuses only a null that is known before the apply.
        diagnostics += (
            error(f"{item.name} is required", "Declare it, and not as null.", (item.name,))
            for item in definition.required
            if config.get(item.name) is None
        )
        return pb.ValidateResourceConfig.Response(diagnostics=self._render(diagnostics, codec))

    async def validate_data_resource_config(
        self, request: pb.ValidateDataResourceConfig.Request
    ) -> pb.ValidateDataResourceConfig.Response:
        codec = self.codec("data source", request.type_name)
        config = codec.decode(request.config) or {}
        diagnostics = DATA_SOURCES[request.type_name].read_only_errors(config)
        return pb.ValidateDataResourceConfig.Response(diagnostics=self._render(diagnostics, codec))

    async def read_data_source(
        self, request: pb.ReadDataSource.Request
    ) -> pb.ReadDataSource.Response:
        name = request.type_name
        codec = self.codec("data source", name)
        config = codec.decode(request.config) or DATA_SOURCES[name].empty()
        outcome = await self._require_provider().read_data(name, config)
        return pb.ReadDataSource.Response(
            state=codec.encode(outcome.state),
            diagnostics=self._render(_diagnostics_of(outcome), codec),
        )

    async def stop_provider(self, request: pb.StopProvider.Request) -> pb.StopProvider.Response:
        """Send no further request; finish requests in flight, so that state records them."""
        _log.info("asked to stop; what is in flight is finished")
        self._stopped = True
        if self._provider is not None:
            self._provider.stop()
        return pb.StopProvider.Response()

    async def upgrade_resource_state(
        self, request: pb.UpgradeResourceState.Request
    ) -> pb.UpgradeResourceState.Response:
        codec = self.codec("resource", request.type_name)
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
        name = request.type_name
        codec = self.codec("resource", name)
        prior = codec.decode(request.current_state)
        if prior is None:
            return pb.ReadResource.Response(new_state=request.current_state)
        self._claim("read", name, prior)
        outcome = await self._lifecycle(name).read_one(ReadRequest(prior, request.private))
        return pb.ReadResource.Response(
            new_state=codec.encode(outcome.state),
            private=outcome.private,
            diagnostics=self._render(_diagnostics_of(outcome), codec),
        )

    async def plan_resource_change(
        self, request: pb.PlanResourceChange.Request
    ) -> pb.PlanResourceChange.Response:
        name = request.type_name
        codec = self.codec("resource", name)
        lifecycle = self._lifecycle(name)
        prior, private = codec.decode(request.prior_state), request.prior_private
        config = codec.decode(request.config) or {}
        # Of Terraform's own proposal only null matters, which requests removal.
        if codec.decode(request.proposed_new_state) is None:
            asked: PlanRequest = PlanRemoval(prior or {}, private)
        elif prior is None:
            asked = PlanCreation(config, private)
        else:
            asked = PlanChange(prior, config, private)
        outcome = await lifecycle.plan_one(asked)
        paths = [attribute_path((item,), codec.attributes) for item in outcome.requires_replace]
        return pb.PlanResourceChange.Response(
            planned_state=codec.encode(outcome.planned),
            requires_replace=paths,
            planned_private=outcome.private,
            diagnostics=self._render(outcome.diagnostics, codec),
        )

    async def apply_resource_change(
        self, request: pb.ApplyResourceChange.Request
    ) -> pb.ApplyResourceChange.Response:
        name = request.type_name
        codec = self.codec("resource", name)
        prior, planned = codec.decode(request.prior_state), codec.decode(request.planned_state)
        config, private = codec.decode(request.config) or {}, request.planned_private
        if prior is None:
            creation = CreateRequest(config, planned or {}, private)
            batcher = self._batchers.setdefault(name, Batcher(self._lifecycle(name)))
            outcome = await batcher.create(creation)
        elif planned is None:
            self._claim("delete", name, prior)
            outcome = await self._lifecycle(name).delete(DeleteRequest(prior, private))
        else:
            self._claim("change", name, prior)
            change = UpdateRequest(prior, config, planned, private)
            outcome = await self._lifecycle(name).update(change)
        return pb.ApplyResourceChange.Response(
            new_state=codec.encode(outcome.state),
            private=outcome.private,
            diagnostics=self._render(_diagnostics_of(outcome), codec),
        )

    async def import_resource_state(
        self, request: pb.ImportResourceState.Request
    ) -> pb.ImportResourceState.Response:
        name = request.type_name
        codec = self.codec("resource", name)
        outcome = await self._lifecycle(name).import_state(request.id)
        response = pb.ImportResourceState.Response(
            diagnostics=self._render(outcome.diagnostics, codec)
        )
        if outcome.state is not None:
            state = codec.encode(outcome.state)
            response.imported_resources.add(type_name=name, state=state, private=outcome.private)
        return response

    async def move_resource_state(
        self, request: pb.MoveResourceState.Request
    ) -> pb.MoveResourceState.Response:
        """Refuse to turn one resource type into another."""
        raise NotServedError(
            error(
                f"{request.source_type_name} cannot become {request.target_type_name}",
                f"Remove the `moved` block, and `{cli_of().command} import` the object under "
                "its new address.",
            )
        )


def _diagnostics_of(outcome: Outcome | ReadOutcome) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of an outcome; a step that was not begun is an error."""
    if outcome.begun:
        return outcome.diagnostics
    not_begun = error("Not begun: the run was told to stop", "Nothing was sent for it; run again.")
    return (*outcome.diagnostics, not_begun)


def _describe_call(name: str, request: Any) -> str:
    if name == "ConfigureProvider":
        return "configure the provider"
    type_name = getattr(request, "type_name", "")
    return f"answer Terraform's {name}" + (f" for {type_name}" if type_name else "")


def _keep_state(request: Any, response: Any) -> None:
    # Without a state in the answer, Terraform would assume that the object is gone.
    if isinstance(request, pb.ApplyResourceChange.Request):
        response.new_state.CopyFrom(request.prior_state)
        response.private = request.planned_private
    elif isinstance(request, pb.ReadResource.Request):
        response.new_state.CopyFrom(request.current_state)
        response.private = request.private
