"""The definition of the provider's own settings."""

from __future__ import annotations

from functools import partial

from opsconsole.bounds import Bounds
from opsconsole.definition import Attribute, Kind, ProviderDefinition
from opsconsole.text import join_words
from opsconsole.v1.operations import OPERATIONS

_setting = partial(Attribute, optional=True)
_LISTS = [f"`{item.lists}.`" for item in OPERATIONS.values() if item.lists]

PROVIDER = ProviderDefinition(
    description="Keeps the resources of an operations console as declared.",
    attributes=(
        _setting(
            "base_url",
            "Base address of the console; https, except on loopback. "
            "Default: the environment's OPSCONSOLE_BASE_URL.",
        ),
        _setting(
            "api_key",
            "API key, `svc_ak_…`. Default: the environment's OPSCONSOLE_API_KEY.",
            sensitive=True,
        ),
        _setting(
            "session_cookie",
            "A console session cookie, `name=value`, instead of `api_key`.",
            sensitive=True,
        ),
        _setting(
            "org_id",
            "Org for created hosts and agents that declare no `org_id`; never used for "
            "blacklisted commands. Default: the environment's OPSCONSOLE_ORG_ID, or unset.",
        ),
        _setting(
            "request_timeout",
            "Seconds that one request may take. Default: 30.",
            Kind.NUMBER,
            bounds=Bounds(maximum=86_400),
        ),
        _setting(
            "max_retries",
            "Tries after the first; waiting after a 429 does not count as one. Default: 4.",
            Kind.INTEGER,
            bounds=Bounds(minimum=0),
        ),
        _setting(
            "max_concurrency",
            "Requests in flight at most, abandoned ones included. Default: 32.",
            Kind.INTEGER,
            bounds=Bounds(minimum=1),
        ),
        _setting(
            "max_requests_per_second",
            "Most requests begun in a second by one process, retries included: 10, or 0.5 for one "
            "in two seconds. Default: unset, only the console's answers of 429 (slow down) limit "
            "the rate.",
            Kind.NUMBER,
        ),
        _setting(
            "rate_limit_patience",
            "Seconds for which the console may answer nothing but 429 (slow down) before a "
            "resource fails because of it. Default: 300.",
            Kind.NUMBER,
            bounds=Bounds(maximum=86_400),
        ),
        _setting(
            "max_response_bytes",
            "Size of one answer after decompression, in bytes. Default: 67108864.",
            Kind.INTEGER,
            bounds=Bounds(minimum=1024),
        ),
        _setting("ca_file", "File of certificates to trust, PEM."),
        _setting("insecure_skip_verify", "Accept any certificate. Default: false.", Kind.BOOLEAN),
        _setting(
            "allow_http", "Allow http to an address off loopback. Default: false.", Kind.BOOLEAN
        ),
        _setting(
            "max_deletions",
            "Objects with the `deletion_policy` `delete` that one run may delete or replace: "
            "beyond it the plan is an error that names them. A `destroy` counts too. Default: "
            "unset, any number.",
            Kind.INTEGER,
            bounds=Bounds(minimum=0),
        ),
        _setting(
            "import_chunk_size",
            "Rows in one bulk import request; halved when the console refuses the size. "
            "Default: 500.",
            Kind.INTEGER,
            bounds=Bounds(minimum=1),
        ),
        _setting(
            "host_read",
            "How a host is read: `empty_update` (an empty partial update answers with the host) or "
            "`none`. Default: `empty_update`.",
            bounds=Bounds(allowed=("empty_update", "none")),
        ),
        _setting(
            "on_existing_host",
            "What to do with a declared host that the console already has: `fail` or `adopt`. "
            "Default: `fail`.",
            bounds=Bounds(allowed=("fail", "adopt")),
        ),
        _setting(
            "on_missing",
            "What to do with an object in state that answers 404, or that a complete list does not "
            "show: `remove` it from state with a warning, or `error`. It is deleted, or not "
            "visible to this key: the console does not say which. Default: `remove`.",
            bounds=Bounds(allowed=("remove", "error")),
        ),
        _setting(
            "on_missing_host",
            "The same for hosts alone; it overrides `on_missing`. Default: the value of "
            "`on_missing`.",
            bounds=Bounds(allowed=("remove", "error")),
        ),
        _setting(
            "list_query",
            "Extra query parameters of list calls. A name after "
            f"{join_words(_LISTS, 'or')} is a parameter of that list alone.",
            Kind.STRING_MAP,
        ),
        _setting(
            "list_query_narrows",
            "Whether the parameters of `list_query` may leave entries out of a list. Such a list "
            "proves that an object is there, never that it is gone. Default: true.",
            Kind.BOOLEAN,
        ),
        _setting(
            "cursor_parameter",
            "Query parameter that asks a list call for the next page, if known.",
        ),
        _setting(
            "cursor_field",
            "Field of a list envelope that holds the next page's cursor, if known.",
        ),
        _setting(
            "extra_endpoints",
            'Operations beyond the documented ones, by name, as "METHOD /path/{id}"; the page of '
            "the provider lists the names.",
            Kind.STRING_MAP,
        ),
    ),
)
