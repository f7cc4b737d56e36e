"""Which kinds of backend are spoken to natively, and where each of them is implemented."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from opsconsole.state.backends.storage import DEFAULT, Storage

_PLACES = {
    "azurerm": ("opsconsole.state.backends.azurerm", "AzurermStorage"),
    "gcs": ("opsconsole.state.backends.gcs", "GcsStorage"),
    "http": ("opsconsole.state.backends.http", "HttpStorage"),
    "pg": ("opsconsole.state.backends.pg", "PgStorage"),
    "s3": ("opsconsole.state.backends.s3", "S3Storage"),
}


def is_native(kind: str) -> bool:
    """Tell whether a kind of backend is spoken to without Terraform."""
    return kind in _PLACES


def storage_for(kind: str, block: Mapping[str, Any], workspace: str = DEFAULT) -> Storage:
    """Return the storage of a kind of backend; its libraries are imported only now.

    Args:
        block: The backend's settings, merged.

    Raises:
        UserError: A setting or a library is missing.
    """
    module, name = _PLACES[kind]
    made: Storage = getattr(import_module(module), name)(block, workspace)
    return made
