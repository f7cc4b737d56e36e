"""The provider's own certificate for one process: EC P-256, self-signed, never on a disk.

go-plugin's client trusts exactly the certificate in the handshake line, and asks for
the name `localhost` in it. Making key and certificate belongs here; using them does not.
"""

from __future__ import annotations

import base64
import os
import time

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from opsconsole.terraform import der

_P256 = der.identifier("1.2.840.10045.3.1.7")
_EC_KEY = der.tagged(der.SEQUENCE, der.identifier("1.2.840.10045.2.1"), _P256)
_ECDSA_SHA256 = der.tagged(der.SEQUENCE, der.identifier("1.2.840.10045.4.3.2"))
_LOCALHOST = der.tagged(
    der.SEQUENCE,
    der.tagged(
        der.SET,
        der.tagged(
            der.SEQUENCE, der.identifier("2.5.4.3"), der.tagged(der.UTF8_STRING, b"localhost")
        ),
    ),
)
_HOUR = 3600
_LIFETIME = 400 * 24 * _HOUR
"""Seconds; longer than any one run of Terraform."""


class Certificate:
    """A certificate and its private key.

    Attributes:
        der: The certificate as the handshake line carries it.
        pem: The certificate and the key, as `SSLContext.load_cert_chain` reads them.
    """

    __slots__ = ("der", "pem")

    def __init__(self, certificate: bytes, key: bytes) -> None:
        self.der = certificate
        self.pem = _pem("CERTIFICATE", certificate) + _pem("EC PRIVATE KEY", key)


def make_certificate() -> Certificate:
    """Make a new key and a certificate for it, valid from an hour ago."""
    key = ec.generate_private_key(ec.SECP256R1())
    numbers = key.private_numbers()
    public = numbers.public_numbers
    point = der.bits(b"\x04" + public.x.to_bytes(32, "big") + public.y.to_bytes(32, "big"))
    body = _to_be_signed(point)
    signature = key.sign(body, ec.ECDSA(hashes.SHA256()))
    return Certificate(
        der.tagged(der.SEQUENCE, body, _ECDSA_SHA256, der.bits(signature)),
        _private_key(numbers.private_value, point),
    )


def _to_be_signed(point: bytes) -> bytes:
    """Return the signed part of the certificate (RFC 5280, TBSCertificate)."""
    now = time.time()
    return der.tagged(
        der.SEQUENCE,
        der.explicit(0, der.integer(2)),
        der.integer(int.from_bytes(os.urandom(16), "big") | 1),
        _ECDSA_SHA256,
        _LOCALHOST,
        der.tagged(der.SEQUENCE, _moment(now - _HOUR), _moment(now + _LIFETIME)),
        _LOCALHOST,
        der.tagged(der.SEQUENCE, _EC_KEY, point),
        der.explicit(3, _extensions()),
    )


def _extensions() -> bytes:
    digital_signature_and_certificate_signing = b"\x84"
    server_authentication = der.identifier("1.3.6.1.5.5.7.3.1")
    dns_localhost = der.tagged(0x82, b"localhost")
    return der.tagged(
        der.SEQUENCE,
        _extension("2.5.29.19", der.tagged(der.SEQUENCE, der.TRUE), critical=True),
        _extension(
            "2.5.29.15", der.bits(digital_signature_and_certificate_signing, 2), critical=True
        ),
        _extension("2.5.29.37", der.tagged(der.SEQUENCE, server_authentication)),
        _extension("2.5.29.17", der.tagged(der.SEQUENCE, dns_localhost)),
    )


def _extension(dotted: str, value: bytes, *, critical: bool = False) -> bytes:
    mark = der.TRUE if critical else b""
    return der.tagged(
        der.SEQUENCE, der.identifier(dotted), mark, der.tagged(der.OCTET_STRING, value)
    )


def _private_key(secret: int, point: bytes) -> bytes:
    """Return the key as RFC 5915 writes it."""
    return der.tagged(
        der.SEQUENCE,
        der.integer(1),
        der.tagged(der.OCTET_STRING, secret.to_bytes(32, "big")),
        der.explicit(0, _P256),
        der.explicit(1, point),
    )


def _moment(seconds: float) -> bytes:
    return der.tagged(der.UTC_TIME, time.strftime("%y%m%d%H%M%SZ", time.gmtime(seconds)).encode())


def _pem(label: str, body: bytes) -> bytes:
    text = base64.b64encode(body).decode("ascii")
    lines = (text[start : start + 64] for start in range(0, len(text), 64))
    return "\n".join((f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", "")).encode()
