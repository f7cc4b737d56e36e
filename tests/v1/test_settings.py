"""Provider settings: defaults, environment, and every refusal with its remedy."""

import re
import ssl
import sys
from dataclasses import replace
from decimal import Decimal
from itertools import product

import certifi
import pytest

from engines import run_program
from opsconsole.errors import ConfigurationError
from opsconsole.redaction import Redaction
from opsconsole.resources import PROVIDER
from opsconsole.terraform.certificate import make_certificate
from opsconsole.v1.client import Client, tls_context
from opsconsole.v1.settings import ENVIRONMENT, Settings, proxy_for
from opsconsole.values import UNKNOWN
from text_groups import read_rows

ROWS = read_rows(__file__)

URL = "https://console.example.com"
KEY = "svc_ak_secret"


def settings(environ=None, **values):
    return Settings.from_values({"base_url": URL, "api_key": KEY, **values}, environ or {})


def test_defaults():
    made = Settings.from_values(
        dict.fromkeys(PROVIDER.names),
        {"OPSCONSOLE_BASE_URL": URL, "OPSCONSOLE_API_KEY": KEY, "OPSCONSOLE_ORG_ID": "org_1"},
    )
    assert made == Settings(base_url=URL, api_key=KEY, org_id="org_1")
    assert (made.request_timeout, made.max_retries, made.max_concurrency) == (30, 4, 32)
    assert (made.import_chunk_size, made.host_read) == (500, "empty_update")
    assert (made.on_existing_host, made.on_missing) == ("fail", "remove")
    assert made.on_missing_host is None


def test_descriptions_state_the_defaults():
    stated = {
        ENVIRONMENT[item.name]: found[1]
        for item in PROVIDER
        if (found := re.search(r"Default: `?(\w+)`?\.$", item.description))
    }
    assert len(stated) > 10
    assert settings(stated) == settings()


def test_what_is_said_of_missing_hosts_outranks_what_is_said_of_all():
    for of_all, of_hosts in product(("remove", "error"), (None, "remove", "error")):
        made = settings(on_missing=of_all, on_missing_host=of_hosts)
        assert made.on_missing_of("agent") == (of_all, "on_missing")
        host = (of_hosts, "on_missing_host") if of_hosts else (of_all, "on_missing")
        assert made.on_missing_of("host") == host


IN_THE_ENVIRONMENT = {
    "base_url": ("https://env.example.com", "https://env.example.com"),
    "api_key": ("svc_ak_env", "svc_ak_env"),
    "session_cookie": ("sid=env", "sid=env"),
    "org_id": ("org_env", "org_env"),
    "request_timeout": ("2.5", 2.5),
    "max_retries": ("0", 0),
    "max_concurrency": ("7", 7),
    "max_requests_per_second": ("0.5", 0.5),
    "rate_limit_patience": ("86400", 86_400),
    "max_response_bytes": ("5000", 5000),
    "ca_file": ("roots.pem", "roots.pem"),
    "insecure_skip_verify": ("Yes", True),
    "allow_http": ("true", True),
    "import_chunk_size": ("9", 9),
    "max_deletions": ("0", 0),
    "host_read": ("none", "none"),
    "on_existing_host": ("adopt", "adopt"),
    "on_missing": ("error", "error"),
    "on_missing_host": ("error", "error"),
    "list_query_narrows": ("0", False),
    "cursor_parameter": ("after", "after"),
    "cursor_field": ("next", "next"),
    "list_query": ('{"limit": "5"}', {"limit": "5"}),
    "extra_endpoints": ('{"host_list": "GET /hosts"}', {"host_list": "GET /hosts"}),
}


