"""The ways in which Terraform's users have credentials, each to a pretended cloud on loopback."""

import hashlib
import json
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.tokens import SSOTokenProvider
from cryptography.hazmat.primitives.asymmetric import rsa

from loopback import Handler, connect_proxy, in_pem, serve_handler, write_certificate
from opsconsole.state.opening import native_backend

NAMES = (
    "*.amazonaws.com",
    "*.eu-central-1.amazonaws.com",
    "portal.sso.eu-central-1.amazonaws.com",
    "*.s3.eu-central-1.amazonaws.com",
    "*.googleapis.com",
    "*.blob.core.windows.net",
    "login.microsoftonline.com",
    "management.azure.com",
)


@dataclass(frozen=True)
class Request:
    """What was asked, and as whom."""

    method: str
    host: str
    path: str
    authorization: str
    body: str


@dataclass
class Clouds:
    """What is answered, and what was asked.

    Attributes:
        answers: Host and start of the path to what is answered: JSON, or text.
        plain: The address of the same server without TLS, as metadata services have it.
    """

    environment: Mapping[str, str]
    plain: str = ""
    answers: dict[tuple[str, str], Any] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)

    def answered(self, request: Request) -> tuple[int, str]:
        for (host, path), answer in self.answers.items():
            if request.host == host and request.path.startswith(path):
                return 200, answer if isinstance(answer, str) else json.dumps(answer)
        if request.host.endswith("amazonaws.com"):
            return 404, "<Error><Code>NoSuchKey</Code><Message>none</Message></Error>"
        return 404, "{}"

    def asked(self, host: str) -> list[Request]:
        """Return what was asked of a host."""
        return [request for request in self.requests if request.host == host]


@contextmanager
def pretended_clouds(folder: Path) -> Iterator[Clouds]:
    """Run the server and the proxy until the block ends; `environment` leads there."""
    certificate, key, authority = write_certificate(folder, *NAMES)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    clouds = Clouds({})
    with (
        serve_handler(_handler(clouds), context) as address,
        serve_handler(_handler(clouds)) as clouds.plain,
        connect_proxy(int(address.rpartition(":")[2])) as p,
    ):
        clouds.environment = {
            "HTTPS_PROXY": p,
            "SSL_CERT_FILE": str(authority),
            "NO_PROXY": "127.0.0.1,localhost",
        }
        yield clouds


def _handler(clouds: Clouds) -> type[Handler]:
    class Cloud(Handler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            host = self.headers["Host"].partition(":")[0]
            given = self.headers.get("Authorization", "")
            request = Request(self.command, host, self.path, given, self.body().decode())
            clouds.requests.append(request)
            status, text = clouds.answered(request)
            kind = "application/json" if text[:1] in "{[" else "text/xml"
            # By its flavour the libraries know the metadata service of a machine.
            self.answer(status, text.encode(), Content_Type=kind, Metadata_Flavor="Google")

        do_GET = do_POST = do_PUT = _answer

    return Cloud


LATER = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
S3 = {"bucket": "states", "key": "k.tfstate", "region": "eu-central-1"}
GCS = {"bucket": "states", "prefix": "p"}
AZURERM = {"storage_account_name": "account", "container_name": "states", "key": "k.tfstate"}


@pytest.fixture(scope="module")
def _clouds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clouds]:
    with pretended_clouds(tmp_path_factory.mktemp("clouds")) as clouds:
        yield clouds


@pytest.fixture
def clouds(_clouds: Clouds, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Clouds:
    """The pretended clouds, and a home without any credentials."""
    # The libraries read HOME, and where the metadata are, when they are imported.
    from google.auth.compute_engine import _metadata  # noqa: F401

    foreign = ("AWS_", "ARM_", "AZURE_", "GOOGLE_", "TF_", "IDENTITY_", "MSI_")
    for name in [name for name in os.environ if name.startswith(foreign)]:
        monkeypatch.delenv(name)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "ACTIONS_ID_TOKEN_REQUEST_URL"):
        monkeypatch.setenv(name, "")
    for name, value in {**_clouds.environment, "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GCE_METADATA_IP", "127.0.0.1:9")
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(SSOTokenProvider, "_SSO_TOKEN_CACHE_DIR", str(tmp_path / ".aws/sso/cache"))
    _clouds.answers.clear()
    _clouds.answers["storage.googleapis.com", "/storage/v1/b/states/o?"] = {}
    _clouds.requests.clear()
    return _clouds


