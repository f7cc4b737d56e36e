"""The calls about the provider as a whole: what it offers, its settings, its data, its end.

One function a call: decode, one call into the layers below, encode.
"""

from __future__ import annotations

import logging

from opsconsole.errors import ConfigurationError
from opsconsole.lifecycle.translate import diagnose
from opsconsole.resources import DATA_SOURCES, PROVIDER, RESOURCES
from opsconsole.terraform.configured import Configured, not_begun
from opsconsole.terraform.proto import tfplugin6_pb2 as pb
from opsconsole.terraform.schema import metadata, provider_schema
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


def _check_settings(config: Attributes) -> None:
    """Check the settings that are declared, as if the environment held the ones that must be.

    Raises:
        ConfigurationError: One of them is wrong, or they do not go together.
    """
    if holds_unknown(config):
        return
    environment = {"OPSCONSOLE_BASE_URL": "https://localhost", "OPSCONSOLE_API_KEY": "svc_ak_any"}
    Settings.from_values(config, environment)
