"""Checks of single settings, the base address first, and the proxy that leads to it. Pure.

No message shows a value that may be a secret.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Number
from typing import Any, Never
from urllib.parse import SplitResult, urlsplit

from opsconsole.errors import ConfigurationError
from opsconsole.redaction import COOKIE_FORM, KEY_FORM
from opsconsole.resources.provider import PROVIDER
from opsconsole.values import UNKNOWN

_SETTING = "base_url"
_EXAMPLE = "It looks like https://console.example.com."
_API_PREFIX = "/api/v1"
_BASE_PATH = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*")


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
    if _BASE_PATH.fullmatch(path) is None or any(part in (".", "..") for part in path.split("/")):
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


_LONGEST_TIMEOUT = 86_400.0
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_ENDPOINT_PATH = re.compile(r"/[A-Za-z0-9\-._~!$&'()*+,;=:@%/{}]*")
_KEY = re.compile(r"svc_ak_[!-~]+")
_COOKIE = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+=[!-+\--:<-~]+")


@dataclass(frozen=True, slots=True)
class SettingValues:
    """The values of settings as they were given; each method checks and returns one."""

    values: Mapping[str, Any]

    def _value(self, name: str) -> Any:
        value = self.values.get(name)
        if value is UNKNOWN:
            raise ConfigurationError(
                f"{name} is not known before apply.",
                "Settings of the provider may not depend on what this run creates.",
                name,
            )
        return value

    def text(self, name: str) -> str | None:
        """Return a string, None where it is unset or empty."""
        value = self._value(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            wrong(name, "is not a string.")
        return value

    def boolean(self, name: str, default: bool) -> bool:
        """Return a boolean."""
        value = self._value(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            wrong(name, "is not a boolean.")
        return value

    def _number(self, name: str) -> float | None:
        value = self._value(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, Number):
            wrong(name, "is not a number.")
        return float(value)  # type: ignore[arg-type]  # int, float, Decimal and Fraction all convert

    def integer(self, name: str, default: int) -> int:
        """Return a whole number within the bounds of the setting's definition."""
        value = self._number(name)
        if value is None:
            return default
        if not math.isfinite(value) or value != int(value):
            wrong(name, "is not a whole number.")
        minimum = PROVIDER[name].minimum or 0
        if value < minimum:
            wrong(name, f"is {int(value)}.", f"It must be at least {minimum}.")
        return int(value)

    def seconds(self, name: str, default: float) -> float:
        """Return a time span in seconds: more than 0, at most a day."""
        value = self._number(name)
        if value is None:
            return default
        if not 0 < value <= _LONGEST_TIMEOUT:
            wrong(name, f"is {value:g} seconds.", "It must be more than 0, and at most a day.")
        return value

    def rate(self, name: str) -> float | None:
        """Return a number of requests a second, more than 0; None where it is unset."""
        value = self._number(name)
        if value is not None and not 0 < value < math.inf:
            wrong(name, f"is {value:g}.", "It must be more than 0.")
        return value

    def choice(self, name: str, default: str) -> str:
        """Return one of the values that the setting's definition allows."""
        return self.choice_or_none(name) or default

    def choice_or_none(self, name: str) -> str | None:
        """Return one of the values that the setting's definition allows; None where it is unset."""
        value = self.text(name)
        if value is None:
            return None
        allowed = PROVIDER[name].allowed
        if value not in allowed:
            words = " or ".join(f'"{word}"' for word in allowed)
            wrong(name, f'is "{value}".', f"It must be {words}.")
        return value

    def text_map(self, name: str) -> dict[str, str]:
        """Return a map of strings; entries that are null are left out."""
        value = self._value(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            wrong(name, "is not a map of strings.")
        entries = {key: item for key, item in value.items() if item is not None}
        if any(item is UNKNOWN for item in entries.values()):
            wrong(name, "is not known before apply.")
        for key, item in entries.items():
            if not isinstance(key, str) or not isinstance(item, str):
                wrong(name, "is not a map of strings.")
        return entries


def wrong(name: str, what: str, remedy: str = "") -> Never:
    """Raise that the setting `name` is wrong."""
    raise ConfigurationError(f"{name} {what}", remedy, name)


def checked_key(key: str) -> str:
    """Return an API key of the documented form (Authentication 2)."""
    if _KEY.fullmatch(key) is None:
        raise ConfigurationError(*KEY_FORM, "api_key")
    return key


def checked_cookie(cookie: str) -> str:
    """Return a session cookie of the form `name=value` (Authentication 3)."""
    if _COOKIE.fullmatch(cookie) is None:
        raise ConfigurationError(*COOKIE_FORM, "session_cookie")
    return cookie


def checked_extra_endpoints(declared: Mapping[str, str]) -> dict[str, str]:
    """Return name to `METHOD /path`, each with `{id}` where, and only where, it takes one."""
    return {name: _checked_extra(name, text) for name, text in declared.items()}


def _checked_extra(name: str, text: str) -> str:
    # Few settings name any, and Terraform starts the provider several times a run.
    from opsconsole.v1.operations import extra_endpoints

    setting = "extra_endpoints"
    known = extra_endpoints()
    extra = known.get(name)
    if extra is None:
        wrong(setting, f'names "{name}".', f"It may name {', '.join(known)}.")
    form = f'"{_METHODS[0]} /path/{{id}}"' if extra.takes_id else f'"{_METHODS[0]} /path"'
    method, _, path = " ".join(text.split()).partition(" ")
    method = method.upper()
    if method not in _METHODS or _ENDPOINT_PATH.fullmatch(path) is None:
        wrong(
            setting,
            f'gives {name} as "{text}".',
            f"It must be of the form {form}: {', '.join(_METHODS)}, then a path without a query.",
        )
    placeholders = re.findall(r"\{[^{}]*\}|[{}]", path)
    if placeholders != (["{id}"] if extra.takes_id else []):
        wanted = "exactly one {id}" if extra.takes_id else "no placeholder"
        wrong(setting, f'gives {name} as "{text}".', f"Its path must hold {wanted}.")
    return f"{method} {path}"