def read_as(kind: str, block: dict[str, Any], clouds: Clouds) -> str:
    """Read a state that is not there; return the Authorization that the storage was shown."""
    storage = native_backend(kind, block, "default")
    try:
        assert storage.read() == b""
    finally:
        storage.close()
    # Nothing is asked about the bucket itself, for which a role for objects is not enough.
    asked = clouds.asked("storage.googleapis.com")
    assert all("/states/o" in request.path for request in asked)
    return clouds.requests[-1].authorization


def write(path: Path, text: str | dict[str, Any]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return str(path)


def sts(action: str) -> str:
    """Return the answer of AWS's token service."""
    given = "<Credentials><AccessKeyId>ASSUMED</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
    given += f"<SessionToken>t</SessionToken><Expiration>{LATER}</Expiration></Credentials>"
    name = "https://sts.amazonaws.com/doc/2011-06-15/"
    inner = f"<{action}Result>{given}</{action}Result>"
    return f'<{action}Response xmlns="{name}">{inner}</{action}Response>'


STS = ("sts.eu-central-1.amazonaws.com", "/")


def s3_profile(clouds: Clouds, home: Path, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    text = "[other]\naws_access_key_id = FROMPROFILE\naws_secret_access_key = s\n"
    return {"profile": "other", "shared_credentials_files": [write(home / "keys", text)]}


def s3_role_of_a_profile(clouds: Clouds, home: Path, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    keys = "[base]\naws_access_key_id = BASE\naws_secret_access_key = s\n"
    write(home / ".aws/credentials", keys)
    role = "[profile deploy]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = base\n"
    write(home / ".aws/config", role)
    patch.setenv("AWS_PROFILE", "deploy")
    clouds.answers[STS] = sts("AssumeRole")
    return {}


def s3_role_of_the_block(clouds: Clouds, home: Path, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    patch.setenv("AWS_ACCESS_KEY_ID", "BASE")
    patch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    clouds.answers[STS] = sts("AssumeRole")
    role = {"role_arn": "arn:aws:iam::1:role/r", "session_name": "deploys", "duration": "1.5h"}
    return {"assume_role": role}


def s3_web_identity_of_the_block(
    clouds: Clouds, home: Path, patch: pytest.MonkeyPatch
) -> dict[str, Any]:
    clouds.answers[STS] = sts("AssumeRoleWithWebIdentity")
    token = write(home / "token", "web-token")
    role = {"role_arn": "arn:aws:iam::1:role/r", "web_identity_token_file": token}
    return {"assume_role_with_web_identity": role}


def s3_web_identity_of_the_environment(
    clouds: Clouds, home: Path, patch: pytest.MonkeyPatch
) -> dict[str, Any]:
    clouds.answers[STS] = sts("AssumeRoleWithWebIdentity")
    patch.setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/r")
    patch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", write(home / "token", "web-token"))
    return {}


def s3_single_sign_on(clouds: Clouds, home: Path, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    text = "[profile team]\nsso_session = s\nsso_account_id = 1\nsso_role_name = r\n"
    text += "[sso-session s]\nsso_region = eu-central-1\nsso_start_url = https://x.example\n"
    write(home / ".aws/config", text)
    name = hashlib.sha1(b"s").hexdigest()
    token = {"accessToken": "sso-token", "expiresAt": LATER, "startUrl": "https://x.example"}
    write(home / f".aws/sso/cache/{name}.json", token)
    patch.setenv("AWS_PROFILE", "team")
    given = {"accessKeyId": "ASSUMED", "secretAccessKey": "s", "sessionToken": "t"}
    clouds.answers["portal.sso.eu-central-1.amazonaws.com", "/federation/credentials"] = {
        "roleCredentials": {**given, "expiration": 4_000_000_000_000}
    }
    return {}


def s3_process(clouds: Clouds, home: Path, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    given = {"Version": 1, "AccessKeyId": "ASSUMED", "SecretAccessKey": "s"}
    given |= {"SessionToken": "t", "Expiration": LATER}
    file = write(home / "given.json", given)
    write(home / ".aws/config", f"[default]\ncredential_process = cat {file}\n")
    return {}


def s3_container(clouds: Clouds, home: Path, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    patch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{clouds.plain}/task")
    given = {"AccessKeyId": "ASSUMED", "SecretAccessKey": "s", "Token": "t", "Expiration": LATER}
    clouds.answers["127.0.0.1", "/task"] = given
    return {}


def s3_machine(clouds: Clouds, home: Path, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    patch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", clouds.plain)
    path = "/latest/meta-data/iam/security-credentials/"
    given = {"AccessKeyId": "ASSUMED", "SecretAccessKey": "s", "Token": "t", "Expiration": LATER}
    clouds.answers["127.0.0.1", "/latest/api/token"] = "token"
    clouds.answers["127.0.0.1", f"{path}role"] = {**given, "Code": "Success", "Type": "x"}
    clouds.answers["127.0.0.1", path] = "role"
    return {}


@pytest.mark.parametrize(
    "ready",
    [
        s3_profile,
        s3_role_of_a_profile,
        s3_role_of_the_block,
        s3_web_identity_of_the_block,
        s3_web_identity_of_the_environment,
        s3_single_sign_on,
        s3_process,
        s3_container,
        s3_machine,
    ],
)
def test_s3(ready, clouds, tmp_path, monkeypatch):
    block = {**S3, **ready(clouds, tmp_path, monkeypatch)}
    expected = "FROMPROFILE" if ready is s3_profile else "ASSUMED"
    assert f"Credential={expected}/" in read_as("s3", block, clouds)
    for asked in clouds.asked(STS[0]):
        assert ("Credential=BASE/" in asked.authorization) == ("WebIdentity" not in asked.body)
        assert "WebIdentity" not in asked.body or "web-token" in asked.body
        assert ("DurationSeconds=5400" in asked.body) == (ready is s3_role_of_the_block)


OAUTH = ("oauth2.googleapis.com", "/token")
TOKEN = {"access_token": "got", "expires_in": 3600, "token_type": "Bearer"}
USER = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}


@pytest.fixture(scope="module")
def robot() -> dict[str, str]:
    """The key of a service account."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    robot = {"client_email": "robot@project.iam.gserviceaccount.com", "project_id": "project"}
    key = {"private_key_id": "1", "private_key": in_pem(key).decode()}
    asked = {"token_uri": "https://oauth2.googleapis.com/token"}
    return {"type": "service_account", **robot, **key, **asked}


@pytest.mark.parametrize("form", ["text", "file", "environment"])
def test_gcs_by_the_key_of_a_service_account(form, robot, clouds, tmp_path, monkeypatch):
    clouds.answers[OAUTH] = TOKEN
    file = write(tmp_path / "key.json", robot)
    block = {"text": {"credentials": json.dumps(robot)}, "file": {"credentials": file}}
    if form == "environment":
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
    assert read_as("gcs", {**GCS, **block.get(form, {})}, clouds) == "Bearer got"


def test_gcs_by_a_user_who_logged_in(clouds, tmp_path):
    clouds.answers[OAUTH] = TOKEN
    write(tmp_path / ".config/gcloud/application_default_credentials.json", USER)
    assert read_as("gcs", GCS, clouds) == "Bearer got"
    assert all("refresh_token=r" in asked.body for asked in clouds.asked(OAUTH[0]))


def test_gcs_by_a_workload_of_another_cloud(clouds, tmp_path, monkeypatch):
    issued = "urn:ietf:params:oauth:token-type:access_token"
    clouds.answers["sts.googleapis.com", "/v1/token"] = {**TOKEN, "issued_token_type": issued}
    workload = {
        "type": "external_account",
        "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/x",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
        "credential_source": {"file": write(tmp_path / "token", "web-token")},
    }
    file = write(tmp_path / "workload.json", workload)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
    assert read_as("gcs", GCS, clouds) == "Bearer got"
    assert "web-token" in clouds.asked("sts.googleapis.com")[0].body


def test_gcs_by_the_machine(clouds, monkeypatch):
    address = clouds.plain.removeprefix("http://")
    monkeypatch.setenv("GCE_METADATA_IP", address)
    monkeypatch.setattr("google.auth.compute_engine._metadata._GCE_METADATA_HOST", address)
    # A second thread of the library asks by the address that the first answer named.
    for account in ("default", "e"):
        path = f"/computeMetadata/v1/instance/service-accounts/{account}/"
        clouds.answers["127.0.0.1", f"{path}token"] = TOKEN
        clouds.answers["127.0.0.1", path] = {"email": "e", "scopes": ["s"], "aliases": []}
    clouds.answers["127.0.0.1", "/computeMetadata/v1/project/project-id"] = "project"
    clouds.answers["127.0.0.1", "/computeMetadata/v1/universe/"] = "googleapis.com"
    clouds.answers["127.0.0.1", "/"] = "computeMetadata/"
    assert read_as("gcs", GCS, clouds) == "Bearer got"


def test_gcs_as_another_account(clouds):
    target = "robot@project.iam.gserviceaccount.com"
    path = f"/v1/projects/-/serviceAccounts/{target}:generateAccessToken"
    given = {"accessToken": "of-the-robot", "expireTime": LATER}
    clouds.answers["iamcredentials.googleapis.com", path] = given
    block = {**GCS, "access_token": "own", "impersonate_service_account": target}
    assert read_as("gcs", block, clouds) == "Bearer of-the-robot"
    asked = [request for request in clouds.requests if request.path == path]
    assert {request.authorization for request in asked} == {"Bearer own"}


LOGIN = "login.microsoftonline.com"
WHO = {"tenant_id": "11111111-1111-1111-1111-111111111111", "client_id": "client"}


def entra(clouds: Clouds) -> None:
    """Let Entra ID give tokens."""
    base = f"https://{LOGIN}/{WHO['tenant_id']}"
    clouds.answers[LOGIN, f"/{WHO['tenant_id']}/v2.0/.well-known"] = {
        "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
        "token_endpoint": f"{base}/oauth2/v2.0/token",
        "issuer": f"{base}/v2.0",
    }
    clouds.answers[LOGIN, f"/{WHO['tenant_id']}/oauth2/v2.0/token"] = TOKEN
    clouds.answers[LOGIN, "/common/discovery/instance"] = {
        "tenant_discovery_endpoint": f"{base}/v2.0/.well-known/openid-configuration",
        "metadata": [],
    }


def azurerm_secret(clouds: Clouds, home: Path, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    return {**WHO, "client_secret": "the-secret"}


def azurerm_token_in_a_file(
    clouds: Clouds, home: Path, patch: pytest.MonkeyPatch
) -> dict[str, Any]:
    return {**WHO, "use_oidc": True, "oidc_token_file_path": write(home / "token", "the-secret")}


def azurerm_token_of_the_pipeline(
    clouds: Clouds, home: Path, patch: pytest.MonkeyPatch
) -> dict[str, Any]:
    patch.setenv("ACTIONS_ID_TOKEN_REQUEST_URL", f"{clouds.plain}/oidc?run=1")
    patch.setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "of-the-job")
    clouds.answers["127.0.0.1", "/oidc?run=1&audience="] = {"value": "the-secret"}
    return {**WHO, "use_oidc": True}


def azurerm_workload(clouds: Clouds, home: Path, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    patch.setenv("AZURE_FEDERATED_TOKEN_FILE", write(home / "token", "the-secret"))
    return {**WHO, "use_aks_workload_identity": True}


@pytest.mark.parametrize(
    "ready",
    [azurerm_secret, azurerm_token_in_a_file, azurerm_token_of_the_pipeline, azurerm_workload],
)
def test_azurerm_by_entra_id(ready, clouds, tmp_path, monkeypatch):
    entra(clouds)
    block = {**AZURERM, **ready(clouds, tmp_path, monkeypatch)}
    assert read_as("azurerm", block, clouds) == "Bearer got"
    bodies = [asked.body for asked in clouds.asked(LOGIN) if "oauth2" in asked.path]
    assert len(bodies) == 1
    assert "the-secret" in bodies[0]


@pytest.mark.parametrize("asked_for", [True, False])
def test_azurerm_by_az(asked_for, clouds, tmp_path, monkeypatch):
    times = {"expires_on": 4_000_000_000, "expiresOn": "2096-10-02 07:06:40"}
    given = {"accessToken": "of-az", **times}
    program = tmp_path / "bin" / "az"
    write(program, f"#!/bin/sh\ncat <<'END'\n{json.dumps(given)}\nEND\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    block = {**AZURERM, "use_cli": True} if asked_for else AZURERM
    assert read_as("azurerm", block, clouds) == "Bearer of-az"


def test_azurerm_by_a_managed_identity(clouds, monkeypatch):
    monkeypatch.setenv("IDENTITY_ENDPOINT", f"{clouds.plain}/msi")
    monkeypatch.setenv("IDENTITY_HEADER", "header")
    given = {**TOKEN, "expires_on": "4000000000", "resource": "https://storage.azure.com"}
    clouds.answers["127.0.0.1", "/msi"] = given
    assert read_as("azurerm", {**AZURERM, "use_msi": True}, clouds) == "Bearer got"


def test_azurerm_by_the_key_that_an_identity_may_look_up(clouds):
    entra(clouds)
    path = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/account"
    clouds.answers["management.azure.com", f"{path}/listKeys"] = {"keys": [{"value": "a2V5"}]}
    who = {**WHO, "client_secret": "x", "subscription_id": "s", "resource_group_name": "g"}
    assert read_as("azurerm", {**AZURERM, **who}, clouds).startswith("SharedKey account:")
    [asked] = clouds.asked("management.azure.com")
    assert asked.authorization == "Bearer got"
