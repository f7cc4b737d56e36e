"""The provider's archive for this machine's platform: an executable that needs no Python.

PyInstaller puts the provider, its packages and Python itself into one folder. The folder is not
packed into one file, because that file would unpack itself at each of the three or four starts of
a Terraform run.
"""

from __future__ import annotations

import ast
import os
import platform
import shutil
import subprocess
import sysconfig
import zipfile
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

from scripts.release.environments import packages_folder
from scripts.setup import ROOT

from opsconsole import __version__
from opsconsole.cli.provider_install import platforms

NAME = "terraform-provider-opsconsole"
_ENTRY = """\
import sys
from opsconsole.terraform.main import main
sys.exit(main())
"""
LEFT_OUT = (
    *("PyInstaller", "_distutils_hack", "pip", "pydoc", "setuptools", "tkinter", "unittest"),
    # Packages of the commands. Libraries of the provider import some where they find them.
    *("pygments", "rich", "uvloop"),
)
_OLDEST = (1980, 1, 1, 0, 0, 0)
"""The time of every member: the same content gives the same archive."""


def this_platform() -> str:
    """Return this machine's platform in Terraform's words, such as `linux_amd64`."""
    found = platforms()
    return next((name for name in found if platform.machine() in name), found[0])


def freeze(python: Path, work: Path) -> Path:
    """Return a folder with the executable and all that it needs.

    Args:
        python: An environment that has the wheel with the extra `terraform`, and PyInstaller.
        work: A folder for files on the way.
    """
    work.mkdir(parents=True, exist_ok=True)
    entry = work / "entry.py"
    entry.write_text(_ENTRY)
    executable = f"{NAME}_v{__version__}"
    command = [str(python), "-m", "PyInstaller", "--noconfirm", "--onedir", "--log-level=WARN"]
    command += [f"--name={executable}", f"--distpath={work / 'frozen'}", f"--workpath={work}/build"]
    command += [f"--specpath={work}"]
    # What is imported by its name.
    command.append("--collect-submodules=opsconsole.resources")
    command += [f"--exclude-module={name}" for name in LEFT_OUT]
    # Both make the same input give the same bytes.
    environment = {**os.environ, "PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": "315532800"}
    subprocess.run([*command, str(entry)], check=True, env=environment)
    frozen = work / "frozen" / executable
    if shutil.which("strip"):
        for library in (frozen / "_internal").glob("libpython*.so*"):
            subprocess.run(["strip", "--strip-unneeded", str(library)], check=True)
    return frozen


def carried_packages(python: Path, work: Path) -> set[str]:
    """Return the distributions of the environment that `freeze` put into its folder, by name."""
    (listing,) = (work / "build").rglob("PYZ-00.toc")
    modules = {entry[0].partition(".")[0] for entry in ast.literal_eval(listing.read_text())[1]}
    found = Distribution.discover(path=[str(packages_folder(python))])
    return {
        str(item.metadata["Name"]).lower()
        for item in found
        if modules & {Path(file).parts[0].removesuffix(".py") for file in item.files or ()}
    }


def add_licenses(frozen: Path, python: Path, packages: set[str]) -> None:
    """Put the licenses of this project, of Python and of `packages` beside the executable."""
    for name in ("LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, frozen / name)
    folder = frozen / "licenses"
    folder.mkdir(exist_ok=True)
    own = Path(sysconfig.get_path("stdlib")) / "LICENSE.txt"
    if own.is_file():
        shutil.copy(own, folder / "Python.txt")
    for information in sorted(packages_folder(python).glob("*.dist-info")):
        if PathDistribution(information).metadata["Name"].lower() not in packages:
            continue
        for text in sorted(information.rglob("*")):
            if text.is_file() and text.name.upper().startswith(("LICEN", "NOTICE", "COPYING")):
                kept = "-".join(text.relative_to(information).parts)
                shutil.copy(text, folder / f"{information.stem}-{kept}")


def pack(frozen: Path, archive: Path) -> None:
    """Write the folder's files into a zip, in a fixed order and with fixed times."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for path in sorted(frozen.rglob("*")):
            if path.is_file():
                member = zipfile.ZipInfo(path.relative_to(frozen).as_posix(), _OLDEST)
                member.compress_type = zipfile.ZIP_DEFLATED
                mode = 0o755 if os.access(path, os.X_OK) else 0o644
                member.external_attr = (0o100000 | mode) << 16
                target.writestr(member, path.read_bytes())
