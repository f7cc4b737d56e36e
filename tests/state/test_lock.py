"""The lock of a local state, beside other processes."""

import fcntl
import getpass
import json
import os
import re
import socket
from collections.abc import Callable
from subprocess import Popen

import pytest

from opsconsole.errors import UserError
from opsconsole.local_terraform import journal_of
from opsconsole.state import lock
from opsconsole.state.backend import LocalBackend
from opsconsole.state.lock import LockInfo, info_file
from patience import PATIENCE
from virtual_time import Clock

HOLD = """
import fcntl, os, sys
descriptor = os.open("terraform.tfstate", os.O_RDWR | os.O_CREAT, 0o666)
fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
print("held", flush=True)
sys.stdin.readline()
if "unlink" in sys.argv:
    os.unlink("terraform.tfstate")
os.close(descriptor)
"""

TRY = """
import fcntl, os
descriptor = os.open("terraform.tfstate", os.O_RDWR)
held = 0
for byte in (0, 9):
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except OSError:
        held += 1
print(["free", "in part", "held"][held])
"""


def excluded(python: Callable[..., Popen[str]]) -> bool:
    """Tell whether another process is refused the fcntl lock that Terraform takes."""
    out, err = python(TRY).communicate(timeout=PATIENCE)
    assert (err, out) in (("", "held\n"), ("", "free\n"))
    return out == "held\n"


def test_two_sessions_exclude_each_other_and_name_the_holder(
    session, state_path, monkeypatch, open_files
):
    with session(command="destroy"):
        with pytest.raises(
            UserError, match=r"locked by .+@.+, opsconsole destroy, since 20[\dT:-]+Z \(ID "
        ):
            session(command="plan")
        assert session(lock=False).state.empty
        note = info_file(state_path)
        assert note.name == ".terraform.tfstate.lock.info"
        assert note.stat().st_mode & 0o777 == 0o600
        found = json.loads(note.read_bytes())
    assert list(found) == ["ID", "Operation", "Who", "Version", "Created", "Path", "Info"]
    assert found["Operation"] == "opsconsole destroy"
    assert found["Path"] == str(state_path)
    assert found["Who"] == f"{getpass.getuser()}@{socket.gethostname()}"
    assert re.fullmatch(r"20[\dT:-]+\.\d{6}Z", found["Created"])
    assert not note.exists()
    monkeypatch.setattr(getpass, "getuser", {}.popitem)  # as for a user without a name
    with session(command="plan"):
        assert json.loads(note.read_bytes())["Who"] == f"{os.getuid()}@{socket.gethostname()}"
    assert open_files() == []


def test_lock_outlives_other_descriptors_of_the_file(session, state_path, python, host):
    with session() as held:
        held.state.put("opsconsole_host.a", host(1))
        os.close(os.open(state_path, os.O_RDONLY))
        state_path.read_bytes()
        assert excluded(python)
    assert not excluded(python)


@pytest.mark.parametrize("words", [(), ("unlink",)])
def test_waiting_ends_with_the_holder_even_if_it_removes_the_file(
    session, state_path, python, host, open_files, words
):
    holder = python(HOLD, *words)
    holder.stdout.readline()
    info_file(state_path).write_bytes(LockInfo(id="x", who="ada@engine").to_json())
    told: list[LockInfo] = []

    def release(info: LockInfo) -> None:
        told.append(info)
        holder.stdin.write("go\n")
        holder.stdin.flush()

    with session(timeout=PATIENCE, on_wait=release) as held:
        held.state.put("opsconsole_host.a", host(1))
        assert excluded(python)
    holder.communicate(timeout=PATIENCE)
    assert [info.who for info in told] == ["ada@engine"]
    assert b"hst_0001" in state_path.read_bytes()
    assert open_files() == []


def test_a_lock_on_a_file_that_has_just_been_removed_is_taken_anew(
    session, monkeypatch, open_files
):
    found = iter([False])
    monkeypatch.setattr(lock, "is_file", lambda *_: next(found, True))
    with session() as held:
        assert held.state.serial == 0
    assert (next(found, None), open_files()) == (None, [])


@pytest.mark.parametrize("note", [None, b"", b"{", b"[]", b'"x"', b'{"Who": "ada@engine"}'])
def test_a_forced_unlock_of_a_file_is_refused_and_names_the_holder(state_path, python, note):
    if note is not None:
        info_file(state_path).write_bytes(note)
    backend = LocalBackend(state_path)
    # The note of a process that was killed holds nothing.
    for file in (False, True):
        if file:
            state_path.touch()
        with pytest.raises(UserError, match=r"The state .* is not locked\."):
            backend.check_force_unlock("x")
    holder = python(HOLD)
    holder.stdout.readline()
    with pytest.raises(UserError, match="belongs to a process") as refused:
        backend.check_force_unlock("x")
    holder.communicate("go\n")
    assert ("It is held by ada@engine" in str(refused.value)) is (b"ada" in (note or b""))


@pytest.mark.parametrize("has_locks_of_descriptions", [True, False])
def test_waiting_ends_with_the_time(session, python, monkeypatch, has_locks_of_descriptions):
    if not has_locks_of_descriptions:
        monkeypatch.delattr(fcntl, "F_OFD_SETLK")
    holder = python(HOLD)
    holder.stdout.readline()
    told: list[LockInfo] = []
    slept: list[float] = []
    clock = Clock()
    clock.sleep = lambda seconds: slept.append(seconds) or clock.advance(seconds)
    monkeypatch.setattr(lock, "time", clock)
    with pytest.raises(
        UserError, match=r"locked by a process that left no note of itself\..*--lock-timeout"
    ):
        session(timeout=0.3, on_wait=told.append)
    assert (len(told), slept) == (1, pytest.approx([0.1, 0.2]))
    holder.communicate("go\n", timeout=PATIENCE)


@pytest.mark.parametrize("waiting", [True, False])
def test_a_run_that_made_nothing_leaves_no_state(session, state_path, host, open_files, waiting):
    journal_of(state_path).write_bytes(bytes(9))
    with session() as opened:
        opened.state.put("opsconsole_host.a", host(1))
        opened.state.remove("opsconsole_host.a")
        if waiting:
            # A Terraform that waits for the lock holds the file open, and will write there.
            descriptor = os.open(state_path, os.O_RDWR)
    assert state_path.exists() is waiting
    if waiting:
        assert state_path.read_bytes() == b""
        os.close(descriptor)
    assert [*state_path.parent.iterdir(), *open_files()] == [state_path] * waiting
