"""A package index on loopback, as a team has one: packages of Python, and two of npm.

The packages of npm only start the command lines that `make setup` installed in this checkout: to
unpack a thousand packages twice would take a minute.
"""

import base64
import contextlib
import gzip
import hashlib
import io
import json
import re
import shutil
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from zipfile import ZipFile

from engines import ROOT
from loopback import Handler, serve_handler

_SIMPLE = re.compile(r"/simple/([^/]+)/")
_METADATA = ".metadata"
_NPM = {"cdktf-cli": "0.21.0", "cdktn-cli": "0.24.0"}


@contextlib.contextmanager
def serve_index(*folders: Path) -> Iterator[str]:
    """Serve wheels under `/simple` (PEP 503, PEP 658) and npm under `/npm`; yield the address."""
    wheels = {file.name: file for folder in folders for file in folder.glob("*.whl")}
    with serve_handler(_handler(wheels)) as address:
        yield address


@cache
def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _metadata(wheel: Path) -> bytes:
    with ZipFile(wheel) as archive:
        [name] = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return archive.read(name)


def _project(wheel: str) -> str:
    return re.sub(r"[-_.]+", "-", wheel.partition("-")[0]).lower()


@cache
def _npm_archive(name: str) -> bytes:
    command = name.removesuffix("-cli")
    real = ROOT / "node_modules" / name / "bundle" / "bin" / command
    facts = {"name": name, "version": _NPM[name], "bin": {command: "start.js"}}
    start = f"#!/usr/bin/env node\nrequire({json.dumps(str(real))});\n"
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for file, text in (("package.json", json.dumps(facts)), ("start.js", start)):
            member = tarfile.TarInfo(f"package/{file}")
            member.size, member.mode = len(text), 0o755
            archive.addfile(member, io.BytesIO(text.encode()))
    # Without a time in it, every worker's archive has the hash that the lock names.
    return gzip.compress(written.getvalue(), mtime=0)


def _npm_facts(name: str, address: str) -> bytes:
    command, version = name.removesuffix("-cli"), _NPM[name]
    digest = base64.b64encode(hashlib.sha512(_npm_archive(name)).digest()).decode()
    dist = {"tarball": f"{address}/npm/{name}.tgz", "integrity": f"sha512-{digest}"}
    facts = {"name": name, "version": version, "bin": {command: "start.js"}, "dist": dist}
    tags = {"latest": version}
    return json.dumps({"name": name, "dist-tags": tags, "versions": {version: facts}}).encode()


def _handler(wheels: dict[str, Path]) -> type[Handler]:
    class Index(Handler):
        def do_GET(self) -> None:
            name = self.path.rpartition("/")[2]
            if asked := _SIMPLE.fullmatch(self.path):
                self.answer(200, self._page(asked[1]).encode(), Content_Type="text/html")
            elif self.path == f"/npm/{name}" and name in _NPM:
                address = f"http://{self.headers['Host']}"
                self.answer(200, _npm_facts(name, address), Content_Type="application/json")
            elif self.path.startswith("/npm/") and name.removesuffix(".tgz") in _NPM:
                self.answer(
                    200,
                    _npm_archive(name.removesuffix(".tgz")),
                    Content_Type="application/octet-stream",
                )
            elif wheel := wheels.get(name.removesuffix(_METADATA)):
                if name.endswith(_METADATA):
                    self.answer(200, _metadata(wheel), Content_Type="text/plain")
                else:
                    self._send(wheel)
            else:
                self.send_error(404)

        def _page(self, project: str) -> str:
            found = sorted(name for name in wheels if _project(name) == project)
            links = (
                f'<a href="/files/{name}#sha256={_digest(wheels[name])}" data-core-metadata="true">'
                f"{name}</a>"
                for name in found
            )
            return "<!DOCTYPE html>\n" + "<br>\n".join(links)

        def _send(self, wheel: Path) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(wheel.stat().st_size))
            self.end_headers()
            with wheel.open("rb") as stream:
                shutil.copyfileobj(stream, self.wfile)

    return Index
