"""`opsconsole provider install`: puts the provider where `terraform init` finds it by default.

The provider is in a filesystem mirror: DIR/HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/. A package holds
one launcher whose text depends only on the version. Terraform records a hash of the package in
.terraform.lock.hcl, which people commit: it must be the same on every machine. The path of this
machine's Python is therefore in a file beside the package.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path

from opsconsole import __version__
from opsconsole.address import DEFAULT_HOSTS, SOURCE
from opsconsole.errors import UserError
from opsconsole.local_terraform import platform_name
from opsconsole.user_files import replace_file

CONFIGURATION = "opsconsole.tfrc"
"""The file in the mirror's root that makes Terraform read it."""

_PYTHON_FLAGS = "-E -P"
"""With these, PYTHON… variables and files in the working directory cannot affect imports."""

_LAUNCHER = """\
#!/bin/sh
# Starts the Terraform provider {source}, version {version}, which is written in Python.
# Terraform links to this folder; the file beside it names the Python that has the provider.
package="${{0%/*}}"
for named in "$package"/../*.python; do
  if [ -r "$named" ] && IFS= read -r python <"$named" && [ -x "$python" ]; then
    exec "$python" {flags} -c 'from opsconsole.terraform.main import main; raise SystemExit(main())'
  fi
done
if command -v {command} >/dev/null; then
  exec {command}
fi
echo "The Python that had the provider {source} {version} is gone: run" >&2
echo "\\`opsconsole provider install\\` again." >&2
exit 1
"""

_COMMAND = "terraform-provider-opsconsole"

_IMPORTS = "import opsconsole.terraform.main, opsconsole.terraform.serving"
"""What the provider imports before it serves; the second one needs the extra `terraform`."""

_SYSTEMS = ("Linux", "Darwin", "FreeBSD", "OpenBSD")


def run(args: argparse.Namespace) -> int:
    folder = args.plugin_dir or default_folder()
    launchers = install(folder)
    print(f"Installed {SOURCE} {__version__}:")
    for launcher in launchers:
        print(f"  {launcher}")
    print(configuration_advice(folder))
    return 0


def default_folder() -> Path:
    home = os.environ.get("HOME")
    return (Path(home) if home else Path.home()) / ".terraform.d" / "plugins"


def implied_folders() -> list[Path]:
    """Return every folder that Terraform reads by default (implied local mirrors)."""
    default = default_folder()
    home = default.parent.parent
    data = [os.environ.get("XDG_DATA_HOME") or str(home / ".local" / "share")]
    data += (os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":")
    return [
        default,
        Path.cwd() / "terraform.d" / "plugins",
        *(Path(folder) / "terraform" / "plugins" for folder in data if folder),
    ]


def configuration_advice(folder: Path) -> str:
    """Say which setting Terraform needs, if any, to find the provider in `folder`."""
    settings = settings_file()
    reads = "Terraform and OpenTofu look there by default: run `terraform init`."
    if folder.absolute() in implied_folders():
        if settings is None:
            return reads
        why = (
            f"{settings} has a provider_installation block, "
            "so Terraform looks only where that says."
        )
    else:
        why = "Terraform does not look there by default."
    setting = f"export TF_CLI_CONFIG_FILE={shlex.quote(str(folder.absolute() / CONFIGURATION))}"
    lines = configuration(folder).replace("\n", "\n  ").rstrip()
    return f"{why} Set\n\n  {setting}\n\nor add this to your own CLI configuration:\n\n  {lines}"


def settings_file() -> Path | None:
    """Return the user's CLI configuration, if it sets the source of providers."""
    home = default_folder().parent.parent
    named = os.environ.get("TF_CLI_CONFIG_FILE")
    files = [Path(named)] if named else [home / ".terraformrc", home / ".tofurc"]
    for file in files:
        try:
            if b"provider_installation" in file.read_bytes():
                return file
        except OSError:
            continue  # Terraform cannot read this file either
    return None


def install(folder: Path, python: str = sys.executable) -> list[Path]:
    """Write the launchers of this version into the mirror `folder`; return their paths.

    Raises:
        UserError: The platform has no Terraform that could run it, `python` cannot import the
            provider, or the folder cannot be written.
    """
    _check_import(python)
    paths = launchers(folder)
    text = _LAUNCHER.format(
        source=SOURCE, version=__version__, flags=_PYTHON_FLAGS, command=_COMMAND
    )
    try:
        for launcher in paths:
            package = launcher.parent
            _write(launcher, text, 0o755)
            _write(package.with_name(f"{package.name}.python"), f"{python}\n", 0o644)
        _write(folder / CONFIGURATION, configuration(folder), 0o644)
    except OSError as cause:
        raise UserError(
            f"{folder} cannot be written: {cause.strerror or cause}.",
            "Name another folder with --plugin-dir.",
        ) from cause
    return paths


def launchers(folder: Path) -> list[Path]:
    """Return the paths of this version's launchers in the mirror `folder`, once installed."""
    # A source without a host means the registry of Terraform or that of OpenTofu.
    return [
        folder.absolute() / host / SOURCE / __version__ / system / f"{_COMMAND}_v{__version__}"
        for host in DEFAULT_HOSTS
        for system in platforms()
    ]


def platforms(system: str = "", machine: str = "") -> list[str]:
    """Return Terraform's words for this machine, such as `linux_amd64`; Macs have two."""
    system = system or platform.system()
    machine = machine or platform.machine()
    if system not in _SYSTEMS:
        raise UserError(
            f"The provider does not run on {system}: it serves Terraform on a unix socket.",
            "On Windows, use it in WSL.",
        )
    if system == "Darwin":
        # A Terraform made for the other processor runs on a Mac as well.
        return ["darwin_amd64", "darwin_arm64"]
    return [platform_name(system, machine)]


def configuration(folder: Path) -> str:
    """Return the CLI configuration that makes Terraform read the provider from `folder`."""
    path = str(folder.absolute()).replace("\\", "\\\\").replace('"', '\\"')
    return f"""\
provider_installation {{
  filesystem_mirror {{
    path    = "{path}"
    include = ["{SOURCE}"]
  }}
  direct {{
    exclude = ["{SOURCE}"]
  }}
}}
"""


def _check_import(python: str) -> None:
    command = [python, *_PYTHON_FLAGS.split(), "-c", _IMPORTS]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, cwd="/")
        lines = finished.stderr.strip().splitlines() or [f"it exits with {finished.returncode}"]
        problem = lines[-1] if finished.returncode else ""
    except OSError as cause:
        problem = str(cause)
    if problem:
        raise UserError(
            f"{python} cannot start the provider: {problem}.",
            "Install 'opsconsole[terraform]' into a virtual environment, and run its `opsconsole`.",
        )


def _write(file: Path, text: str, mode: int) -> None:
    same = file.is_file() and file.read_bytes() == text.encode()
    if same and file.stat().st_mode & 0o777 == mode:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, text, mode)
