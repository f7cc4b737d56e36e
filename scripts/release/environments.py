"""Virtual environments made from the wheel alone, out of the packages that the lock names."""

from __future__ import annotations

import subprocess
from pathlib import Path

from scripts.setup import ROOT, cache

LOCK = ROOT / "requirements.lock"
UV = ROOT / ".venv" / "bin" / "uv"


def make_environment(
    folder: Path, wheel: Path, extras: str = "", tools: tuple[str, ...] = ()
) -> Path:
    """Install `wheel` with `extras` (`cdktf,emulator`) and `tools` into a new environment.

    Nothing of this checkout gets in but the wheel; the versions are those of requirements.lock.
    Returns the environment's Python.
    """
    python = folder / "bin" / "python"
    shared = cache()
    store = ("--no-index", "--find-links", str(shared / "wheels"))
    quiet = ("--quiet", "--no-config", "--cache-dir", str(shared / "uv"))
    base = ROOT / ".venv" / "bin" / "python"
    run(UV, "venv", *quiet, "--clear", "--python", base, folder)
    wanted = (
        f"opsconsole[{extras}] @ {wheel.as_uri()}" if extras else f"opsconsole @ {wheel.as_uri()}"
    )
    run(UV, "pip", "install", *quiet, *store, "--python", python, "-c", LOCK, wanted, *tools)
    return python


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command that must succeed; return what it prints."""
    seen = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True)
    if seen.returncode:
        raise SystemExit(
            f"release: `{' '.join(map(str, command[:4]))} …` failed:\n{seen.stdout}{seen.stderr}"
        )
    return seen.stdout


def packages_folder(python: Path) -> Path:
    """Return the folder in which the environment of `python` has its packages."""
    (folder,) = (python.parent.parent / "lib").glob("python*/site-packages")
    return folder


def installed_bytes(python: Path) -> int:
    """Return the size of the environment's packages in bytes, compiled files left out."""
    files = (path for path in packages_folder(python).rglob("*") if path.suffix != ".pyc")
    return sum(path.stat().st_size for path in files if path.is_file())
