"""Which proxy the environment asks for. Pure; the transport goes through it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from opsconsole.errors import ConfigurationError
from opsconsole.v1.base_url import is_loopback


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
