"""How long a provider takes from its start to the handshake line that Terraform waits for."""

from __future__ import annotations

import statistics
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from opsconsole.terraform import handshake


def handshake_milliseconds(executable: Path, starts: int = 11) -> float:
    """Return the median of some starts, in an environment that names no Python."""
    environment = {
        "PATH": "/usr/bin:/bin",
        handshake.COOKIE_NAME: handshake.COOKIE_VALUE,
        handshake.PROTOCOL_VERSIONS: str(handshake.PROVIDER_PROTOCOL),
        handshake.CLIENT_CERTIFICATE: _certificate(),
    }
    return statistics.median(_start(executable, environment) for _ in range(starts))


def _start(executable: Path, environment: dict[str, str]) -> float:
    started = time.perf_counter()
    with subprocess.Popen([executable], env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        taken = (time.perf_counter() - started) * 1000
        process.terminate()
    if not line.startswith(b"1|6|unix|"):
        raise SystemExit(f"release: {executable} said {line!r} in place of the handshake")
    return taken


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
