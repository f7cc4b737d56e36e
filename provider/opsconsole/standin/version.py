"""`version`: in the words that clients look for. Nothing heavy is imported."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from opsconsole import __version__
from opsconsole.address import SOURCE
from opsconsole.standin.command_line import Call
from opsconsole.terraform_binary import TERRAFORM_VERSION, engine_of

_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def run(call: Call) -> int:
    selections = dict.fromkeys(_required_providers(Path.cwd()), __version__)
    machine = platform.machine().lower()
    system = f"{platform.system().lower()}_{_MACHINES.get(machine, machine)}"
    if call.on("json"):
        document = {
            "terraform_version": TERRAFORM_VERSION,
            "platform": system,
            "provider_selections": selections,
            "terraform_outdated": False,
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return 0
    lines = [f"Terraform v{TERRAFORM_VERSION}", f"on {system}"]
    lines += [f"+ provider {name} v{number}" for name, number in selections.items()]
    lines += [f"by opsconsole v{__version__}, its native engine"]
    sys.stdout.write("\n".join([*lines, ""]))
    return 0


def _required_providers(directory: Path) -> Iterator[str]:
    """Yield the address of our provider, if the program in a directory requires it."""
    for path in directory.glob("*.tf.json"):
        try:
            document = json.loads(path.read_bytes())
            settings = document.get("terraform") or {}
            for body in settings if isinstance(settings, list) else [settings]:
                for wanted in body["required_providers"].values():
                    if wanted["source"].endswith(SOURCE):
                        yield f"{engine_of(directory).host}/{SOURCE}"
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            # The verbs that need the file report its errors.
            continue
