"""A folder of the demo's own, with the example in it, and the environment in which it runs."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opsconsole.cli.provider_install import CONFIGURATION
from opsconsole.emulator import Emulator
from opsconsole.language import jsii_environment

ROOT = Path(__file__).resolve().parents[2]
APP = Path("examples/fleet/main.py")
STACK = "fleet"
PLUGINS = "plugins"


@contextmanager
def folder() -> Iterator[Path]:
    """Copy the example into a folder that goes with the block."""
    with tempfile.TemporaryDirectory(prefix="opsconsole-demo-") as scratch:
        here = Path(scratch).resolve()
        (here / APP).parent.mkdir(parents=True)
        shutil.copy(ROOT / APP, here / APP)
        settings = json.loads((ROOT / "cdktf.json").read_text())
        settings["app"] = f'"{sys.executable}" {APP}'
        (here / "cdktf.json").write_text(json.dumps(settings, indent=2))
        yield here


def environment(here: Path, console: Emulator, terraform: Path | None) -> dict[str, str]:
    """Return the environment: this console, this provider, and nothing of the reader's own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TF_", "OPSCONSOLE_", "CDKTF_"))
    }
    named = {"TERRAFORM_BINARY_NAME": terraform.name} if terraform else {}
    return {
        **kept,
        **jsii_environment(),
        **console.environment,
        **named,
        "HOME": str(here),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', os.defpath)}",
        "TF_CLI_CONFIG_FILE": str(here / PLUGINS / CONFIGURATION),
        "TF_IN_AUTOMATION": "1",
        "CHECKPOINT_DISABLE": "1",
        "CDKTF_HOME": str(here / ".cdktf"),
        "DISABLE_VERSION_CHECK": "1",
    }
