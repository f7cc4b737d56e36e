"""The hosts of the clouds on loopback: whoever goes through the proxy meets one server for all.

It answers what a test tells it to, and notes who asked with which credentials. What it was told
nothing of has no state.
"""

import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from connect_proxy import connect_proxy, write_certificate
from loopback import Handler, serve_handler

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
