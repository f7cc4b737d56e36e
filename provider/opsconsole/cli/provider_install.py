"""`opsconsole provider install`: puts the provider where `terraform init` finds it by itself.

What Terraform must be told to find it is said here; the files are written by `mirror`.
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from opsconsole import __version__
from opsconsole.address import SOURCE
from opsconsole.cli.command_line import Parser
from opsconsole.cli.mirror import CONFIGURATION, configuration, install


def register(parser: Parser) -> None:
    """Describe the command and add its verb."""
    example = "opsconsole provider install && terraform init"
    parser.describe("Install the Terraform provider.", example=example)
    verb = parser.add_verb(
        "install",
        run,
        "Put a launcher of the provider where `terraform init`, `tofu init` and `cdktf get` find "
        "it without a registry. May be repeated; versions are kept side by side.",
        example=example,
    )
    verb.add_argument(
        "--plugin-dir",
        type=Path,
        metavar="DIR",
        help="the filesystem mirror to put it into; by default the one that Terraform reads "
        "without being told: ~/.terraform.d/plugins",
    )


def run(args: argparse.Namespace) -> int:
    """Install, and print what else is needed; return the exit code."""
    folder = args.plugin_dir or default_folder(os.environ)
    launchers = install(folder)
    print(f"Installed {SOURCE} {__version__}:")
    for launcher in launchers:
        print(f"  {launcher}")
    print(advice(folder, os.environ))
    return 0


def default_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of plugins in Terraform's own configuration folder."""
    home = environment.get("HOME")
    return (Path(home) if home else Path.home()) / ".terraform.d" / "plugins"


def implied_folders(environment: Mapping[str, str]) -> list[Path]:
    """Return every folder that Terraform reads without being told (implied local mirrors)."""
    default = default_folder(environment)
    home = default.parent.parent
    data = [environment.get("XDG_DATA_HOME") or str(home / ".local" / "share")]
    data += (environment.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":")
    return [
        default,
        Path.cwd() / "terraform.d" / "plugins",
        *(Path(folder) / "terraform" / "plugins" for folder in data if folder),
    ]


def advice(folder: Path, environment: Mapping[str, str]) -> str:
    """Say what Terraform must be told, if anything, to find the provider in `folder`."""
    settings = settings_file(environment)
    reads = "Terraform and OpenTofu look there by themselves: run `terraform init`."
    if folder.absolute() in implied_folders(environment):
        if settings is None:
            return reads
        why = (
            f"{settings} has a provider_installation block, "
            "so Terraform looks only where that says."
        )
    else:
        why = "Terraform does not look there by itself."
    setting = f"export TF_CLI_CONFIG_FILE={shlex.quote(str(folder.absolute() / CONFIGURATION))}"
    lines = configuration(folder).replace("\n", "\n  ").rstrip()
    return f"{why} Set\n\n  {setting}\n\nor have this in your own CLI configuration:\n\n  {lines}"


def settings_file(environment: Mapping[str, str]) -> Path | None:
    """Return the user's CLI configuration, if it says where providers are installed from."""
    home = default_folder(environment).parent.parent
    named = environment.get("TF_CLI_CONFIG_FILE")
    files = [Path(named)] if named else [home / ".terraformrc", home / ".tofurc"]
    for file in files:
        try:
            if "provider_installation" in file.read_text():
                return file
        except OSError:
            continue  # a file that Terraform cannot read either says nothing
    return None
