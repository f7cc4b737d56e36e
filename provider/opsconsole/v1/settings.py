"""The provider's settings, checked: among them the address of the console, and of a proxy to it.

Does no I/O. No message shows a value that may be a secret.

Imports no HTTP library, because Terraform starts the provider several times in a run.
"""

from __future__ import annotations

import ipaddress
import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Never
from urllib.parse import SplitResult, urlsplit

from opsconsole.definition import Attribute, Kind
from opsconsole.errors import ConfigurationError
from opsconsole.redaction import COOKIE_FORM, KEY_FORM
from opsconsole.text import parse_switch
from opsconsole.v1.provider_settings import PROVIDER
from opsconsole.values import UNKNOWN

_EMPTY: Mapping[str, str] = MappingProxyType({})
_CREDENTIALS = PROVIDER.sensitive_names
API_KEY = re.compile(r"svc_ak_[!-~]+")
_COOKIE = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+=[!-+\--:<-~]+")
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_ENDPOINT_PATH = re.compile(r"/[A-Za-z0-9\-._~!$&'()*+,;=:@%/{}]*")
_EXAMPLE = "It looks like https://console.example.com."
_API_PREFIX = "/api/v1"
DEFAULT_PORTS = {"http": 80, "https": 443}
_BASE_PATH = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*")

ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {name: f"OPSCONSOLE_{name.upper()}" for name in PROVIDER.names}
)
"""Setting to the environment variable that is read if the setting is not given."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The provider's settings, described in `provider_settings`; None means unset.

    Attributes:
        base_url: Without a trailing slash; may end in a path.
        api_key, session_cookie: One of them is set. Never shown.
        proxy: Address of the proxy to go through, credentials included; from the environment.
    """

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    session_cookie: str | None = field(default=None, repr=False)
    org_id: str | None = None
    request_timeout: float = 30.0
    max_retries: int = 4
    max_concurrency: int = 32
    max_requests_per_second: float | None = None
    rate_limit_patience: float = 300.0
    max_response_bytes: int = 67_108_864
    ca_file: str | None = None
    insecure_skip_verify: bool = False
    allow_http: bool = False
    max_deletions: int | None = None
    import_chunk_size: int = 500
    host_read: str = "empty_update"
    on_existing_host: str = "fail"
    on_missing: str = "remove"
    on_missing_host: str | None = None
    list_query: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    list_query_narrows: bool = True
    cursor_parameter: str | None = None
    cursor_field: str | None = None
    extra_endpoints: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    proxy: str | None = field(default=None, repr=False)

    def authorization(self) -> Mapping[str, str]:
        """Return the authentication header (the document: Authentication)."""
        if self.session_cookie is not None:
            return {"Cookie": self.session_cookie}
        return {"Authorization": f"Bearer {self.api_key}"}

    @property
    def credentials_remedy(self) -> str:
        """The remedy if the console refuses the credentials (401)."""
        if self.session_cookie is not None:
            return (
                "The session cookie may be mistyped or expired. Sign in to the console again, and "
                "set session_cookie to the new one."
            )
        return (
            "Check the API key: it may be mistyped, revoked or expired. Keys are minted in the "
            "console's API Keys settings."
        )

    def on_missing_of(self, resource: str) -> tuple[str, str]:
        """Return what to do with a missing object (`resource`: `host`), and the setting for it."""
        if resource == "host" and self.on_missing_host is not None:
            return self.on_missing_host, "on_missing_host"
        return self.on_missing, "on_missing"

    @classmethod
    def from_values(cls, values: Mapping[str, Any], environ: Mapping[str, str]) -> Settings:
        """Check `values` and fill them up from `environ` and the defaults.

        Args:
            values: Setting to its value; None and the empty string mean unset.
            environ: The environment: `OPSCONSOLE_NAME` for every setting, numbers and maps as
                JSON, and the usual proxy variables. Credentials are taken from it only where
                `values` hold none.

        Raises:
            ConfigurationError: A setting is missing or wrong; its message never shows a secret.
        """
        for name in values:
            if name not in PROVIDER.by_name:
                raise ConfigurationError(f'There is no setting "{name}".', setting=name)
        given = _with_environment(values, environ)
        parsed = {
            attribute.name: _parse(attribute, given[attribute.name])
            for attribute in PROVIDER
            if attribute.name in given
        }
        allow_http = parsed.get("allow_http", False)
        base_url = base_address(parsed.get("base_url"), allow_http=allow_http)
        _check_credentials(parsed.get("api_key"), parsed.get("session_cookie"))
        cursor = [name for name in ("cursor_parameter", "cursor_field") if name not in parsed]
        if len(cursor) == 1:
            raise ConfigurationError(
                "Only one of cursor_parameter and cursor_field is set.",
                "The next page of a list can be asked for only where both are known.",
                cursor[0],
            )
        if named := parsed.get("extra_endpoints"):
            endpoints = {name: _endpoint(name, text) for name, text in named.items()}
            parsed["extra_endpoints"] = MappingProxyType(endpoints)
        return cls(**parsed | {"base_url": base_url, "proxy": proxy_for(base_url, environ)})


