"""The provider's settings as one checked value, from attributes and environment, and the
certificates that are trusted by them.

No network, no HTTP library: this is imported before the provider's handshake, and `ssl` only where
a connection is prepared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from opsconsole.definition import Kind
from opsconsole.errors import ConfigurationError
from opsconsole.resources.provider import PROVIDER
from opsconsole.v1 import checks
from opsconsole.v1.checks import checked_base_url, proxy_for

if TYPE_CHECKING:
    import ssl

_EMPTY: Mapping[str, str] = MappingProxyType({})
_CREDENTIALS = frozenset({"api_key", "session_cookie"})

ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {name: f"OPSCONSOLE_{name.upper()}" for name in PROVIDER.names}
)
"""Setting to the environment variable that is read where the setting is not given."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to reach the console, and how to act where the document is silent.

    Attributes:
        base_url: Service base address without a trailing slash; may end in a path.
        api_key: `svc_ak_…`, or None where `session_cookie` is set. Never shown.
        session_cookie: `name=value`, or None where `api_key` is set. Never shown.
        org_id: Org for created hosts and agents that declare none.
        request_timeout: Seconds that one request may take, its answer included.
        max_retries: Tries after the first.
        max_concurrency: Requests in flight at most.
        max_requests_per_second: Requests begun in a second at most; None: as many as the console
            accepts.
        rate_limit_patience: Seconds for which nothing but 429 may be answered.
        max_response_bytes: Size of one answer, decompressed.
        ca_file: Path of a PEM file: the certificates to trust instead of the usual ones.
        insecure_skip_verify: Accept any certificate.
        allow_http: Allow http to an address off loopback.
        import_chunk_size: Rows in one bulk import request.
        host_read: `empty_update` or `none`.
        on_existing_host: `fail` or `adopt`.
        on_missing: `remove` or `error`.
        on_missing_host: `remove` or `error`; outranks `on_missing` for hosts. None: unset.
        list_query: Extra query parameters of list calls; `specialties.NAME` is for one list alone.
        list_query_narrows: Whether `list_query` may leave entries out.
        cursor_parameter: Query parameter that asks for the next page.
        cursor_field: Field of a list envelope that holds the next page's cursor.
        extra_endpoints: Name to `METHOD /path/{id}`.
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
        """Return the header that proves who calls (the document: Authentication)."""
        if self.session_cookie is not None:
            return {"Cookie": self.session_cookie}
        return {"Authorization": f"Bearer {self.api_key}"}

    @property
    def credentials_remedy(self) -> str:
        """What helps where the console refuses the credentials (401)."""
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
        """Return what to do with a missing object of a resource, and the setting that says so.

        Args:
            resource: The short name of the resource: `host`.
        """
        if resource == "host" and self.on_missing_host is not None:
            return self.on_missing_host, "on_missing_host"
        return self.on_missing, "on_missing"

    @classmethod
    def from_values(cls, values: Mapping[str, Any], environ: Mapping[str, str]) -> Settings:
        """Check `values` and fill them up from `environ` and the defaults.

        Args:
            values: Setting to its value; None and the empty string mean unset.
            environ: The environment: `OPSCONSOLE_NAME` for every setting, numbers, booleans and
                maps as JSON, and the usual proxy variables. Credentials are taken from it only
                where `values` hold none.

        Raises:
            ConfigurationError: a setting is missing or wrong; its message never shows a secret.
        """
        for name in values:
            if name not in PROVIDER.by_name:
                raise ConfigurationError(f'There is no setting "{name}".', setting=name)
        given = checks.SettingValues(_with_environment(values, environ))
        allow_http = given.boolean("allow_http", False)
        base_url = checked_base_url(given.text("base_url"), allow_http=allow_http)
        api_key, session_cookie = _credentials(given)
        cursor_parameter, cursor_field = _cursor(given)
        return cls(
            base_url=base_url,
            api_key=api_key,
            session_cookie=session_cookie,
            org_id=given.text("org_id"),
            request_timeout=given.seconds("request_timeout", 30.0),
            max_retries=given.integer("max_retries", 4),
            max_concurrency=given.integer("max_concurrency", 32),
            max_requests_per_second=given.rate("max_requests_per_second"),
            rate_limit_patience=given.seconds("rate_limit_patience", 300.0),
            max_response_bytes=given.integer("max_response_bytes", 67_108_864),
            ca_file=given.text("ca_file"),
            insecure_skip_verify=given.boolean("insecure_skip_verify", False),
            allow_http=allow_http,
            import_chunk_size=given.integer("import_chunk_size", 500),
            host_read=given.choice("host_read", "empty_update"),
            on_existing_host=given.choice("on_existing_host", "fail"),
            on_missing=given.choice("on_missing", "remove"),
            on_missing_host=given.choice_or_none("on_missing_host"),
            list_query=MappingProxyType(given.text_map("list_query")),
            list_query_narrows=given.boolean("list_query_narrows", True),
            cursor_parameter=cursor_parameter,
            cursor_field=cursor_field,
            extra_endpoints=MappingProxyType(
                checks.checked_extra_endpoints(given.text_map("extra_endpoints"))
            ),
            proxy=proxy_for(base_url, environ),
        )


