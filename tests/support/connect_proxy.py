"""A proxy that leads every CONNECT to one local port, and a certificate for the name asked for."""

import datetime
import inspect
import select
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@contextmanager
def connect_proxy(port: int) -> Iterator[str]:
    """Run the proxy until the block ends; yield its address."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)) as behind:
                _join(self.connection, behind)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def _join(one: socket.socket, other: socket.socket) -> None:
    """Carry bytes both ways until one side closes."""
    while True:
        for source in select.select([one, other], [], [])[0]:
            data = source.recv(1 << 16)
            if not data:
                return
            (other if source is one else one).sendall(data)


def write_certificate(folder: Path, *names: str) -> tuple[Path, Path, Path]:
    """Write a certificate for some names, its key, and the authority that signed it."""
    now = datetime.datetime.now(datetime.UTC)
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority of the tests")])
    common = (now - datetime.timedelta(days=1), now + datetime.timedelta(days=2))
    # From Python 3.13 on, a certificate needs the identifiers and usages that RFC 5280 asks for.
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key())
    usages = dict.fromkeys(inspect.signature(x509.KeyUsage).parameters, False)

    def builder(subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(root)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(common[0])
            .not_valid_after(common[1])
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(issuer, critical=False)
        )

    authority = (
        builder(root, root_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**usages | {"key_cert_sign": True}), critical=True)
        .sign(root_key, hashes.SHA256())
    )
    leaf = (
        builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "blob")]), key.public_key())
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False
        )
        .sign(root_key, hashes.SHA256())
    )
    files = folder / "leaf.pem", folder / "leaf.key", folder / "authority.pem"
    files[0].write_bytes(leaf.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    files[2].write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    return files