def _with_environment(values: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    filled = {name: value for name, value in values.items() if value is not None and value != ""}
    # A key in the environment beside a declared cookie would be one credential too many.
    has_credentials = not filled.keys().isdisjoint(_CREDENTIALS)
    for name, variable in ENVIRONMENT.items():
        text = environ.get(variable, "")
        if text and name not in filled and not (has_credentials and name in _CREDENTIALS):
            filled[name] = _from_variable(PROVIDER[name].kind, name, text)
    return filled


def _from_variable(kind: Kind, name: str, text: str) -> Any:
    if kind is Kind.STRING:
        return text
    if kind is Kind.BOOLEAN:
        switch = parse_switch(text)
        if switch is None:
            raise ConfigurationError(
                f"{ENVIRONMENT[name]} in the environment is neither true nor false.",
                "Write true or false.",
                name,
            )
        return switch
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        # The text is left out, also of the cause, as it may be a secret in the wrong variable.
        problem = ConfigurationError(
            f"{ENVIRONMENT[name]} in the environment is not valid JSON.",
            'Numbers and maps are written as JSON: 5, {"name": "text"}.',
            name,
        )
    raise problem


def _parse(attribute: Attribute, value: Any) -> Any:
    name, kind = attribute.name, attribute.kind
    parts = value.values() if isinstance(value, Mapping) else (value,)
    if any(part is UNKNOWN for part in parts):
        raise ConfigurationError(
            f"{name} is not known before apply.",
            "Settings of the provider may not depend on what this run creates.",
            name,
        )
    if kind is Kind.STRING_MAP:
        return _text_map(name, value)
    if kind in (Kind.NUMBER, Kind.INTEGER):
        return _number(attribute, value)
    if not isinstance(value, bool if kind is Kind.BOOLEAN else str):
        _wrong(name, f"is not a {kind.value}.")
    allowed = attribute.bounds.allowed
    if allowed and value not in allowed:
        words = " or ".join(f'"{word}"' for word in allowed)
        _wrong(name, f'is "{value}".', f"It must be {words}.")
    return value


def _number(attribute: Attribute, value: Any) -> float | int:
    name, least, most = attribute.name, attribute.bounds.minimum, attribute.bounds.maximum
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | Fraction):
        _wrong(name, "is not a number.")
    try:
        number = float(value)
    except OverflowError:
        _wrong(name, "is too large.")
    if attribute.kind is Kind.INTEGER:
        if not number.is_integer():
            _wrong(name, "is not a whole number.")
        if number < (least or 0):
            _wrong(name, f"is {int(number)}.", f"It must be at least {least or 0}.")
        return int(number)
    if not 0 < number < math.inf or number > (most or math.inf):
        bound = f", and at most {most}" if most else ""
        _wrong(name, f"is {number:g}.", f"It must be more than 0{bound}.")
    return number


def _text_map(name: str, value: Any) -> Mapping[str, str]:
    """Return a map of strings; entries that are null are left out."""
    if not isinstance(value, Mapping):
        _wrong(name, "is not a map of strings.")
    entries = {key: item for key, item in value.items() if item is not None}
    if not all(isinstance(text, str) for pair in entries.items() for text in pair):
        _wrong(name, "is not a map of strings.")
    return MappingProxyType(entries)


def _wrong(name: str, what: str, remedy: str = "") -> Never:
    raise ConfigurationError(f"{name} {what}", remedy, name)


def _check_credentials(key: str | None, cookie: str | None) -> None:
    """Demand one of key and cookie, in its form (the document: Authentication)."""
    if key and cookie:
        raise ConfigurationError(
            "Both api_key and session_cookie are set.", "Set only one of them.", "session_cookie"
        )
    if cookie:
        if _COOKIE.fullmatch(cookie) is None:
            raise ConfigurationError(*COOKIE_FORM, "session_cookie")
    elif not key:
        raise ConfigurationError(
            "No API key is set.",
            "Set OPSCONSOLE_API_KEY in the environment, or api_key (or session_cookie) in the "
            "provider's configuration. Keys are minted in the console's API Keys settings.",
            "api_key",
        )
    elif API_KEY.fullmatch(key) is None:
        raise ConfigurationError(*KEY_FORM, "api_key")


