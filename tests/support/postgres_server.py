"""A real PostgreSQL for tests, on a unix socket of its own. It ends by itself."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from patience import until
from real_programs import do_without


@contextmanager
def running_postgres() -> Iterator[str]:
    """Run a server for the block; yield its connection string.

    Where PostgreSQL is not installed the test is skipped; with CI=true it fails.
    """
    programs = [shutil.which(name) for name in ("initdb", "postgres", "timeout")]
    if None in programs:
        do_without("PostgreSQL is not installed")
    initdb, server, timeout = map(str, programs)
    who = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    try:
        if who:
            os.chown(folder, who["user"], who["group"])
        quiet: dict[str, Any] = {**who, "stdout": subprocess.DEVNULL, "cwd": "/"}
        make = [initdb, "-D", f"{folder}/data", "-U", "tf", "--auth=trust", "--no-sync"]
        subprocess.run(make, check=True, stderr=subprocess.PIPE, **quiet)
        # The role `guarded` needs a password, which shows what a wrong one does.
        rules = "local all guarded scram-sha-256\nlocal all all trust\n"
        (folder / "data" / "pg_hba.conf").write_text(rules)
        options = ["-k", str(folder), "-h", "", "-p", "5432", "-F"]
        command = [timeout, "-s", "INT", "3600", server, "-D", f"{folder}/data", *options]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, **quiet)
        try:
            until(lambda: _is_ready(process, folder / "data" / "postmaster.pid"))
            yield f"host={folder} user=tf dbname=postgres sslmode=disable"
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=300)
    finally:
        shutil.rmtree(folder)


def _is_ready(process: subprocess.Popen[bytes], note: Path) -> bool:
    """Tell whether the server takes connections: its socket is there before it does."""
    assert process.poll() is None, "the server ended"
    return note.exists() and note.read_text().rstrip().endswith("ready")


def _unprivileged() -> dict[str, Any]:
    """Return how to start PostgreSQL, which refuses to run as root."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    return do_without("PostgreSQL needs a user other than root")
