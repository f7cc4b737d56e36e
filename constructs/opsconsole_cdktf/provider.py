"""The construct of the provider: generated, not edited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias, TypedDict, Unpack

import cdktf
from constructs import Construct

from opsconsole.resources import PROVIDER
from opsconsole_cdktf import _attributes as attributes
from opsconsole_cdktf._declared import Provider

OpsconsoleProviderHostRead: TypeAlias = Literal["empty_update", "none"]
OpsconsoleProviderOnExistingHost: TypeAlias = Literal["fail", "adopt"]
OpsconsoleProviderOnMissing: TypeAlias = Literal["remove", "error"]
OpsconsoleProviderOnMissingHost: TypeAlias = Literal["remove", "error"]


class OpsconsoleProviderOptions(TypedDict, total=False):
    """The arguments of `OpsconsoleProvider` that may be left out."""

    base_url: str | None
    api_key: str | None
    session_cookie: str | None
    org_id: str | None
    request_timeout: int | float | None
    max_retries: int | cdktf.IResolvable | None
    max_concurrency: int | cdktf.IResolvable | None
    max_requests_per_second: int | float | None
    rate_limit_patience: int | float | None
    max_response_bytes: int | cdktf.IResolvable | None
    ca_file: str | None
    insecure_skip_verify: bool | cdktf.IResolvable | None
    allow_http: bool | cdktf.IResolvable | None
    max_deletions: int | cdktf.IResolvable | None
    import_chunk_size: int | cdktf.IResolvable | None
    host_read: OpsconsoleProviderHostRead | cdktf.IResolvable | None
    on_existing_host: OpsconsoleProviderOnExistingHost | cdktf.IResolvable | None
    on_missing: OpsconsoleProviderOnMissing | cdktf.IResolvable | None
    on_missing_host: OpsconsoleProviderOnMissingHost | cdktf.IResolvable | None
    list_query: Mapping[str, str] | None
    list_query_narrows: bool | cdktf.IResolvable | None
    cursor_parameter: str | None
    cursor_field: str | None
    extra_endpoints: Mapping[str, str] | None
    alias: str | None


class OpsconsoleProviderAttributes:
    _definition: ClassVar[attributes.Definition] = PROVIDER

    base_url = attributes.text_setting()
    base_url_input = attributes.Declaration[str]()
    reset_base_url = attributes.Reset()
    api_key = attributes.text_setting()
    api_key_input = attributes.Declaration[str]()
    reset_api_key = attributes.Reset()
    session_cookie = attributes.text_setting()
    session_cookie_input = attributes.Declaration[str]()
    reset_session_cookie = attributes.Reset()
    org_id = attributes.text_setting()
    org_id_input = attributes.Declaration[str]()
    reset_org_id = attributes.Reset()
    request_timeout = attributes.number_setting()
    request_timeout_input = attributes.Declaration[int | float]()
    reset_request_timeout = attributes.Reset()
    max_retries = attributes.whole_setting()
    max_retries_input = attributes.Declaration[int | cdktf.IResolvable]()
    reset_max_retries = attributes.Reset()
    max_concurrency = attributes.whole_setting()
    max_concurrency_input = attributes.Declaration[int | cdktf.IResolvable]()
    reset_max_concurrency = attributes.Reset()
    max_requests_per_second = attributes.number_setting()
    max_requests_per_second_input = attributes.Declaration[int | float]()
    reset_max_requests_per_second = attributes.Reset()
    rate_limit_patience = attributes.number_setting()
    rate_limit_patience_input = attributes.Declaration[int | float]()
    reset_rate_limit_patience = attributes.Reset()
    max_response_bytes = attributes.whole_setting()
    max_response_bytes_input = attributes.Declaration[int | cdktf.IResolvable]()
    reset_max_response_bytes = attributes.Reset()
    ca_file = attributes.text_setting()
    ca_file_input = attributes.Declaration[str]()
    reset_ca_file = attributes.Reset()
    insecure_skip_verify = attributes.flag_setting()
    insecure_skip_verify_input = attributes.Declaration[bool | cdktf.IResolvable]()
    reset_insecure_skip_verify = attributes.Reset()
    allow_http = attributes.flag_setting()
    allow_http_input = attributes.Declaration[bool | cdktf.IResolvable]()
    reset_allow_http = attributes.Reset()
    max_deletions = attributes.whole_setting()
    max_deletions_input = attributes.Declaration[int | cdktf.IResolvable]()
    reset_max_deletions = attributes.Reset()
    import_chunk_size = attributes.whole_setting()
    import_chunk_size_input = attributes.Declaration[int | cdktf.IResolvable]()
    reset_import_chunk_size = attributes.Reset()
    host_read = attributes.ChosenSetting[OpsconsoleProviderHostRead]()
    host_read_input = attributes.DeclaredChoice[OpsconsoleProviderHostRead]()
    reset_host_read = attributes.Reset()
    on_existing_host = attributes.ChosenSetting[OpsconsoleProviderOnExistingHost]()
    on_existing_host_input = attributes.DeclaredChoice[OpsconsoleProviderOnExistingHost]()
    reset_on_existing_host = attributes.Reset()
    on_missing = attributes.ChosenSetting[OpsconsoleProviderOnMissing]()
    on_missing_input = attributes.DeclaredChoice[OpsconsoleProviderOnMissing]()
    reset_on_missing = attributes.Reset()
    on_missing_host = attributes.ChosenSetting[OpsconsoleProviderOnMissingHost]()
    on_missing_host_input = attributes.DeclaredChoice[OpsconsoleProviderOnMissingHost]()
    reset_on_missing_host = attributes.Reset()
    list_query = attributes.text_map_setting()
    list_query_input = attributes.Declaration[Mapping[str, str]]()
    reset_list_query = attributes.Reset()
    list_query_narrows = attributes.flag_setting()
    list_query_narrows_input = attributes.Declaration[bool | cdktf.IResolvable]()
    reset_list_query_narrows = attributes.Reset()
    cursor_parameter = attributes.text_setting()
    cursor_parameter_input = attributes.Declaration[str]()
    reset_cursor_parameter = attributes.Reset()
    cursor_field = attributes.text_setting()
    cursor_field_input = attributes.Declaration[str]()
    reset_cursor_field = attributes.Reset()
    extra_endpoints = attributes.text_map_setting()
    extra_endpoints_input = attributes.Declaration[Mapping[str, str]]()
    reset_extra_endpoints = attributes.Reset()


class OpsconsoleProvider(Provider, OpsconsoleProviderAttributes):
    """Keeps the resources of an operations console as declared.

    Args:
        base_url: Base address of the console; https, except on loopback. Default: the environment's
            OPSCONSOLE_BASE_URL.
        api_key: API key, `svc_ak_…`. Default: the environment's OPSCONSOLE_API_KEY.
        session_cookie: A console session cookie, `name=value`, instead of `api_key`.
        org_id: Org for created hosts and agents that declare no `org_id`; never used for
            blacklisted commands. Default: the environment's OPSCONSOLE_ORG_ID, or unset.
        request_timeout: Seconds that one request may take. Default: 30. At most 86400.
        max_retries: Tries after the first; waiting after a 429 does not count as one. Default: 4.
            At least 0.
        max_concurrency: Requests in flight at most, abandoned ones included. Default: 32. At least
            1.
        max_requests_per_second: Most requests begun in a second by one process, retries included:
            10, or 0.5 for one in two seconds. Default: unset, only the console's answers of 429
            (slow down) limit the rate.
        rate_limit_patience: Seconds for which the console may answer nothing but 429 (slow down)
            before a resource fails because of it. Default: 300. At most 86400.
        max_response_bytes: Size of one answer after decompression, in bytes. Default: 67108864. At
            least 1024.
        ca_file: File of certificates to trust, PEM.
        insecure_skip_verify: Accept any certificate. Default: false.
        allow_http: Allow http to an address off loopback. Default: false.
        max_deletions: Objects with the `deletion_policy` `delete` that one run may delete or
            replace: beyond it the plan is an error that names them. A `destroy` counts too.
            Default: unset, any number. At least 0.
        import_chunk_size: Rows in one bulk import request; halved when the console refuses the
            size. Default: 500. At least 1.
        host_read: How a host is read: `empty_update` (an empty partial update answers with the
            host) or `none`. Default: `empty_update`.
        on_existing_host: What to do with a declared host that the console already has: `fail` or
            `adopt`. Default: `fail`.
        on_missing: What to do with an object in state that answers 404, or that a complete list
            does not show: `remove` it from state with a warning, or `error`. It is deleted, or not
            visible to this key: the console does not say which. Default: `remove`.
        on_missing_host: The same for hosts alone; it overrides `on_missing`. Default: the value of
            `on_missing`. One of `remove`, `error`.
        list_query: Extra query parameters of list calls. A name after `plugins.`, `specialties.`,
            `hosts.`, `agents.` or `blacklisted_commands.` is a parameter of that list alone.
        list_query_narrows: Whether the parameters of `list_query` may leave entries out of a list.
            Such a list proves that an object is there, never that it is gone. Default: true.
        cursor_parameter: Query parameter that asks a list call for the next page, if known.
        cursor_field: Field of a list envelope that holds the next page's cursor, if known.
        extra_endpoints: Operations beyond the documented ones, by name, as "METHOD /path/{id}"; the
            page of the provider lists the names.
        alias: The name of a further provider, for resources to choose it.
    """

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole"

    def __init__(
        self, scope: Construct, id_: str, **others: Unpack[OpsconsoleProviderOptions]
    ) -> None:
        super().__init__(scope, id_, **others)
