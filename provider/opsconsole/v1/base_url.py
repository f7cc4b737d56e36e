"""The check of the console's base address, and the proxy that the environment asks for. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Never
from urllib.parse import SplitResult, urlsplit

from opsconsole.errors import ConfigurationError

_SETTING = "base_url"
_EXAMPLE = "It looks like https://console.example.com."
_API_PREFIX = "/api/v1"
_PATH = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*")


def is_loopback(host: str) -> bool:
    """Return whether a host name or address names this machine only."""
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
    """Return the host of an address without a scheme; empty where it has none that can be read."""
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
        _wrong(f"{shown} holds a path that is not a plain path.", _EXAMPLE)


def _wrong(message: str, remedy: str) -> Never:
    raise ConfigurationError(message, remedy, _SETTING)


def proxy_for(base_url: str, environ: Mapping[str, str]) -> str | None:
    """Return the address of the proxy to `base_url`, credentials included, or None.

    HTTPS_PROXY or HTTP_PROXY by the scheme of `base_url`, else ALL_PROXY, in lower case first;
    NO_PROXY excepts hosts, domains, addresses and networks. As with Go's programs, Terraform among
    them, no proxy is used to loopback.

    Raises:
        ConfigurationError: the variable holds no address of an http or https proxy.
    """
    target = urlsplit(base_url)
    host = target.hostname or ""
    port = target.port or (443 if target.scheme == "https" else 80)
    if is_loopback(host) or _is_excepted(host, port, _get(environ, "NO_PROXY")[1]):
        return None
    for variable in (f"{target.scheme.upper()}_PROXY", "ALL_PROXY"):
        name, value = _get(environ, variable)
        if value:
            return _checked(name, value)
    return None


def _get(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    lower = environ.get(name.lower(), "").strip()
    return (name.lower(), lower) if lower else (name, environ.get(name, "").strip())


def _checked(name: str, value: str) -> str:
    address = value if "://" in value else f"http://{value}"
    remedy = "It looks like http://proxy.example.com:3128; NO_PROXY excepts hosts."
    try:
        parts = urlsplit(address)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known:
        # The value is left out: it may hold a password.
        raise ConfigurationError(
            f"The environment's {name} holds no address of an http or https proxy.", remedy
        )
    return address


def _is_excepted(host: str, port: int, exceptions: str) -> bool:
    return any(_matches(host, port, entry.strip().lower()) for entry in exceptions.split(","))


def _matches(host: str, port: int, entry: str) -> bool:
    if not entry:
        return False
    if entry == "*":
        return True
    entry = entry.partition("://")[2] or entry
    network = _network(entry)
    if network is not None:
        try:
            return ipaddress.ip_address(host) in network
        except ValueError:
            return False
    name, colon, wanted = entry.rpartition(":")
    if colon and wanted.isdigit():
        if int(wanted) != port:
            return False
        entry = name.strip("[]")
    domain = entry.removeprefix("*").removeprefix(".")
    return host == domain or host.endswith(f".{domain}")


def _network(entry: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        return None
