"""The provider as a process, and a client that speaks to it as go-plugin does."""

import asyncio
import base64
import contextlib
import datetime
import os
import shutil
import signal
import ssl
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf.message_factory import GetMessageClass
from grpclib.client import Channel, UnaryUnaryMethod
from grpclib.config import Configuration

import scripted_provider
from attached_provider import Connection, Provider
from loopback import in_pem
from opsconsole.resources import PROVIDER, RESOURCES
from opsconsole.terraform.codec import ObjectCodec
from opsconsole.terraform.handshake import COOKIE_NAME, COOKIE_VALUE
from opsconsole.terraform.proto import tfplugin6_pb2 as pb
from patience import PATIENCE

SCRIPTED_PROGRAM = (sys.executable, scripted_provider.__file__)


@dataclass(frozen=True)
class Identity:
    """A key and a self-signed certificate, in PEM, as go-plugin's client makes them."""

    certificate: str
    key: str

    @property
    def private_key(self) -> ec.EllipticCurvePrivateKey:
        loaded = serialization.load_pem_private_key(self.key.encode(), None)
        assert isinstance(loaded, ec.EllipticCurvePrivateKey)
        return loaded


def make_identity(issuer: Identity | None = None) -> Identity:
    """Make one that signs itself, or that `issuer` has signed."""
    key = ec.generate_private_key(ec.SECP521R1())
    signer = key if issuer is None else issuer.private_key
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(seconds=30))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(
            x509.ExtendedKeyUsage([x509.OID_CLIENT_AUTH, x509.OID_SERVER_AUTH]), critical=False
        )
        .sign(signer, hashes.SHA256())
    )
    return Identity(
        certificate.public_bytes(serialization.Encoding.PEM).decode(),
        in_pem(key).decode(),
    )


@pytest.fixture(scope="session")
def identity() -> Identity:
    return make_identity()


@pytest.fixture(scope="session")
def stranger() -> Identity:
    return make_identity()


@pytest.fixture(scope="session")
def relative(identity: Identity) -> Identity:
    """One whose certificate the announced client's key has signed."""
    return make_identity(identity)


@dataclass
class Plugin:
    """A started provider and what its handshake said."""

    process: asyncio.subprocess.Process
    line: str
    folder: Path
    environment: dict[str, str]
    scratch: Path

    @property
    def path(self) -> str:
        return self.line.split("|")[3]

    def context(self, identity: Identity | None, alpn: str = "h2") -> ssl.SSLContext:
        """A client's TLS that trusts only the certificate of the handshake line."""
        encoded = self.line.split("|")[5]
        der = base64.b64decode(encoded + "=" * (-len(encoded) % 4))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=ssl.DER_cert_to_PEM_cert(der))
        context.set_alpn_protocols([alpn])
        if identity is not None:
            pem = self.scratch / "client.pem"
            pem.write_text(identity.certificate + identity.key)
            context.load_cert_chain(pem)
        return context

    async def ended(self) -> int:
        """Wait for the process; return its exit code."""
        return await asyncio.wait_for(self.process.wait(), PATIENCE)

    async def stderr(self) -> str:
        """Everything it wrote to stderr; it must be ending."""
        assert self.process.stderr is not None
        return (await asyncio.wait_for(self.process.stderr.read(), PATIENCE)).decode()


StartPlugin = Callable[..., Any]


@pytest.fixture
def start(identity: Identity, tmp_path: Path) -> StartPlugin:
    """Start a provider: `async with start(program=…, env={…}) as plugin`."""

    @contextlib.asynccontextmanager
    async def started(
        program: tuple[str, ...] = SCRIPTED_PROGRAM, env: dict[str, str] | None = None
    ) -> AsyncIterator[Plugin]:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TF_")},
            COOKIE_NAME: COOKIE_VALUE,
            "PLUGIN_PROTOCOL_VERSIONS": "5,6",
            "PLUGIN_CLIENT_CERT": identity.certificate,
            **(env or {}),
        }
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *program, env=environment, stdout=pipe, stderr=pipe
        )
        folder = tmp_path
        try:
            line = (await asyncio.wait_for(process.stdout.readline(), PATIENCE)).decode().strip()
            folder = Path(line.split("|")[3]).parent if line else folder
            yield Plugin(process, line, folder, environment, tmp_path)
        finally:
            await end(process)
            if folder.name.startswith("opsconsole-"):
                shutil.rmtree(folder, ignore_errors=True)

    return started


async def end(process: asyncio.subprocess.Process) -> None:
    """End a process cleanly, so that what it measured of itself is kept; or kill it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        # Not process.kill(): it may reap the process before asyncio does.
        with contextlib.suppress(ProcessLookupError):
            if process.returncode is None:
                os.kill(process.pid, number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.communicate(), PATIENCE)
            return


class Client:
    """Calls of the provider's service, with values as wire dicts."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel

    async def call(self, name: str, request: Any = None, **fields: Any) -> Any:
        method = pb.DESCRIPTOR.services_by_name["Provider"].methods_by_name[name]
        takes, gives = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        call: Any = UnaryUnaryMethod(self.channel, f"/tfplugin6.Provider/{name}", takes, gives)
        return await call(takes(**fields) if request is None else request, timeout=PATIENCE)

    async def configure(self, **settings: Any) -> Any:
        config = value("provider", **settings)
        return await self.call("ConfigureProvider", config=config, terraform_version="1.11.4")


def codec(type_name: str) -> ObjectCodec:
    definitions: dict[str, Any] = {"provider": PROVIDER, **RESOURCES}
    return ObjectCodec(definitions[type_name])


def value(type_name: str, /, **attributes: Any) -> pb.DynamicValue:
    """An object of a resource or of the provider: what is not named is null."""
    definition: Any = PROVIDER if type_name == "provider" else RESOURCES[type_name]
    return ObjectCodec(definition).encode(definition.empty() | attributes)


@pytest.fixture
def wire() -> Callable[..., pb.DynamicValue]:
    return value


@pytest.fixture
def codec_of() -> Callable[[str], ObjectCodec]:
    return codec


@contextlib.asynccontextmanager
async def connected(plugin: Plugin, identity: Identity | None) -> AsyncIterator[Client]:
    """A client of `plugin`, with the name that go-plugin asks for."""
    channel = Channel(
        path=plugin.path,
        ssl=plugin.context(identity),
        config=Configuration(ssl_target_name_override="localhost"),
    )
    try:
        yield Client(channel)
    finally:
        channel.close()


@pytest.fixture
def connect(identity: Identity) -> Callable[..., Any]:
    """Connect to a started provider: `async with connect(plugin) as client`."""
    return lambda plugin, who=identity: connected(plugin, who)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """A client of a configured, scripted provider, which needs no process of its own."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Provider] = loop.create_future()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        path = f"{folder}/provider.sock"
        server = await loop.create_unix_server(
            lambda: Connection(scripted_provider.connect, ended.set_result), path
        )
        channel = Channel(path=path)
        connection = Client(channel)
        assert not (await connection.configure()).diagnostics
        yield connection
        channel.close()
        server.close()
        await (await ended).close()
