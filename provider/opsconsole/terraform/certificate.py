"""The provider's own certificate for one process: EC P-256, self-signed, never on a disk.

go-plugin's client trusts exactly the certificate in the handshake line, and asks for
the name `localhost` in it. Making key and certificate belongs here; using them does not.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = datetime.timedelta(days=400)
"""Longer than any one run of Terraform."""


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
        .add_extension(_usage(), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Certificate(
        certificate.public_bytes(Encoding.DER), certificate.public_bytes(Encoding.PEM) + private
    )


def _usage() -> x509.KeyUsage:
    """Return what go-plugin's own certificates are for: to sign, themselves too."""
    others = dict.fromkeys(
        (
            *("content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
            *("crl_sign", "encipher_only", "decipher_only"),
        ),
        False,
    )
    return x509.KeyUsage(digital_signature=True, key_cert_sign=True, **others)
