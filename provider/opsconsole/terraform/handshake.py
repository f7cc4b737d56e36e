"""go-plugin's handshake: checks the client, and makes the line of the answer.

Terraform waits for the line three or four times in each run, so this module imports little, and
the server is made while Terraform connects.
"""

from __future__ import annotations

import base64
import os
import socket
from collections.abc import Mapping
from pathlib import Path

COOKIE_NAME = "TF_PLUGIN_MAGIC_COOKIE"
COOKIE_VALUE = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2"
"""Not a secret. The value distinguishes a start by Terraform from a start by hand."""
CLIENT_CERTIFICATE = "PLUGIN_CLIENT_CERT"
PROTOCOL_VERSIONS = "PLUGIN_PROTOCOL_VERSIONS"
SOCKET_FOLDER = "PLUGIN_UNIX_SOCKET_DIR"

CORE_PROTOCOL = 1
"""Version of the handshake itself."""
PROVIDER_PROTOCOL = 6
"""Major version of Terraform's plugin protocol."""

_LONGEST_PATH = 100
"""In bytes. The kernel allows a few more in the address of a unix socket."""
_BACKLOG = 16


class RefusedError(Exception):
    """The client that started this process cannot be served; the message says why."""


def client_certificate(environment: Mapping[str, str]) -> str:
    """Return the PEM certificate of the client that started this process.

    Raises:
        RefusedError: The process was started by hand, for another protocol, or by a client without
            a certificate.
    """
    if environment.get(COOKIE_NAME) != COOKIE_VALUE:
        raise RefusedError(
            "This program is a Terraform provider, a plugin: Terraform itself starts it.\n"
            "To use it, run `terraform`, `tofu` or `cdktf` in a folder that declares the provider\n"
            "opsconsole/opsconsole."
        )
    versions = environment.get(PROTOCOL_VERSIONS, str(PROVIDER_PROTOCOL))
    if str(PROVIDER_PROTOCOL) not in versions.split(","):
        raise RefusedError(
            f"This provider speaks version {PROVIDER_PROTOCOL} of Terraform's plugin protocol; the "
            f"client speaks {versions}. Terraform 1.0 or newer is needed."
        )
    certificate = environment.get(CLIENT_CERTIFICATE, "")
    if "-----BEGIN CERTIFICATE-----" not in certificate:
        raise RefusedError(
            f"{CLIENT_CERTIFICATE} holds no certificate: this provider serves only a client that "
            "shows who it is, as Terraform does."
        )
    return certificate


class SocketListener:
    """A unix socket in a folder that only this user can enter.

    It listens from the start, so a client may connect before the server exists.
    """

    def __init__(self, parents: list[Path]) -> None:
        """Make the folder in the first of `parents` that can hold it; raise OSError if none can."""
        self.folder = _private_folder(parents)
        self.path = self.folder / "provider.sock"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.socket.bind(str(self.path))
            self.socket.listen(_BACKLOG)
            self.socket.setblocking(False)
        except OSError:
            self.remove()
            raise

    def remove(self) -> None:
        """Close the socket and remove the folder; may be called again."""
        self.socket.close()
        self.path.unlink(missing_ok=True)
        if self.folder.exists():
            self.folder.rmdir()


def _private_folder(parents: list[Path]) -> Path:
    problem = OSError("no folder for the provider's socket")
    for parent in parents:
        folder = parent.absolute() / f"opsconsole-{os.urandom(8).hex()}"
        if len(os.fsencode(folder)) > _LONGEST_PATH - len("/provider.sock"):
            continue
        try:
            folder.mkdir(mode=0o700)
        except OSError as refused:
            problem = refused
            continue
        return folder
    raise problem


def handshake_line(path: Path, certificate: bytes) -> str:
    """Return the line with the address and the DER certificate of this provider."""
    # go-plugin reads base64 without padding.
    encoded = base64.b64encode(certificate).decode("ascii").rstrip("=")
    return f"{CORE_PROTOCOL}|{PROVIDER_PROTOCOL}|unix|{path}|grpc|{encoded}\n"
