"""The check of the console's base address."""

from __future__ import annotations

import ipaddress
import re
from typing import Never
from urllib.parse import SplitResult, urlsplit

from opsconsole.errors import ConfigurationError

_SETTING = "base_url"
_EXAMPLE = "It looks like https://console.example.com."
_API_PREFIX = "/api/v1"
_PATH = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*")


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address names this machine only."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked_base_url(text: str | None, *, allow_http: bool) -> str:
    """Return the base address without a trailing slash; a path before it is kept.

    All paths of the document are relative to it (What the service does 5). https is required,
    except on loopback, unless `allow_http`.

    Raises:
        ConfigurationError: it is missing, malformed, or http where https is required.
    """
    if not text:
        _wrong(
            "No base address of the console is set.",
            f"Set base_url in the provider's configuration, or OPSCONSOLE_BASE_URL. {_EXAMPLE}",
        )
    if re.search(r"[\s\x00-\x1f\x7f\\]", text):
        _wrong("base_url holds a space, a backslash or a control character.", _EXAMPLE)
    if "svc_ak_" in text:
        _wrong(
            "base_url holds an API key.",
            f"The key goes into api_key, or OPSCONSOLE_API_KEY. {_EXAMPLE}",
        )
    parts = _split(text)
    if parts.username is not None or parts.password is not None:
        _wrong("base_url holds a user name or password.", "Credentials go into api_key.")
    shown = f'base_url "{re.split("[?#]", text)[0]}"'
    if parts.scheme not in ("http", "https"):
        if "://" not in text:
            scheme = "http" if is_loopback(_host_of(text)) else "https"
            _wrong(f"{shown} has no scheme.", f'Write "{scheme}://{re.split("[?#]", text)[0]}".')
        _wrong(f"{shown} does not begin with https://.", _EXAMPLE)
    host = parts.hostname
    if not host:
        _wrong(f"{shown} names no host.", _EXAMPLE)
    if "?" in text or "#" in text:
        _wrong(f"{shown} holds a query or a fragment.", _EXAMPLE)
    path = parts.path.rstrip("/")
    _check_path(shown, path)
    if parts.scheme == "http" and not allow_http and not is_loopback(host):
        _wrong(
            f"{shown} is http: the API key would cross the network unencrypted.",
            "Use https, or set allow_http = true.",
        )
    return f"{parts.scheme}://{_authority(parts, host, shown)}{path}"


def _host_of(text: str) -> str:
    """Return the host of an address without a scheme; empty where it cannot be told."""
    try:
        return urlsplit(f"//{text}").hostname or ""
    except ValueError:
        return ""


def _split(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        # The text is left out, of the cause too: malformed, it may hold a password.
        raise ConfigurationError("base_url is malformed.", _EXAMPLE, _SETTING) from None
    return parts


def _authority(parts: SplitResult, host: str, shown: str) -> str:
    try:
        ascii_host = host if ":" in host else host.encode("idna").decode()
    except UnicodeError:
        ascii_host = ""
    if not ascii_host or (":" not in host and not re.fullmatch(r"[a-z0-9._\-]+", ascii_host)):
        _wrong(f"{shown} names no possible host.", _EXAMPLE)
    bracketed = f"[{host}]" if ":" in host else ascii_host
    return bracketed if parts.port is None else f"{bracketed}:{parts.port}"


def _check_path(shown: str, path: str) -> None:
    if path.endswith(_API_PREFIX):
        _wrong(
            f"{shown} ends with {_API_PREFIX}, which every path of the API begins with.",
            f"Leave {_API_PREFIX} out.",
        )
    if _PATH.fullmatch(path) is None or any(part in (".", "..") for part in path.split("/")):
        _wrong(f"{shown} holds a path that is no plain path.", _EXAMPLE)


def _wrong(message: str, remedy: str) -> Never:
    raise ConfigurationError(message, remedy, _SETTING)
