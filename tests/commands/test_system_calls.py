"""A call of the system that fails, is cut short or never returns, on state, journal and lock."""

import errno
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from declarations import agent_on
from patience import PATIENCE
from sampling import sample

SOURCE = Path(__file__).parents[1] / "support" / "failing_calls.c"
COMPILER = shutil.which("cc") if sys.platform == "linux" else None
NAMES = ("a", "b", "c")
HOWS = ("EIO", "ENOSPC", "EROFS", "ENOSPC from then on", "EROFS from then on", "short", "kill")
MOST_CALLS = 40
"""A run that nothing meets makes about so many."""
CELLS = list(product(("create", "change", "destroy"), HOWS, range(1, MOST_CALLS + 1)))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The library that meets the calls."""
    library = tmp_path_factory.mktemp("library") / "failing_calls.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    return library


def declare(names=NAMES, **fields):
    return {
        "opsconsole_host": {name: {"name": f"host-{name}", **fields} for name in names},
        "opsconsole_agent": {name: agent_on(name, f"agent-{name}") for name in names},
    }


def settle(native, text):
    """Say of each create of unknown outcome whether it took place, as the run asked for."""
    for address in set(re.findall(r"known whether (\S+) was created", text)):
        native.run("state", "rm", address)
        name = address.rpartition(".")[2]
        for row in native.console.rows("agents"):
            if row["name"] == f"agent-{name}" and row["status"] != "archived":
                native.run("import", address, row["id"])


@pytest.mark.skipif(COMPILER is None, reason="no C compiler, or not Linux")
@pytest.mark.meetings
@pytest.mark.parametrize(("kind", "how", "number"), sample(CELLS, 6))
def test_nothing_is_lost_or_created_twice(native, library, request, kind, how, number):
    print(f"OPSCONSOLE_TEST_EVERYTHING=1 pytest '{__file__}::{request.node.name}'")
    native.write(declare())
    wanted = NAMES
    if kind != "create":
        native.run("apply", "-auto-approve")
        wanted = NAMES[1:] if kind == "change" else ()
        native.write(declare(wanted, knowledge="new"))
    error, _, on = how.partition(" ")
    which = {"CALLS_AT": str(number), "CALLS_HOW": str(getattr(errno, error, error))}
    environment = {"LD_PRELOAD": str(library), "CALLS_BELOW": str(native.folder), **which}
    if on:
        environment["CALLS_ON"] = "1"
    environment = os.environ | native.console.environment | environment
    with native.start("apply", "-auto-approve", env=environment) as run:
        text = "".join(run.communicate(timeout=PATIENCE))
    if how != "kill":
        assert run.returncode in (0, 1, 75) and "Traceback" not in text, text
        assert "unexpected" not in text.lower(), text
    rescued = native.folder / "errored.tfstate"
    if rescued.exists():
        assert rescued.name in text, text
        native.run("state", "push", str(rescued))
    again = native.run("apply", "-auto-approve", expect=None)
    if again.code:
        settle(native, again.text)
        native.run("apply", "-auto-approve")
    assert native.actions() == {}
    for collection, word in (("hosts", "host"), ("agents", "agent")):
        rows = [row for row in native.console.rows(collection) if row["name"].startswith(word)]
        names = Counter(row["name"] for row in rows if row.get("status") != "archived")
        assert names == Counter(f"{word}-{name}" for name in wanted)
