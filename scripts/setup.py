"""Makes .venv (and node_modules, where npm exists) from the locks; only the standard library here.

Packages are downloaded once, by pip with the user's own pip settings, into a store of wheels that
all checkouts share; every installation is made from that store, so it works without a network.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_STAMP = VENV / ".setup-stamp"
NODE_STAMP = ROOT / "node_modules" / ".setup-stamp"
LOCK = ROOT / "requirements.lock"
SOURCES_ONLY = "python-terraform"
"""The one package that has no wheel; uv builds it with the setuptools of the lock."""
SOURCES = ("provider", "constructs")
COMMANDS = ("opsconsole", "terraform-provider-opsconsole", "pytest", "ruff", "mypy")
NPM_TRIES = ("--fetch-retries=1", "--fetch-timeout=60000")


class SetupFailed(Exception):
    """Setup cannot go on; the message says why and what helps."""


def digest(*parts: str | Path) -> str:
    """Hash texts and files into one hexadecimal word."""
    total = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else part.encode()
        total.update(hashlib.sha256(data).digest())
    return total.hexdigest()


def matches(stamp: Path, wanted: str) -> bool:
    """Tell whether `stamp` was written for `wanted`."""
    return stamp.is_file() and stamp.read_text() == wanted


def say(text: str) -> None:
    """Print one line at once, so that it comes before what a child process prints."""
    print(f"setup: {text}", flush=True)


def run(*command: str | Path) -> None:
    """Run `command` in the checkout.

    Raises:
        SetupFailed: it could not be started, or exited other than 0.
    """
    words = [str(word) for word in command]
    try:
        subprocess.run(words, check=True, cwd=ROOT)
    except (OSError, subprocess.CalledProcessError) as cause:
        raise SetupFailed(f"`{' '.join(words[:4])} …` failed: {cause}") from cause


def cache() -> Path:
    """Find the folder that checkouts share; one inside the checkout if that cannot be written."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    shared = Path(home) / "opsconsole"
    try:
        shared.mkdir(parents=True, exist_ok=True)
    except OSError:
        shared = ROOT / "build" / "cache"
        shared.mkdir(parents=True, exist_ok=True)
    return shared if os.access(shared, os.W_OK) else ROOT / "build" / "cache"


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the lock of `folder`: two setups at once would write into the same files."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def python_in_venv() -> Path:
    """Return the path of the virtual environment's interpreter."""
    return VENV / "bin" / "python"


def make_venv() -> None:
    """Create .venv, or keep one that was made here with this very Python."""
    python = python_in_venv()
    if python.exists():
        probe = "import sys; print(sys.version, sys.prefix)"
        seen = subprocess.run([python, "-I", "-c", probe], capture_output=True, text=True)
        if seen.stdout.strip() == f"{sys.version} {VENV}":
            return
    say(f"making {VENV} with Python {sys.version.split()[0]}")
    base = getattr(sys, "_base_executable", sys.executable)
    try:
        run(base, "-m", "venv", "--clear", VENV)
    except SetupFailed as failed:
        raise SetupFailed(
            f"{failed}\nPython's own modules `venv` and `ensurepip` are needed; on Debian and "
            "Ubuntu they are in the package python3-venv."
        ) from failed


def download(wheels: Path, complete: Path) -> None:
    """Fetch what the lock names and the store has not, each file checked against its hash."""
    say("downloading packages (once; later setups use them without a network)")
    pip = (python_in_venv(), "-m", "pip", "--disable-pip-version-check", "--no-input")
    only = ("--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-binary", SOURCES_ONLY)
    run(*pip, "download", "-qq", *only, "--requirement", LOCK, "--dest", wheels)
    complete.touch()


def install(wheels: Path) -> None:
    """Bring .venv to exactly what the lock names, and this checkout into it, editable."""
    pip = (python_in_venv(), "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet")
    here = ("--no-index", "--find-links", str(wheels))
    pins = LOCK.read_text().splitlines()
    uv_pin = next(line.split()[0] for line in pins if line.startswith("uv=="))
    run(*pip, "install", "--no-deps", *here, uv_pin)
    uv = (VENV / "bin" / "uv", "pip")
    unpacked = ("--cache-dir", wheels.parent / "uv")
    into = ("--quiet", "--python", python_in_venv(), "--no-config", *unpacked, *here)
    run(*uv, "install", *into, "--compile-bytecode", "--no-deps", "--requirement", LOCK)
    # Only now is the tool there that builds this checkout. What the lock does not name goes.
    locked = ("--exact", "--requirement", LOCK, "--no-build-isolation", "--editable", ROOT)
    run(*uv, "install", *into, *locked)


