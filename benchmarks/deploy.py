"""`cdktf deploy`, the whole command: by the stand-in, beside Terraform, in turns in one run."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.figures import Figure, Section, faster
from benchmarks.processes import Cost, run
from benchmarks.terraform import environment
from opsconsole.cli.provider_install import CONFIGURATION, install
from opsconsole.emulator import spawn
from opsconsole.language import jsii_environment

HOSTS = 500
ROUNDS = 3
LEAST = 5
ROOT = Path(__file__).resolve().parents[1]

_PROGRAM = """\
from cdktf import App, TerraformStack
from opsconsole_cdktf import Host, OpsconsoleProvider

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole")
for number in range({count}):
    Host(stack, f"host-{{number}}", name=f"host-{{number}}", tags=["site:north", "role:web"])
app.synth()
"""
_APP = {"language": "python", "sendCrashReports": "false", "projectId": "bench", "context": {}}


def find_cdktf() -> Path | None:
    """Return the cdktf command, if there is one."""
    folder = ROOT / "node_modules" / ".bin"
    found = shutil.which("cdktf", path=f"{folder}{os.pathsep}{os.environ.get('PATH', '')}")
    return Path(found) if found else None


def section(terraform: Path | None, hosts: int = HOSTS) -> Section:
    """Measure both, if both are there."""
    cdktf = find_cdktf()
    title = f"`cdktf deploy` of {hosts:,} hosts, from the command's start to its end"
    if cdktf is None or terraform is None:
        return Section(title, [], "cdktf or Terraform is missing: nothing was measured.")
    with tempfile.TemporaryDirectory(prefix="opsconsole-bench-") as cache:
        ours = [
            _deploy(cdktf, "opsconsole-terraform", hosts, cache).wall_seconds for _ in range(ROUNDS)
        ]
        theirs = _deploy(cdktf, str(terraform), hosts, cache).wall_seconds
    figure: Figure = faster(
        "by opsconsole-terraform, beside Terraform", statistics.median(ours), theirs, LEAST
    )
    return Section(title, [figure], "Half of ours is cdktf's own: its start, and synthesis.")


def _deploy(cdktf: Path, terraform: str, hosts: int, cache: str) -> Cost:
    """Deploy to an empty console.

    Args:
        cache: Where jsii keeps what it has unpacked, which it does once on a machine.
    """
    with tempfile.TemporaryDirectory(prefix="opsconsole-bench-") as scratch, spawn() as console:
        home = Path(scratch)
        folder = home / "program"
        folder.mkdir()
        (folder / "main.py").write_text(_PROGRAM.format(count=hosts))
        app = {**_APP, "app": f"{sys.executable} main.py"}
        (folder / "cdktf.json").write_text(json.dumps(app))
        install(home / "plugins")
        variables = environment(
            home,
            home / "plugins" / CONFIGURATION,
            OPSCONSOLE_BASE_URL=console.base_url,
            OPSCONSOLE_API_KEY=console.api_key,
            TERRAFORM_BINARY_NAME=terraform,
            PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
            CDKTF_HOME=str(home / ".cdktf"),
            DISABLE_VERSION_CHECK="1",
            JSII_RUNTIME_PACKAGE_CACHE_ROOT=cache,
        )
        variables |= jsii_environment()
        words = ("deploy", "--auto-approve", "--skip-provider-lock")
        return run([cdktf, *words], folder, variables)
