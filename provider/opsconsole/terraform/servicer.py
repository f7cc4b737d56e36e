"""The provider's service: all its calls by name, and those about the provider as a whole: what it
offers, its settings, its data, its end.

One function a call: decode, one call into the layers below, encode.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from google.protobuf.message import Message
from grpclib.const import Handler

from opsconsole.errors import ConfigurationError
from opsconsole.lifecycle.translate import diagnose
from opsconsole.redaction import Redaction
from opsconsole.resources import DATA_SOURCES, PROVIDER, RESOURCES
from opsconsole.terraform.proto import tfplugin6_pb2 as pb
from opsconsole.terraform.provider import (
    SERVICE,
    Configured,
    Connect,
    ResourceCalls,
    guarded,
    not_begun,
)
from opsconsole.terraform.schema import metadata, provider_schema
from opsconsole.terraform.transport import Activity, unary_handlers
from opsconsole.v1.settings import Settings
from opsconsole.values import Attributes, holds_unknown

log = logging.getLogger(__name__)


class ProviderCalls:
    """Answers the calls about the whole provider, for one process."""

    def __init__(self, provider: Configured) -> None:
        self._provider = provider
        self._schema: pb.GetProviderSchema.Response | None = None

    async def get_metadata(self, request: pb.GetMetadata.Request) -> pb.GetMetadata.Response:
        """Name everything that the provider offers."""
        return metadata(RESOURCES, DATA_SOURCES)

    async def get_provider_schema(
        self, request: pb.GetProviderSchema.Request
    ) -> pb.GetProviderSchema.Response:
        """Show every schema."""
        if self._schema is None:
            self._schema = provider_schema(PROVIDER, RESOURCES, DATA_SOURCES)
        return self._schema

    async def get_functions(self, request: pb.GetFunctions.Request) -> pb.GetFunctions.Response:
        """Name the functions that configurations may call: none."""
        return pb.GetFunctions.Response()

    async def validate_provider_config(
        self, request: pb.ValidateProviderConfig.Request
    ) -> pb.ValidateProviderConfig.Response:
        """Judge the provider's settings by themselves; the environment is not asked."""
        config = self._provider.codec("provider").decode(request.config) or {}
        self._provider.learn_secrets(config)
        try:
            _check_settings(config)
        except ConfigurationError as problem:
            found = diagnose(problem, "use the provider's settings")
            diagnostics = self._provider.rendered(found, "provider")
            return pb.ValidateProviderConfig.Response(diagnostics=diagnostics)
        return pb.ValidateProviderConfig.Response()

    async def configure_provider(
        self, request: pb.ConfigureProvider.Request
    ) -> pb.ConfigureProvider.Response:
        """Take the provider's settings, filled up from the environment."""
        config = self._provider.codec("provider").decode(request.config) or PROVIDER.empty()
        found = await self._provider.configure(config)
        log.info("configured under Terraform %s", request.terraform_version)
        return pb.ConfigureProvider.Response(diagnostics=self._provider.rendered(found, "provider"))

    async def validate_resource_config(
        self, request: pb.ValidateResourceConfig.Request
    ) -> pb.ValidateResourceConfig.Response:
        """Judge one declaration by itself; needs no configuration."""
        name = request.type_name
        config = self._provider.codec("resource", name).decode(request.config) or {}
        diagnostics = RESOURCES[name].problems(config)
        return pb.ValidateResourceConfig.Response(
            diagnostics=self._provider.rendered(diagnostics, "resource", name)
        )

    async def validate_data_resource_config(
        self, request: pb.ValidateDataResourceConfig.Request
    ) -> pb.ValidateDataResourceConfig.Response:
        """Judge one data source's declaration: it has the schema's shape, or it is refused."""
        self._provider.codec("data source", request.type_name).decode(request.config)
        return pb.ValidateDataResourceConfig.Response()

    async def read_data_source(
        self, request: pb.ReadDataSource.Request
    ) -> pb.ReadDataSource.Response:
        """Read one data source."""
        name = request.type_name
        codec = self._provider.codec("data source", name)
        config = codec.decode(request.config) or DATA_SOURCES[name].empty()
        outcome = await self._provider.lifecycle().read_data(name, config)
        return pb.ReadDataSource.Response(
            state=codec.encode(outcome.state),
            diagnostics=self._provider.rendered(
                (*outcome.diagnostics, *not_begun(outcome)), "data source", name
            ),
        )

    async def stop_provider(self, request: pb.StopProvider.Request) -> pb.StopProvider.Response:
        """Begin no further request; those in flight are finished, so that state holds them."""
        log.info("asked to stop; what is in flight is finished")
        self._provider.stop()
        return pb.StopProvider.Response()


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
        methods = {
            name: guarded(self._provider, name, method) for name, method in self._methods.items()
        }
        return unary_handlers(SERVICE, methods, activity)

    async def close(self) -> None:
        """Let go of everything; no call comes afterwards."""
        await self._provider.close()


def _check_settings(config: Attributes) -> None:
    """Check the settings that are declared, as if the environment held the ones that must be.

    Raises:
        ConfigurationError: One of them is wrong, or they do not go together.
    """
    if holds_unknown(config):
        return
    environment = {"OPSCONSOLE_BASE_URL": "https://localhost", "OPSCONSOLE_API_KEY": "svc_ak_any"}
    Settings.from_values(config, environment)
