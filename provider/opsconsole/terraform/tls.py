"""TLS as go-plugin's AutoMTLS requires it: each side shows a certificate that the other expects.

Making the context and judging the peer belong here; the certificate is made in `certificate`.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

ALPN = "h2"


def server_context(own_pem: bytes, client_pem: str) -> ssl.SSLContext:
    """Return a context that shows `own_pem` and accepts only the owner of `client_pem`.

    Raises:
        ssl.SSLError: One of them is not a certificate.
    """
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
    """Say why the peer of a finished TLS handshake is not served; None: it is.

    The certificate must be the very one announced, not merely one that its key has signed.
    """
    if connection.selected_alpn_protocol() != ALPN:
        return "the client did not ask for HTTP/2"
    if connection.getpeercert(binary_form=True) != ssl.PEM_cert_to_DER_cert(client_pem.strip()):
        return "the client showed another certificate than announced"
    return None


@contextmanager
def _readable_path(content: bytes) -> Iterator[str]:
    """Offer `content` under a path, as ssl takes nothing else, for as long as it is read."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("certificate", os.MFD_CLOEXEC), "wb") as memory:
            memory.write(content)
            memory.flush()
            yield f"/proc/self/fd/{memory.fileno()}"
        return
    # Imported only where there is no memory file, since it takes a while.
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        yield file.name
