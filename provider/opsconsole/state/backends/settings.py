"""Settings of a backend's block: typed access, with Terraform's environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from opsconsole.errors import UserError

_TRUE = frozenset(("1", "t", "true", "yes", "on"))


class BackendSettings:
    """The settings of one backend.

    Args:
        kind: The backend's type, for messages.
        block: The merged settings of the program, of `-backend-config` and of `terraform init`.
    """

    def __init__(self, kind: str, block: Mapping[str, Any]) -> None:
        self.kind = kind
        self._block = block

    def text(self, name: str, *variables: str, default: str = "") -> str:
        """Return a setting, or else the first of the environment variables that is set."""
        value = self._block.get(name)
        if value not in (None, ""):
            return str(value)
        return next((os.environ[item] for item in variables if os.environ.get(item)), default)

    def need(self, name: str, *variables: str) -> str:
        """Return a required setting.

        Raises:
            UserError: The setting is neither in the block nor in the environment.
        """
        value = self.text(name, *variables)
        if not value:
            where = f", in the environment as {variables[0]}" if variables else ""
            raise UserError(
                f"The {self.kind} backend has no `{name}`.",
                f"Set it in the backend's block{where}, or with -backend-config={name}=VALUE.",
            )
        return value

    def flag(self, name: str, *variables: str) -> bool:
        """Return a setting that is on or off."""
        return self.text(name, *variables).lower() in _TRUE

    def number(self, name: str, *variables: str, default: int = 0) -> int:
        """Return a whole number.

        Raises:
            UserError: The setting is not a whole number.
        """
        text = self.text(name, *variables)
        try:
            return int(float(text)) if text else default
        except ValueError as error:
            raise UserError(
                f"`{name}` of the {self.kind} backend is not a number: {text}."
            ) from error

    def block(self, name: str) -> dict[str, Any]:
        """Return a nested block or map; empty if there is none."""
        nested = self._block.get(name)
        if isinstance(nested, list):
            nested = nested[0] if nested else None
        if not isinstance(nested, Mapping):
            return {}
        return {key: value for key, value in nested.items() if value is not None}

    def texts(self, name: str) -> list[str]:
        """Return a list of strings; empty if there is none."""
        value = self._block.get(name) or []
        return [str(item) for item in value] if isinstance(value, list) else [str(value)]


def trusted_file() -> str:
    """Return the file of certificate authorities that the environment names, or an empty string."""
    # Go reads SSL_CERT_FILE, so Terraform's users set it, but the libraries here do not read it.
    return os.environ.get("SSL_CERT_FILE") or os.environ.get("REQUESTS_CA_BUNDLE") or ""
