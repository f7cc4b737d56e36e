"""`python -m scripts.release [DIST]`: builds all that is published, and prints sizes and times."""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path

from scripts.release.archive import add_licenses, carried_packages, freeze, pack, this_platform
from scripts.release.bill import write_bill
from scripts.release.environments import installed_bytes, make_environment, run
from scripts.release.handshake import STARTS, handshake_milliseconds
from scripts.release.publication import STEM, write_manifest, write_mirror, write_sums
from scripts.setup import ROOT

from opsconsole import __version__

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = tuple(PROJECT["optional-dependencies"])


def say(text: str) -> None:
    """Print a step at once: the whole takes minutes."""
    print(f"release: {text}", flush=True)


def build_packages(dist: Path) -> Path:
    """Build wheel and sdist, have twine check them; return the wheel."""
    say("building wheel and sdist")
    shutil.rmtree(dist, ignore_errors=True)
    tools = ROOT / ".venv" / "bin"
    run(tools / "python", "-m", "hatchling", "build", "--directory", dist)
    wheel = dist / f"opsconsole-{__version__}-py3-none-any.whl"
    run(tools / "twine", "check", "--strict", wheel, dist / f"opsconsole-{__version__}.tar.gz")
    return wheel


def build_provider(dist: Path, work: Path, wheel: Path) -> Path:
    """Build the archive for this platform with its bill; return the folder that is inside."""
    say(f"freezing the provider for {this_platform()} (PyInstaller, a minute or more)")
    # The tool that freezes is not part of what is frozen.
    plain = make_environment(work / "provider", wheel, "terraform")
    python = make_environment(work / "freezing", wheel, "terraform", ("pyinstaller",))
    frozen = freeze(python, work)
    packages = carried_packages(plain, work)
    add_licenses(frozen, plain, packages)
    stem = f"{STEM}_{this_platform()}"
    pack(frozen, dist / f"{stem}.zip")
    write_bill(plain, dist / f"{stem}.cdx.json", frozen, packages)
    return frozen


def print_sizes(work: Path, wheel: Path) -> None:
    """Print what an installation with each extra takes."""
    say("installing each extra by itself, for its size")
    for extra in ("", *EXTRAS):
        size = installed_bytes(make_environment(work / "sizes", wheel, extra))
        print(f"installed opsconsole{f'[{extra}]' if extra else '':<12} {size / 1e6:6.0f} MB")


def main(dist: Path) -> None:
    """Build everything into `dist`."""
    work = ROOT / "build" / "release"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    wheel = build_packages(dist)
    say("installing all extras, for the bill of materials")
    write_bill(
        make_environment(work / "all", wheel, ",".join(EXTRAS)),
        dist / f"opsconsole-{__version__}.cdx.json",
    )
    frozen = build_provider(dist, work, wheel)
    say("writing manifest, sums and mirror")
    write_manifest(dist)
    write_sums(dist)
    write_mirror(dist)
    print_sizes(work, wheel)
    unpacked = sum(path.stat().st_size for path in frozen.rglob("*") if path.is_file())
    archive = dist / f"{STEM}_{this_platform()}.zip"
    print(
        f"{archive.name}: {archive.stat().st_size / 1e6:.0f} MB, {unpacked / 1e6:.0f} MB unpacked"
    )
    say("measuring the handshake")
    start = handshake_milliseconds(frozen / frozen.name)
    print(
        f"handshake: {start.fastest:.0f} ms the fastest of {STARTS}, "
        f"{start.median:.0f} ms the median, {start.cpu_median:.0f} ms of CPU time"
    )
    for path in sorted(path for path in dist.iterdir() if path.is_file()):
        print(f"{path.stat().st_size:>11,}  {path.relative_to(dist.parent)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if sys.argv[1:] else ROOT / "dist")
