"""What certificates are trusted. Connections themselves are the transport's."""

from __future__ import annotations

import ssl

from opsconsole.errors import ConfigurationError
from opsconsole.v1.settings import Settings


def tls_context(settings: Settings) -> ssl.SSLContext:
    """Return how to verify the console: TLS 1.2 or later.

    `ca_file` replaces the usual roots, which are the system's (SSL_CERT_FILE and SSL_CERT_DIR are
    obeyed) and those of certifi. For plain http a bare context, as loading roots costs
    milliseconds.

    Raises:
        ConfigurationError: `ca_file` cannot be read, or holds no certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if settings.insecure_skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if settings.ca_file is not None:
        _trust(context, settings.ca_file)
    elif _is_encrypted(settings) and not settings.insecure_skip_verify:
        import certifi

        context.load_default_certs()
        context.load_verify_locations(cafile=certifi.where())
    return context


def _is_encrypted(settings: Settings) -> bool:
    return settings.base_url.startswith("https:") or (settings.proxy or "").startswith("https:")


def _trust(context: ssl.SSLContext, ca_file: str) -> None:
    # An ssl.SSLError is an OSError, too: a file without a certificate.
    try:
        context.load_verify_locations(cafile=ca_file)
    except ssl.SSLError:
        reason = "it holds no certificate in PEM form"
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
    else:
        return
    raise ConfigurationError(
        f'ca_file "{ca_file}" cannot be used: {reason}.',
        "Give the path of a PEM file with the certificate authorities to trust.",
        "ca_file",
    )
