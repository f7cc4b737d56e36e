"""From the provider's settings to a lifecycle: where this provider meets the console's client."""

from __future__ import annotations

import os

from opsconsole.lifecycle.interface import LifecycleInterface
from opsconsole.v1.settings import Settings
from opsconsole.values import Attributes


async def connect(config: Attributes) -> LifecycleInterface:
    """Return the lifecycle for `config`, filled up from the environment. No call is made yet.

    Raises:
        ConfigurationError: A setting is missing or wrong.
    """
    settings = Settings.from_values(config, os.environ)
    # The HTTP libraries take longer to import than all the rest: only a provider that is
    # configured needs them, and Terraform configures one of the three it starts for a plan.
    from opsconsole.lifecycle.lifecycle import Lifecycle

    return Lifecycle(settings)
