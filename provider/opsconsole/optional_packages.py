"""Finds the extra of this distribution that installs a missing package.

Backends of a state name their own extras; the commands name the others through this module.
"""

from __future__ import annotations

from opsconsole.errors import UserError

_EXTRAS = {
    "cdktf": ("cdktf",),
    "cdktn": ("cdktn",),
    "emulator": ("httptools", "starlette", "uvicorn"),
    "prometheus": ("prometheus_client",),
    "terraform": ("cryptography", "google", "grpclib", "h2", "msgpack"),
}
"""Extra to the import packages that only this extra installs."""


def missing_package(error: ModuleNotFoundError) -> UserError | None:
    """Return the error to show in place of `error`, or None if no extra brings the package."""
    package = (error.name or "").partition(".")[0]
    for extra, packages in _EXTRAS.items():
        if package in packages:
            return UserError(
                f"This needs the package {package}, which is not installed.",
                f"Install the extra: pip install 'opsconsole[{extra}]'.",
            )
    return None