def install_python(shared: Path) -> None:
    """Make .venv; a store that turns out damaged is downloaded again, once."""
    started = time.monotonic()
    make_venv()
    wheels = shared / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    complete = shared / f"complete-{digest(LOCK, sys.version, sys.platform, os.uname().machine)}"
    fetched = not complete.exists()
    if fetched:
        download(wheels, complete)
    say("installing packages")
    try:
        install(wheels)
    except SetupFailed:
        if fetched:
            raise
        complete.unlink()
        download(wheels, complete)
        install(wheels)
    # A provider without .pyc files would start 100 ms later, and Terraform starts it often.
    run(python_in_venv(), "-m", "compileall", "-q", *SOURCES)
    say(f"Python packages are ready ({time.monotonic() - started:.0f} s)")


class Cdktf:
    """Installs the cdktf command from package-lock.json, while pip installs the Python packages.

    Args:
        npm: The program; None: there is nothing to install.
    """

    def __init__(self, npm: str | None) -> None:
        self.started = time.monotonic()
        self._process: subprocess.Popen[bytes] | None = None
        if npm is None:
            return
        say("installing the cdktf command with npm")
        options = ("--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund")
        command = (npm, "ci", *options, "--no-update-notifier", *NPM_TRIES, "--loglevel=error")
        # Its output would mix with that of pip, so it is kept until npm has ended.
        try:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        except OSError as cause:
            self._left_out(f"{npm} cannot be started: {cause}")

    def __enter__(self) -> Cdktf:
        return self

    def __exit__(self, *_: object) -> None:
        """End npm if it still runs."""
        if self._process is not None:
            if self._process.poll() is None:
                self._process.terminate()
            self._process.wait()

    def finished(self) -> bool:
        """Wait for npm; return whether it has installed the command.

        Raises:
            SetupFailed: It failed, and CI=true asks for everything.
        """
        if self._process is None:
            return False
        output = self._process.communicate()[0].decode(errors="replace").strip()
        if self._process.returncode == 0:
            say(f"cdktf is ready ({time.monotonic() - self.started:.0f} s)")
            return True
        self._left_out(f"`npm ci` exited with {self._process.returncode}:\n{output}")
        return False

    @staticmethod
    def _left_out(why: str) -> None:
        if os.environ.get("CI") == "true":
            raise SetupFailed(f"npm could not install the cdktf command: {why}")
        say(f"npm could not install the cdktf command, so it is left out: {why}")


def main() -> int:
    """Bring everything up to date; do nothing where the stamps say that it is."""
    facts = (str(ROOT), sys.version, sys.base_prefix)
    wanted = digest(*facts, ROOT / "pyproject.toml", LOCK, Path(__file__))
    tools = digest(ROOT / "package.json", ROOT / "package-lock.json")
    npm = shutil.which("npm")
    has_commands = all((VENV / "bin" / name).exists() for name in COMMANDS)
    python_ready = matches(VENV_STAMP, wanted) and has_commands
    has_cdktf = (ROOT / "node_modules" / ".bin" / "cdktf").exists()
    node_ready = npm is None or (matches(NODE_STAMP, tools) and has_cdktf)
    shared = cache()
    if not (python_ready and node_ready):
        with alone(shared), Cdktf(None if node_ready else npm) as cdktf:
            if not python_ready:
                VENV_STAMP.unlink(missing_ok=True)
                install_python(shared)
                VENV_STAMP.write_text(wanted)
            if cdktf.finished():
                NODE_STAMP.write_text(tools)
    # Also where nothing else changed: the constructs that it is made from may have been edited.
    run(sys.executable, "-I", ROOT / "scripts" / "cdktn_twin.py")
    if npm is None:
        say("npm is not on PATH: the cdktf command was left out (everything else works without)")
    say(f"{VENV.name} is up to date")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SetupFailed as failed:
        print(f"setup: {failed}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
