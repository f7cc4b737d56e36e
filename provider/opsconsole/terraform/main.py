"""The console script `terraform-provider-opsconsole`, which Terraform starts.

It answers the handshake first, and imports the server while Terraform connects.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from opsconsole.terraform.handshake import (
    COOKIE_NAME,
    SOCKET_FOLDER,
    RefusedError,
    SocketListener,
    client_certificate,
    handshake_line,
)

if TYPE_CHECKING:
    from opsconsole.redaction import Redaction
    from opsconsole.resources.lifecycles import ConfiguredProvider
    from opsconsole.terraform.serving import Service
    from opsconsole.values import Values


_STARTED = 19
"""The index of a process's start time, among the fields after the process's name."""


async def connect(config: Values) -> ConfiguredProvider:
    """Return the provider for `config` and the environment, without any request yet."""
    # The HTTP libraries take longer to import than all the rest, and only a configured provider
    # needs them. Of the three providers that Terraform starts for a plan, it configures one.
    from opsconsole.v1.settings import Settings

    settings = Settings.from_values(config, os.environ)
    from opsconsole.local_terraform import cli_of
    from opsconsole.resources.lifecycles import ConfiguredProvider

    provider = ConfiguredProvider(settings)
    provider.session.command = cli_of().command
    provider.session.command_run = _command_run()
    return provider


def _command_run() -> str:
    """Return an identifier of the Terraform run that started this process, or empty."""
    if COOKIE_NAME not in os.environ:
        return ""
    # `terraform apply` starts one process to plan and another to apply, and shows the warnings of
    # both. The two share the process that started them. A saved plan is applied by a different one.
    parent = os.getppid()
    try:
        # The process's name is in parentheses, and may itself contain spaces and parentheses.
        facts = Path(f"/proc/{parent}/stat").read_text("latin-1").rpartition(")")[2].split()
    except OSError:
        return ""
    # A later process may get the same id, so the start time is needed too.
    return f"{parent} {facts[_STARTED]}"


def make_service(redaction: Redaction) -> Service:
    from opsconsole.terraform.servicer import Servicer

    return Servicer(connect, redaction)


def main(make: Callable[[Redaction], Service] = make_service) -> int:
    """Serve Terraform until it is done; return the exit code.

    `make` is called after the handshake, and may import as much as it needs.
    """
    # This comes first, because the parent changes once the starting process has ended.
    parent = os.getppid()
    # Nearly all objects made before the first call live to the end. Scanning them for garbage again
    # and again would take a tenth of the start.
    gc.disable()
    try:
        client_pem = client_certificate(os.environ)
    except RefusedError as refused:
        sys.stderr.write(f"{refused}\n")
        return 1
    _ignore_terminal_signals()
    named = (os.environ.get(SOCKET_FOLDER), os.environ.get("TMPDIR"), "/tmp")
    listener = SocketListener([Path(folder) for folder in named if folder])
    try:
        from opsconsole.terraform.certificate import make_certificate

        certificate = make_certificate()
        _write_handshake(handshake_line(listener.path, certificate.der))
        from opsconsole.terraform.serving import serve_process

        serve_process(make, listener, certificate, client_pem, parent)
    finally:
        listener.remove()
        # Terraform waits for the exit, and Python would scan everything for garbage once more.
        gc.freeze()
    return 0


def _ignore_terminal_signals() -> None:
    """Leave Ctrl-C and a closed terminal to Terraform, which stops its plugins; obey SIGTERM."""

    def leave(number: int, frame: FrameType | None) -> None:
        # An exception lets the socket and its folder be removed on the way out.
        raise SystemExit(128 + number)

    # Exiting at these signals in the middle of an apply would lose created objects.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, leave)


def _write_handshake(line: str) -> None:
    """Write the handshake, and send all later output to the log, in order."""
    os.write(1, line.encode("ascii"))
    os.dup2(2, 1)
    # A separate text stream would buffer its lines until the end.
    sys.stdout = sys.stderr


if __name__ == "__main__":
    sys.exit(main())
