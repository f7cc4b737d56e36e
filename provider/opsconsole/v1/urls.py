"""URLs: of the console, of the proxy to it, and of the target of a redirect. Does no I/O.

No message shows a value that may be a secret.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Never
from urllib.parse import SplitResult, urljoin, urlsplit

from opsconsole.errors import ConfigurationError, UnexpectedAnswer, has_no_effect

if TYPE_CHECKING:
    from opsconsole.v1.answers import Reply
    from opsconsole.v1.operations import Operation

_SETTING = "base_url"
_EXAMPLE = "It looks like https://console.example.com."
_API_PREFIX = "/api/v1"
_DEFAULT_PORTS = {"http": 80, "https": 443}
_BASE_PATH = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*")

MAX_REDIRECTS = 5

_SAME_METHOD = frozenset({307, 308})
_REDIRECTS = frozenset({301, 302, 303, *_SAME_METHOD})


def is_loopback(host: str) -> bool:
    """Return whether a host name or address names this machine only."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def base_address(text: str | None, *, allow_http: bool) -> str:
    """Normalise the base address: no trailing slash, no default port.

    The document's paths are relative to it (its first part, 5). https is required, except on
    loopback, unless `allow_http`.

    Raises:
        ConfigurationError: it is missing, malformed, or http where https is required.
    """
    if not text:
        _wrong(
            "No base address of the console is set.",
            f"Set base_url in the provider's configuration, or OPSCONSOLE_BASE_URL. {_EXAMPLE}",
        )
    # `urlsplit` would silently drop some of these.
    if re.search(r"[\s\x00-\x1f\x7f\\]", text):
        _wrong("base_url holds a space, a backslash or a control character.", _EXAMPLE)
    if "svc_ak_" in text:
        _wrong(
            "base_url holds an API key.",
            f"The key goes into api_key, or OPSCONSOLE_API_KEY. {_EXAMPLE}",
        )
    parts = _split(text)
    if parts.username is not None:
        _wrong("base_url holds a user name or password.", "Credentials go into api_key.")
    # A query or a fragment may hold a secret.
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
    try:
        return urlsplit(f"//{text}").hostname or ""
    except ValueError:
        return ""


def _split(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        # Only reading the port checks it.
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
    # Two spellings of one console must be equal.
    default = _DEFAULT_PORTS[parts.scheme]
    return bracketed if parts.port in (None, default) else f"{bracketed}:{parts.port}"


def _check_path(shown: str, path: str) -> None:
    if path.endswith(_API_PREFIX):
        _wrong(
            f"{shown} ends with {_API_PREFIX}, which every path of the API begins with.",
            f"Leave {_API_PREFIX} out.",
        )
    if _BASE_PATH.fullmatch(path) is None or any(part in (".", "..") for part in path.split("/")):
        _wrong(f"{shown} holds a path that is not a plain path.", _EXAMPLE)


def _wrong(message: str, remedy: str) -> Never:
    raise ConfigurationError(message, remedy, _SETTING)


def proxy_for(base_url: str, environ: Mapping[str, str]) -> str | None:
    """Return the address of the proxy to `base_url`, credentials included, or None.

    HTTPS_PROXY or HTTP_PROXY, else ALL_PROXY; lower case takes precedence. NO_PROXY excepts hosts,
    domains, addresses and networks.
    """
    target = urlsplit(base_url)
    host = target.hostname or ""
    port = target.port or _DEFAULT_PORTS[target.scheme]
    exceptions = _variable(environ, "NO_PROXY")[1].lower().split(",")
    # Go's programs, Terraform among them, use no proxy to loopback either.
    if is_loopback(host) or any(_matches(host, port, entry.strip()) for entry in exceptions):
        return None
    for variable in (f"{target.scheme.upper()}_PROXY", "ALL_PROXY"):
        name, value = _variable(environ, variable)
        if value:
            return _proxy_address(name, value)
    return None


def _variable(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    lower = environ.get(name.lower(), "").strip()
    return (name.lower(), lower) if lower else (name, environ.get(name, "").strip())


def _proxy_address(name: str, value: str) -> str:
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


def _matches(host: str, port: int, entry: str) -> bool:
    if not entry:
        return False
    if entry == "*":
        return True
    entry = entry.partition("://")[2] or entry
    with suppress(ValueError):  # the one is no network, or the other no address
        network = ipaddress.ip_network(entry.strip("[]"), strict=False)
        return ipaddress.ip_address(host) in network
    name, colon, entry_port = entry.rpartition(":")
    # `int` would refuse a superscript, which `isdigit` takes, and a port of thousands of digits.
    if colon and entry_port.isascii() and entry_port.isdigit():
        if entry_port.lstrip("0") != str(port):
            return False
        entry = name.strip("[]")
    domain = entry.removeprefix("*").removeprefix(".")
    return host == domain or host.endswith(f".{domain}")


def next_url(operation: Operation, url: str, reply: Reply, redact: Callable[[bytes], bytes]) -> str:
    """Return the target of a redirect (the document shows none).

    Raises:
        UnexpectedAnswer: it is another origin, which would get the key, or must not be followed.
    """
    # 307 and 308 keep method and body, and the request was not carried out. After the others this
    # is uncertain for any method but GET.
    followed = _REDIRECTS if operation.method == "GET" else _SAME_METHOD
    target = _target(url, reply.headers.get("location", ""))
    origin = "" if target is None else _origin(target)
    address = "" if target is None else redact(f"{origin}{target.path}".encode()).decode()
    if target is None or reply.status not in _REDIRECTS:
        where, remedy = "without a usable address", "Check base_url."
    elif origin != _origin(urlsplit(url)):
        where = f"to another origin, {address}"
        remedy = (
            "It was not followed, as it would be given the API key. "
            "If the console lives there, set base_url to it."
        )
    elif reply.status not in followed:
        where = f"to {address}"
        remedy = "Only reads follow it. Check base_url: its path, and http or https."
    else:
        return target._replace(fragment="").geturl()
    raise UnexpectedAnswer(
        f"the console redirects (status {reply.status}) {where}.",
        remedy,
        operation=str(operation),
        status=reply.status,
        had_no_effect=has_no_effect(reply.status, documented=False),
    )


def _target(url: str, location: str) -> SplitResult | None:
    if not location or not location.isprintable():
        return None
    try:
        target = urlsplit(urljoin(url, location))
        usable = target.scheme in ("http", "https") and bool(target.hostname)
        usable = usable and target.username is None and target.port != 0
    except ValueError:
        return None
    return target if usable else None


def _origin(parts: SplitResult) -> str:
    host = parts.hostname or ""
    port = parts.port or _DEFAULT_PORTS[parts.scheme]
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"
