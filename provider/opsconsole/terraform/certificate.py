"""TLS as in go-plugin's AutoMTLS: each side shows the certificate that the other side expects.

The provider's certificate is made for one process: EC P-256, self-signed, never written to disk.
The client trusts exactly the certificate in the handshake line, by the name `localhost`.
"""

from __future__ import annotations

import datetime
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = datetime.timedelta(days=400)
"""Longer than any single run of Terraform."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its private key.

    Attributes:
        der: The certificate as the handshake line carries it.
        pem: The certificate and the key, as `SSLContext.load_cert_chain` reads them.
    """

    der: bytes
    pem: bytes


def make_certificate() -> Certificate:
    """Make a new key and a certificate for it, valid from an hour ago."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage(), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Certificate(
        certificate.public_bytes(Encoding.DER), certificate.public_bytes(Encoding.PEM) + private
    )


def _key_usage() -> x509.KeyUsage:
    """Return the key usage of go-plugin's own certificates, which includes signing certificates."""
    others = dict.fromkeys(
        (
            *("content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
            *("crl_sign", "encipher_only", "decipher_only"),
        ),
        False,
    )
    return x509.KeyUsage(digital_signature=True, key_cert_sign=True, **others)


ALPN = "h2"


def server_context(own_pem: bytes, client_pem: str) -> ssl.SSLContext:
    """Return a context that shows `own_pem` and accepts only the owner of `client_pem`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=client_pem)
    context.set_alpn_protocols([ALPN])
    context.num_tickets = 0
    with _readable_path(own_pem) as path:
        context.load_cert_chain(path)
    return context


def refusal(connection: ssl.SSLObject, client_pem: str) -> str | None:
    """Return why the peer of a finished TLS handshake is not served, or None if it is served."""
    if connection.selected_alpn_protocol() != ALPN:
        return "the client did not ask for HTTP/2"
    # TLS also accepts a certificate that the key of the announced one has signed.
    if connection.getpeercert(binary_form=True) != ssl.PEM_cert_to_DER_cert(client_pem.strip()):
        return "the client showed another certificate than announced"
    return None


@contextmanager
def _readable_path(content: bytes) -> Iterator[str]:
    """Offer `content` under a path until it was read, because ssl only takes paths."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("certificate", os.MFD_CLOEXEC), "wb") as memory:
            memory.write(content)
            memory.flush()
            yield f"/proc/self/fd/{memory.fileno()}"
        return
    # Imported only if there are no memory files, because the import takes a while.
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        yield file.name
