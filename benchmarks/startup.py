"""How soon the installed provider speaks: its handshake line, and its first answer.

The launcher is the one that `opsconsole provider install` writes. The client is Python too, so its
own work is in the time of the first answer.
"""

from __future__ import annotations

import asyncio
import base64
import datetime
import os
import shutil
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from grpclib.client import Channel, UnaryUnaryMethod
from grpclib.config import Configuration

from benchmarks.figures import Figure, Section, bounded, seconds
from opsconsole.cli.provider_install import install
from opsconsole.terraform.handshake import CLIENT_CERTIFICATE, COOKIE_NAME, COOKIE_VALUE
from opsconsole.terraform.proto import tfplugin6_pb2 as pb

ROUNDS = 15
HANDSHAKE_LIMIT = 0.150


def section(rounds: int = ROUNDS) -> Section:
    """Start the provider again and again, after one start that does not count."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        launcher = install(folder / "plugins")[0]
        identity = _identity(folder)
        asyncio.run(_first_answer(launcher, identity))
        times = [asyncio.run(_first_answer(launcher, identity)) for _ in range(rounds)]
        bare = statistics.median(_bare_python() for _ in range(rounds))
    handshake, answer = (statistics.median(column) for column in zip(*times, strict=True))
    slowest = max(line for line, _ in times)
    return Section(
        f"Start of the provider, through the installed launcher (median of {rounds})",
        [
            bounded("process start to handshake line", handshake, HANDSHAKE_LIMIT),
            bounded("the slowest of them", slowest, HANDSHAKE_LIMIT),
            Figure("process start to first answer (whole schema)", seconds(answer)),
            Figure("an empty Python program, start to end", seconds(bare)),
        ],
    )


def _bare_python() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-E", "-P", "-c", "pass"], check=True)
    return time.perf_counter() - started


async def _first_answer(launcher: Path, identity: Path) -> tuple[float, float]:
    """Return the seconds from start to handshake line, and to the schema."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("TF_")},
        COOKIE_NAME: COOKIE_VALUE,
        "PLUGIN_PROTOCOL_VERSIONS": "5,6",
        CLIENT_CERTIFICATE: identity.with_suffix(".crt").read_text(),
    }
    started = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        launcher, env=environment, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    line = (await asyncio.wait_for(process.stdout.readline(), 20)).decode()
    shaken = time.perf_counter() - started
    path, _, encoded = line.strip().split("|")[3:]
    try:
        await _ask_schema(path, encoded, identity)
        return shaken, time.perf_counter() - started
    finally:
        process.kill()
        await process.communicate()
        shutil.rmtree(Path(path).parent, ignore_errors=True)


async def _ask_schema(path: str, encoded: str, identity: Path) -> None:
    der = base64.b64decode(encoded + "=" * (-len(encoded) % 4))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=ssl.DER_cert_to_PEM_cert(der))
    context.set_alpn_protocols(["h2"])
    context.load_cert_chain(identity)
    config = Configuration(ssl_target_name_override="localhost")
    channel = Channel(path=path, ssl=context, config=config)
    takes, gives = pb.GetProviderSchema.Request, pb.GetProviderSchema.Response
    call = UnaryUnaryMethod(channel, "/tfplugin6.Provider/GetProviderSchema", takes, gives)
    try:
        await call(takes(), timeout=20)
    finally:
        channel.close()


def _identity(folder: Path) -> Path:
    """Make a client's key and certificate as go-plugin does; return the file that has both."""
    key = ec.generate_private_key(ec.SECP521R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain
    )
    shown = certificate.public_bytes(serialization.Encoding.PEM)
    both = folder / "client.pem"
    both.touch(0o600)
    both.write_bytes(shown + private)
    both.with_suffix(".crt").write_bytes(shown)
    return both