def _with_environment(values: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """Return `values`, and what the environment says of settings that they leave unset."""
    filled = {name: value for name, value in values.items() if value is not None and value != ""}
    has_credentials = not filled.keys().isdisjoint(_CREDENTIALS)
    for name, variable in ENVIRONMENT.items():
        text = environ.get(variable, "")
        if text and name not in filled and not (has_credentials and name in _CREDENTIALS):
            filled[name] = _from_variable(PROVIDER[name].kind, name, text)
    return filled


def _from_variable(kind: Kind, name: str, text: str) -> Any:
    if kind is Kind.STRING:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        # The text is left out, of the cause too: it may be a secret in the wrong variable.
        problem = ConfigurationError(
            f"{ENVIRONMENT[name]} in the environment is not valid JSON.",
            'Numbers, booleans and maps are written as JSON: 5, true, {"name": "text"}.',
            name,
        )
    raise problem


def _credentials(given: checks.SettingValues) -> tuple[str | None, str | None]:
    """Return key and cookie, of which exactly one is set (the document: Authentication)."""
    key, cookie = given.text("api_key"), given.text("session_cookie")
    if key and cookie:
        raise ConfigurationError(
            "Both api_key and session_cookie are set.", "Set only one of them.", "session_cookie"
        )
    if cookie:
        return None, checks.checked_cookie(cookie)
    if not key:
        raise ConfigurationError(
            "No API key is set.",
            "Set OPSCONSOLE_API_KEY in the environment, or api_key (or session_cookie) in the "
            "provider's configuration. Keys are minted in the console's API Keys settings.",
            "api_key",
        )
    return checks.checked_key(key), None


def _cursor(given: checks.SettingValues) -> tuple[str | None, str | None]:
    parameter, envelope_field = given.text("cursor_parameter"), given.text("cursor_field")
    if (parameter is None) != (envelope_field is None):
        missing = "cursor_field" if envelope_field is None else "cursor_parameter"
        raise ConfigurationError(
            "Only one of cursor_parameter and cursor_field is set.",
            "The next page of a list can be asked for only where both are known.",
            missing,
        )
    return parameter, envelope_field


def tls_context(settings: Settings) -> ssl.SSLContext:
    """Return how to verify the console: TLS 1.2 or later.

    `ca_file` replaces the usual roots, which are the system's (SSL_CERT_FILE and SSL_CERT_DIR are
    obeyed) and those of certifi. For plain http the usual roots are not loaded, because loading
    them takes milliseconds.

    Raises:
        ConfigurationError: `ca_file` cannot be read, or holds no certificate.
    """
    import ssl

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
    import ssl

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
