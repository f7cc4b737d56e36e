"""How long a provider takes from its start to the handshake line that Terraform waits for."""

from __future__ import annotations

import resource
import statistics
import subprocess
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from opsconsole.terraform import handshake

STARTS: Final = 11


class Handshake(NamedTuple):
    """How long starts took, in milliseconds.

    On a busy machine the median of time says little: CPU time is what a start costs, and the
    fastest start waited least for others.
    """

    fastest: float
    median: float
    cpu_median: float


def handshake_milliseconds(executable: Path) -> Handshake:
    """Start a provider STARTS times, in an environment that names no Python."""
    with tempfile.TemporaryDirectory() as sockets:
        environment = {
            "PATH": "/usr/bin:/bin",
            handshake.COOKIE_NAME: handshake.COOKIE_VALUE,
            handshake.PROTOCOL_VERSIONS: str(handshake.PROVIDER_PROTOCOL),
            handshake.CLIENT_CERTIFICATE: _certificate(),
            # A provider that is killed leaves its socket.
            handshake.SOCKET_FOLDER: sockets,
        }
        taken, cpu = zip(*(_start(executable, environment) for _ in range(STARTS)), strict=True)
    return Handshake(min(taken), statistics.median(taken), statistics.median(cpu))


def _start(executable: Path, environment: dict[str, str]) -> tuple[float, float]:
    before = _cpu_seconds()
    started = time.perf_counter()
    with subprocess.Popen([executable], env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        taken = time.perf_counter() - started
        process.kill()
    if not line.startswith(b"1|6|unix|"):
        raise SystemExit(f"release: {executable} said {line!r} in place of the handshake")
    return taken * 1000, (_cpu_seconds() - before) * 1000


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _certificate() -> str:
    key = ec.generate_private_key(ec.SECP521R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + timedelta(hours=1))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()
