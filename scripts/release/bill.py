"""Bills of materials in CycloneDX's JSON: of the wheel with all extras, and of an archive."""

from __future__ import annotations

import json
import platform
import ssl
from collections.abc import Container
from pathlib import Path
from typing import Any

from scripts.release.environments import run
from scripts.setup import ROOT

from opsconsole import __version__


def write_bill(
    python: Path, file: Path, frozen: Path | None = None, packages: Container[str] = ()
) -> None:
    """Write what the environment of `python` holds.

    Args:
        frozen: The folder of a provider that carries Python and libraries with it; they are listed
            too, the libraries by their files.
        packages: The packages of the environment that `frozen` carries.
    """
    tool = ROOT / ".venv" / "bin" / "cyclonedx-py"
    bill: dict[str, Any] = json.loads(
        run(tool, "environment", "--output-reproducible", "--validate", "--of", "JSON", python)
    )
    bill["metadata"]["component"] = {
        "type": "application",
        "bom-ref": "opsconsole-release",
        "name": file.name.removesuffix(".cdx.json"),
        "version": __version__,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
    }
    if frozen is not None:
        _restrict(bill, packages)
        bill["components"] += _carried(frozen)
    file.write_text(json.dumps(bill, indent=2) + "\n")


def _restrict(bill: dict[str, Any], packages: Container[str]) -> None:
    listed = bill["components"]
    bill["components"] = [item for item in listed if item["name"].lower() in packages]
    known = {item["bom-ref"] for item in bill["components"]}
    bill["dependencies"] = [
        {**item, "dependsOn": [ref for ref in item.get("dependsOn", ()) if ref in known]}
        for item in bill.get("dependencies", ())
        if item["ref"] in known
    ]


def _carried(frozen: Path) -> list[dict[str, str]]:
    libraries = sorted(path.name for path in (frozen / "_internal").glob("*.so*"))
    named = [
        ("application", "CPython", platform.python_version()),
        ("library", "OpenSSL", ssl.OPENSSL_VERSION.split()[1]),
    ]
    return [
        *({"type": kind, "name": name, "version": version} for kind, name, version in named),
        *({"type": "file", "name": name} for name in libraries),
    ]