@pytest.mark.parametrize("name", PROVIDER.names)
def test_every_setting_can_stand_in_the_program_and_in_the_environment(name):
    without = {"session_cookie": {"api_key": None}}.get(name, {name: None})
    # Of these two, neither does without the other.
    names = ("cursor_parameter", "cursor_field") if name.startswith("cursor_") else (name,)
    texts = {f"OPSCONSOLE_{each.upper()}": IN_THE_ENVIRONMENT[each][0] for each in names}
    value = IN_THE_ENVIRONMENT[name][1]
    given = {each: IN_THE_ENVIRONMENT[each][1] for each in names}
    assert getattr(settings(texts, **without), name) == value
    assert getattr(settings(**without | given), name) == value


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        ("MAX_RETRIES", "many", "OPSCONSOLE_MAX_RETRIES in the environment is not valid JSON"),
        ("MAX_RETRIES", "-1", "max_retries is -1"),
        ("MAX_RETRIES", '"4"', "max_retries is not a number"),
        ("ALLOW_HTTP", "maybe", "OPSCONSOLE_ALLOW_HTTP in the environment is neither true nor"),
        ("LIST_QUERY", "limit=5", "OPSCONSOLE_LIST_QUERY in the environment is not valid JSON"),
        ("LIST_QUERY", "[" * 100_000, "OPSCONSOLE_LIST_QUERY in the environment is not valid JSON"),
        ("LIST_QUERY", "[]", "list_query is not a map of strings"),
        ("HOST_READ", "all", 'host_read is "all"'),
        ("MAX_RESPONSE_BYTES", "10", "max_response_bytes is 10"),
    ],
)
def test_wrong_settings_in_the_environment(variable, text, said):
    with pytest.raises(ConfigurationError) as caught:
        settings({f"OPSCONSOLE_{variable}": text})
    assert said in str(caught.value)
    assert caught.value.setting == variable.lower()


def test_values_win_over_the_environment_and_credentials_over_any_of_it():
    environ = {"OPSCONSOLE_BASE_URL": "https://other.example.com", "OPSCONSOLE_ORG_ID": "org_env"}
    environ |= {"OPSCONSOLE_API_KEY": "svc_ak_env", "OPSCONSOLE_SESSION_COOKIE": "sid=env"}
    made = settings(environ, org_id="org_1")
    assert (made.base_url, made.org_id) == (URL, "org_1")
    assert (made.api_key, made.session_cookie) == (KEY, None)
    made = settings(environ, api_key=None, session_cookie="sid=a=b")
    assert (made.api_key, made.session_cookie) == (None, "sid=a=b")
    with pytest.raises(ConfigurationError, match="Both api_key and session_cookie"):
        settings(environ, api_key=None)


def test_every_setting_of_the_definition_is_one_of_ours():
    assert set(PROVIDER.names) | {"proxy"} == set(Settings.__dataclass_fields__)