def _endpoint(name: str, text: str) -> str:
    """Return `METHOD /path`, with `{id}` if and only if the operation takes an id."""
    # Few settings name any, and Terraform starts the provider several times a run.
    from opsconsole.v1.operations import NAMEABLE

    setting = "extra_endpoints"
    extra = NAMEABLE.get(name)
    if extra is None:
        _wrong(setting, f'names "{name}".', f"It may name {', '.join(NAMEABLE)}.")
    form = f'"{_METHODS[0]} /path/{{id}}"' if extra.takes_id else f'"{_METHODS[0]} /path"'
    method, _, path = " ".join(text.split()).partition(" ")
    method = method.upper()
    if method not in _METHODS or _ENDPOINT_PATH.fullmatch(path) is None:
        _wrong(
            setting,
            f'gives {name} as "{text}".',
            f"It must be of the form {form}: {', '.join(_METHODS)}, then a path without a query.",
        )
    placeholders = re.findall(r"\{[^{}]*\}|[{}]", path)
    if placeholders != (["{id}"] if extra.takes_id else []):
        needed = "exactly one {id}" if extra.takes_id else "no placeholder"
        _wrong(setting, f'gives {name} as "{text}".', f"Its path must hold {needed}.")
    return f"{method} {path}"


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
        ConfigurationError: It is missing, malformed, or http where https is required.
    """
    if not text:
        raise ConfigurationError(
            "No base address of the console is set.",
            f"Set base_url in the provider's configuration, or OPSCONSOLE_BASE_URL. {_EXAMPLE}",
            "base_url",
        )
    # `urlsplit` would silently drop some of these.
    if re.search(r"[\s\x00-\x1f\x7f\\]", text):
        _wrong("base_url", "holds a space, a backslash or a control character.", _EXAMPLE)
    if "svc_ak_" in text:
        _wrong(
            "base_url",
            "holds an API key.",
            f"The key goes into api_key, or OPSCONSOLE_API_KEY. {_EXAMPLE}",
        )
    try:
        parts = urlsplit(text)
        # Only reading the port checks it.
        _ = parts.port
    except ValueError:
        # The text is left out, of the cause too: malformed, it may hold a password.
        raise ConfigurationError("base_url is malformed.", _EXAMPLE, "base_url") from None
    if parts.username is not None:
        _wrong("base_url", "holds a user name or password.", "Credentials go into api_key.")
    # A query or a fragment may hold a secret.
    shown = f'"{re.split("[?#]", text)[0]}"'
    if parts.scheme not in ("http", "https"):
        if "://" not in text:
            scheme = "http" if is_loopback(_host_of(text)) else "https"
            _wrong(
                "base_url",
                f"{shown} has no scheme.",
                f'Write "{scheme}://{re.split("[?#]", text)[0]}".',
            )
        _wrong("base_url", f"{shown} does not begin with https://.", _EXAMPLE)
    host = parts.hostname
    if not host:
        _wrong("base_url", f"{shown} names no host.", _EXAMPLE)
    if "?" in text or "#" in text:
        _wrong("base_url", f"{shown} holds a query or a fragment.", _EXAMPLE)
    path = parts.path.rstrip("/")
    if path.endswith(_API_PREFIX):
        _wrong(
            "base_url",
            f"{shown} ends with {_API_PREFIX}, which every path of the API begins with.",
            f"Leave {_API_PREFIX} out.",
        )
    if _BASE_PATH.fullmatch(path) is None or any(part in (".", "..") for part in path.split("/")):
        _wrong("base_url", f"{shown} holds a path that is not a plain path.", _EXAMPLE)
    if parts.scheme == "http" and not allow_http and not is_loopback(host):
        _wrong(
            "base_url",
            f"{shown} is http: the API key would cross the network unencrypted.",
            "Use https, or set allow_http = true.",
        )
    return f"{parts.scheme}://{_authority(parts, host, shown)}{path}"


def _host_of(text: str) -> str:
    try:
        return urlsplit(f"//{text}").hostname or ""
    except ValueError:
        return ""


def _authority(parts: SplitResult, host: str, shown: str) -> str:
    try:
        ascii_host = host if ":" in host else host.encode("idna").decode()
    except UnicodeError:
        ascii_host = ""
    if not ascii_host or (":" not in host and not re.fullmatch(r"[a-z0-9._\-]+", ascii_host)):
        _wrong("base_url", f"{shown} names no possible host.", _EXAMPLE)
    bracketed = f"[{host}]" if ":" in host else ascii_host
    # Two spellings of one console must be equal.
    default = DEFAULT_PORTS[parts.scheme]
    return bracketed if parts.port in (None, default) else f"{bracketed}:{parts.port}"


def proxy_for(base_url: str, environ: Mapping[str, str]) -> str | None:
    """Return the address of the proxy to `base_url`, credentials included, or None.

    HTTPS_PROXY or HTTP_PROXY, else ALL_PROXY; lower case takes precedence. NO_PROXY excepts hosts,
    domains, addresses and networks.
    """
    target = urlsplit(base_url)
    host = target.hostname or ""
    port = target.port or DEFAULT_PORTS[target.scheme]
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
