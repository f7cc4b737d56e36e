"""Which Node a CDKTF program is given."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from opsconsole.jsii_node import OLDEST, jsii_environment, packaged_node


def node(folder: Path, version: str, code: int = 0) -> str:
    """Make a `node` that tells `version`; return the PATH that finds it."""
    program = folder / "node"
    program.write_text(f"#!/bin/sh\necho {version}\nexit {code}\n")
    program.chmod(0o755)
    return str(folder)


def test_the_package_brings_a_node_that_runs() -> None:
    found = packaged_node()
    assert found is not None
    told = subprocess.run([found, "--version"], capture_output=True, text=True, check=True)
    assert int(told.stdout.lstrip("v").partition(".")[0]) >= OLDEST


def test_a_node_on_path_that_serves_is_left_alone(tmp_path: Path) -> None:
    assert "JSII_NODE" not in jsii_environment({"PATH": node(tmp_path, f"v{OLDEST}.1.0")})


@pytest.mark.parametrize(
    ("version", "code"), [(f"v{OLDEST - 2}.9.9", 0), ("nonsense", 0), (f"v{OLDEST}.0.0", 1)]
)
def test_a_node_that_does_not_serve_is_passed_over(version: str, code: int, tmp_path: Path) -> None:
    added = jsii_environment({"PATH": node(tmp_path, version, code)})
    assert added["JSII_NODE"] == str(packaged_node())


def test_no_node_on_path(tmp_path: Path) -> None:
    assert jsii_environment({"PATH": str(tmp_path)})["JSII_NODE"] == str(packaged_node())


def test_what_the_user_named_is_kept() -> None:
    silence = "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION"
    added = jsii_environment({"JSII_NODE": "/mine", silence: "", "PATH": ""})
    assert "JSII_NODE" not in added
    assert silence not in added