def test_values_are_brought_into_one_form():
    endpoints = {"host_get": " get  /api/v1/hosts/{id} ", "host_list": "GET /hosts"}
    numbers = {"request_timeout": Decimal("2.5"), "max_concurrency": 1.0}
    maps = {"list_query": {"limit": "5", "unset": None}, "extra_endpoints": endpoints}
    made = settings(base_url="http://10.0.0.1", allow_http=True, **numbers, **maps)
    assert (made.request_timeout, made.max_concurrency) == (2.5, 1)
    assert made.base_url == "http://10.0.0.1"
    assert made.list_query == {"limit": "5"}
    assert made.extra_endpoints == endpoints | {"host_get": "GET /api/v1/hosts/{id}"}


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("https://c.example.com/", "https://c.example.com"),
        ("https://c.example.com//", "https://c.example.com"),
        ("https://c.example.com/console/", "https://c.example.com/console"),
        ("HTTPS://C.Example.COM:8443/A", "https://c.example.com:8443/A"),
        ("https://c.example.com:443", "https://c.example.com"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("http://127.1.2.3", "http://127.1.2.3"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ("http://console.localhost", "http://console.localhost"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
    ],
)
def test_base_urls(written, kept):
    assert settings(base_url=written).base_url == kept


COLUMNS, WRONG = ROWS["test_refusals_name_the_setting_and_a_remedy"]
WRONG += [
    ("list_query", {"a": UNKNOWN}, "not known"),
    ("org_id", UNKNOWN, "not known before apply"),
]


@pytest.mark.parametrize(COLUMNS, WRONG)
def test_refusals_name_the_setting_and_a_remedy(name, value, said):
    with pytest.raises(ConfigurationError) as caught:
        settings(**{name: value})
    expected = "cursor_field" if name == "cursor_parameter" else name
    expected = "cursor_parameter" if name == "cursor_field" else expected
    assert caught.value.setting == expected
    assert said in str(caught.value)
    assert "hunter2" not in f"{caught.value!r}{caught.value}{caught.value.__context__!r}"


@pytest.mark.parametrize(
    "cookie", ["sid", "=x", "sid=", "sid=a;b", "sid=a b", "s d=a", "sid=a\r\nX: y", "sid=ä"]
)
def test_cookies_that_are_none(cookie):
    with pytest.raises(ConfigurationError) as caught:
        settings(api_key=None, session_cookie=cookie)
    assert caught.value.setting == "session_cookie"


def test_secrets_are_not_shown():
    with_key = settings({"HTTPS_PROXY": "http://user:hunter2@proxy.example.com:3128"})
    with_cookie = settings(api_key=None, session_cookie="sid=hunter2")
    assert with_key.proxy == "http://user:hunter2@proxy.example.com:3128"
    for made in (with_key, with_cookie):
        assert "hunter2" not in f"{made}{made!r}"
        assert KEY not in f"{made}{made!r}"


@pytest.mark.parametrize(
    ("base_url", "environ", "proxy"),
    [
        (URL, {}, None),
        (URL, {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        (URL, {"https_proxy": "http://low:1", "HTTPS_PROXY": "http://p:1"}, "http://low:1"),
        (URL, {"HTTPS_PROXY": "p:1"}, "http://p:1"),
        (URL, {"HTTPS_PROXY": "https://p:1"}, "https://p:1"),
        (URL, {"HTTP_PROXY": "http://p:1"}, None),
        (URL, {"ALL_PROXY": "http://p:1"}, "http://p:1"),
        (URL, {"ALL_PROXY": "http://a:1", "HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("http://10.0.0.1", {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
        ("http://localhost:8080", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://127.0.0.1", {"ALL_PROXY": "socks5://p:1"}, None),
        ("http://[::1]", {"HTTP_PROXY": "http://p:1"}, None),
    ],
)
def test_proxies_of_the_environment(base_url, environ, proxy):
    assert proxy_for(base_url, environ) == proxy


@pytest.mark.parametrize(*ROWS["test_no_proxy"])
def test_no_proxy(host, exceptions, direct):
    environ = {"HTTPS_PROXY": "http://p:1", "NO_PROXY": exceptions}
    assert proxy_for(f"https://{host}", environ) == (None if direct else "http://p:1")


@pytest.mark.parametrize("value", ["socks5://u:hunter2@p:1", "http://", "http://p:x", "ftp://p"])
def test_proxies_that_are_none(value):
    with pytest.raises(ConfigurationError, match="HTTPS_PROXY") as caught:
        settings({"HTTPS_PROXY": value})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("content", [None, "", "no certificate"])
def test_a_ca_file_that_cannot_be_used(tmp_path, content):
    file = tmp_path / "roots.pem"
    if content is not None:
        file.write_text(content)
    why = "it holds no certificate in PEM form" if file.exists() else "No such file or directory"
    with pytest.raises(ConfigurationError, match=rf'roots.pem" cannot be used: {why}\.') as caught:
        Client(settings(ca_file=str(file)))
    assert caught.value.setting == "ca_file"


def test_importing_stays_light():
    program = (
        "import sys, opsconsole.v1.settings, opsconsole.v1.console\n"
        "heavy = {'httpx', 'aiohttp', 'yarl', 'certifi'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "import opsconsole.v1.transport\n"
        "assert {'aiohttp', 'yarl'} <= {*sys.modules}"
    )
    assert run_program(sys.executable, "-c", program).out.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "value"),
    [*(("api_key", key) for key in ("svc_ak_…", "svc_ak_", "Bearer")), ("session_cookie", "value")],
)
def test_words_about_a_placeholder_are_not_hidden_as_a_secret(name, value):
    with pytest.raises(ConfigurationError) as caught:
        settings(**{"api_key": None, name: value})
    secrets = Redaction()
    secrets.learn(value)
    assert secrets.hide(str(caught.value)) == str(caught.value)


def test_the_authorities_of_the_system_and_of_certifi_are_trusted(tmp_path, monkeypatch):
    own = tmp_path / "own.pem"
    own.write_bytes(make_certificate().pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(own))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "none"))

    def trusted(context: ssl.SSLContext) -> set[str]:
        return {item["serialNumber"] for item in context.get_ca_certs()}

    files = [trusted(ssl.create_default_context(cafile=file)) for file in (certifi.where(), own)]
    made = tls_context(settings())
    assert trusted(made) == set.union(*files) and all(files)
    assert made.minimum_version is ssl.TLSVersion.TLSv1_2
    assert not trusted(tls_context(settings(insecure_skip_verify=True)))
    plain = settings(base_url="http://127.0.0.1")
    assert tls_context(plain) is True
    assert trusted(tls_context(replace(plain, ca_file=str(own)))) == files[1]
