"""Loads `_elements.js`, the classes that the framework synthesises, into jsii's Node.

jsii loads packages of npm, each with a manifest of its classes. This package is packed when it is
loaded, so that the file that people read is the one that runs.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any, Final

import jsii

NPM_PACKAGE: Final = "opsconsole-cdktf"
"""The JavaScript package: jsii's names of its classes begin with it."""

PROVIDER_NAME: Final = "opsconsole"
PROVIDER_SOURCE: Final = "opsconsole/opsconsole"
PROVIDER_VERSION: Final = "~> 0.1"

_VERSION: Final = "0.0.0"
"""jsii requires a version; the package is never published."""

_TYPES: Final = {
    "scope": {"fqn": "constructs.Construct"},
    "meta": {"fqn": "cdktf.TerraformMetaArguments"},
    "provider": {"fqn": "cdktf.TerraformProvider"},
}
"""The type of each parameter that is not a string, as a manifest writes it."""


def _parameters(*names: str) -> list[dict[str, Any]]:
    """Describe parameters for a manifest; a name that ends in `?` may be left out."""
    text = {"primitive": "string"}
    return [
        {
            "name": name.rstrip("?"),
            "type": _TYPES.get(name.rstrip("?"), text),
            "optional": name.endswith("?"),
        }
        for name in names
    ]


def _class(parent: str, *parameters: str, methods: tuple[dict[str, Any], ...] = ()) -> Any:
    assign = {"name": "assign", "parameters": _parameters("name", "value")}
    return {
        "kind": "class",
        "assembly": NPM_PACKAGE,
        "base": f"cdktf.{parent}",
        "initializer": {"parameters": _parameters(*parameters)},
        "methods": [assign, *methods],
    }


_IMPORTABLE: Final = {
    "name": "importable",
    "static": True,
    "parameters": _parameters("scope", "id", "type", "import_id", "provider?"),
    "returns": {"type": {"fqn": "cdktf.ImportableResource"}},
}
_CLASSES: Final = {
    "Resource": _class(
        "TerraformResource",
        *("scope", "id", "type", "attributes", "place?", "meta?"),
        methods=(_IMPORTABLE,),
    ),
    "DataSource": _class("TerraformDataSource", "scope", "id", "type", "attributes", "meta?"),
    "Provider": _class("TerraformProvider", "scope", "id", "attributes", "alias?"),
}


def pack() -> bytes:
    """Return the package as npm packs one: the same bytes each time."""
    named = {"name": NPM_PACKAGE, "version": _VERSION}
    provider = {"name": PROVIDER_NAME, "source": PROVIDER_SOURCE, "version": PROVIDER_VERSION}
    frameworks = ("cdktf", "constructs")
    manifest = {
        **named,
        "schema": "jsii/0.10.0",
        "jsiiVersion": "1.0.0",
        "dependencies": dict.fromkeys(frameworks, "*"),
        "dependencyClosure": {framework: {} for framework in frameworks},
        "types": {
            f"{NPM_PACKAGE}.{name}": {**described, "name": name, "fqn": f"{NPM_PACKAGE}.{name}"}
            for name, described in _CLASSES.items()
        },
    }
    files = {
        "package.json": json.dumps({**named, "main": "elements.js", "provider": provider}),
        ".jsii": json.dumps(manifest),
        "elements.js": resources.files(__package__).joinpath("_elements.js").read_text("utf-8"),
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in files.items():
            content = text.encode()
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    # Without the time: jsii knows a package again by its bytes, and keeps what it has unpacked.
    return gzip.compress(packed.getvalue(), mtime=0)


def load() -> None:
    """Have jsii load the package; once, before the program makes its first token."""
    # jsii has unpacked the file when `jsii.load` returns.
    with tempfile.TemporaryDirectory(prefix="opsconsole-") as folder:
        package = Path(folder, "elements.tgz")
        package.write_bytes(pack())
        jsii.load(NPM_PACKAGE, _VERSION, str(package))
