from __future__ import annotations

import errno
import json
import os
import resource
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from opsconsole.errors import UserError
from opsconsole.journal_files import journal_of
from opsconsole.state import backend
from opsconsole.state.backend import LocalBackend, local_path, workspace_of, write_at
from opsconsole.state.last_place import LastPlace
from opsconsole.state.model import State
from opsconsole.state.objects import InstanceObject
from opsconsole.state.opening import backend_for, open_state, read_state
from opsconsole.state.rescue import rescue
from opsconsole.state.session import StateSession

Host = Callable[..., InstanceObject]
Open = Callable[..., StateSession]


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file may grow beyond `size` bytes: what a full disk is to a writer."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def fill(session: Open, host: Host, count: int = 3) -> None:
    with session() as opened:
        for number in range(count):
            opened.state.put(f"opsconsole_host.h{number}", host(number))


def test_state_is_rewritten_in_place_after_a_backup(session, state_path, host):
    fill(session, host)
    before, number = state_path.read_bytes(), state_path.stat().st_ino
    backup = state_path.with_name("terraform.tfstate.backup")
    assert not backup.exists()
    with session() as opened:
        opened.state.remove("opsconsole_host.h0")
        opened.state.remove("opsconsole_host.h1")
    assert state_path.stat().st_ino == number
    assert backup.read_bytes() == before
    state = State.parse(state_path.read_bytes())
    assert (state.serial, [str(address) for address in state.addresses()]) == (
        2,
        ["opsconsole_host.h2"],
    )
    assert sorted(path.name for path in state_path.parent.iterdir()) == [
        "terraform.tfstate",
        "terraform.tfstate.backup",
    ]


def test_nothing_is_written_when_nothing_changed(session, state_path, host):
    fill(session, host)
    before = state_path.stat().st_mtime_ns, state_path.read_bytes()
    with session() as opened:
        opened.state.put("opsconsole_host.h0", host(0))
    assert (state_path.stat().st_mtime_ns, state_path.read_bytes()) == before


def test_no_room_is_one_error_and_state_is_as_it_was(session, state_path, host):
    fill(session, host, 3000)
    before = state_path.read_bytes()
    journal = state_path.with_name("terraform.tfstate.opsconsole-journal")
    with largest_file(len(before) + 100):
        opened = session()
        opened.state.put("opsconsole_host.new", host(1))
        opened.state.remove("opsconsole_host.h17")
        opened.state.put("opsconsole_host.newer", host(2))
        with pytest.raises(UserError, match=r"no room .*The state is as it was\. Make room"):
            opened.close()
        assert state_path.read_bytes() == before
        assert journal.exists()
        with pytest.raises(UserError, match="no room"):
            session()
        assert state_path.read_bytes() == before
    with session() as opened:
        assert opened.folded == 3
    assert len(State.parse(state_path.read_bytes())) == 3001
    assert not journal.exists()


def test_room_for_the_copy_alone_is_one_error(session, state_path, host, monkeypatch):
    fill(session, host)
    before, reserve = state_path.read_bytes(), os.posix_fallocate

    def refuse(descriptor: int, offset: int, length: int) -> None:
        if os.fstat(descriptor).st_ino == state_path.stat().st_ino:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        reserve(descriptor, offset, length)

    opened = session()
    opened.state.put("opsconsole_host.new", host(9))
    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", refuse)
        with pytest.raises(UserError, match=r"no room .*The state is as it was\. Make room"):
            opened.close()
    assert state_path.read_bytes() == before
    with session() as opened:
        assert opened.folded == 1
    assert len(State.parse(state_path.read_bytes())) == 4


def test_a_disk_that_fails_in_a_write_leaves_the_copy(
    session: Open, state_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(session, host)

    def fail(descriptor: int, data: bytes, at: int) -> int:
        if os.fstat(descriptor).st_ino != state_path.stat().st_ino:
            return write_at(descriptor, data, at)
        os.pwrite(descriptor, data[:100], at)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    opened = session()
    opened.state.put("opsconsole_host.new", host(9))
    with monkeypatch.context() as patch:
        patch.setattr(backend, "write_at", fail)
        with pytest.raises(UserError, match=r"Input/output error.*It is whole in .*-copy"):
            opened.close()
    with session() as opened:
        assert "opsconsole_host.new" in opened.state
    assert len(State.parse(state_path.read_bytes())) == 4


@pytest.mark.parametrize("journal", ["begun", "none", "of another"])
def test_what_nothing_could_keep_is_named(session, state_path, host, journal):
    fill(session, host)
    before = state_path.read_bytes()
    opened = session()
    if journal == "begun":
        opened.intend("opsconsole_host.new", "POST /api/v1/hosts/batch", {})
    elif journal == "of another":
        journal_of(state_path).touch()
    opened.state.put("opsconsole_host.new", host(7))
    opened.state.remove("opsconsole_host.h0")
    with (
        largest_file(10),
        pytest.raises(
            UserError, match=r"Neither .* holds: opsconsole_host.new = hst_0007, .*h0 = gone"
        ),
    ):
        opened.close()
    assert state_path.read_bytes() == before
    session().close()
    assert state_path.read_bytes() == before


FORBIDDEN = """
import os, sys
from pathlib import Path
import getpass, pwd, socket
from opsconsole.errors import UserError
from opsconsole.state.backend import SnapshotMeta
from opsconsole.state.backend import LocalBackend
from opsconsole.state.opening import open_state
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    open_state(LocalBackend(Path(sys.argv[1])))
except UserError as error:
    print(error, flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("existing", [True, False])
def test_a_directory_that_may_not_be_written_is_one_error(session, host, python, existing):
    with tempfile.TemporaryDirectory() as folder:
        state_path = Path(folder, "terraform.tfstate")
        if existing:
            with session(state_path) as opened:
                opened.state.put("opsconsole_host.a", host(1))
            state_path.chmod(0o666)
            before = state_path.read_bytes()
        Path(folder).chmod(0o555)
        out, err = python(FORBIDDEN, str(state_path)).communicate(timeout=300)
        Path(folder).chmod(0o755)
        assert err == ""
        assert "this user may not" in out
        assert out.count("\n") == 1
        if existing:
            assert state_path.read_bytes() == before
        assert [path.name for path in Path(folder).iterdir()] == ["terraform.tfstate"] * existing


def test_without_a_lock_what_another_wrote_is_not_written_over(session, state_path, host):
    fill(session, host)
    late = session(lock=False)
    late.state.remove("opsconsole_host.h0")
    with session() as other:
        other.state.remove("opsconsole_host.h1")
    after = state_path.read_bytes()
    with pytest.raises(UserError, match="written by someone else"):
        late.close()
    assert state_path.read_bytes() == after
    with session() as again:
        assert [str(address) for address in again.state.addresses()] == ["opsconsole_host.h2"]


def test_a_state_file_that_was_replaced_is_not_written(session, state_path, host):
    fill(session, host)
    late = session()
    late.state.remove("opsconsole_host.h0")
    content = state_path.read_bytes()
    other = state_path.with_name("other")
    other.write_bytes(content)
    other.replace(state_path)
    with pytest.raises(UserError, match="written by someone else"):
        late.close()
    assert state_path.read_bytes() == content


@pytest.mark.parametrize("removed", ["both", "state", "journal"])
@pytest.mark.parametrize("written", [True, False])
async def test_what_loses_its_name_stops_the_run_and_nothing_is_lost(
    session, state_path, host, working_directory, removed, written
):
    fill(session, host)
    opened = session()
    made = opened.intend("opsconsole_host.new", "POST /api/v1/hosts/batch", {})
    await opened.flush()
    opened.state.put("opsconsole_host.new", host(7))
    opened.record([made])
    if written:
        await opened.checkpoint()
    opened.intend("opsconsole_agent.asked", "POST /api/v1/agents", {})
    await opened.flush()
    files = {"state": state_path, "journal": journal_of(state_path)}
    for name, path in files.items():
        if removed in (name, "both"):
            path.unlink()
    opened.state.put("opsconsole_host.late", host(8))
    opened.intend("opsconsole_agent.next", "POST /api/v1/agents", {})
    with pytest.raises(UserError, match="No further request is sent"):
        await opened.flush()
    if removed == "journal":
        opened.close()
    else:
        with pytest.raises(UserError, match="The whole state is in") as caught:
            opened.close()
        rescued = working_directory / "errored.tfstate"
        assert State.parse(rescued.read_bytes()).serial == opened.state.serial + 2
        assert f"`mv {rescued} {state_path}`" in str(caught.value)
        if removed == "both":
            assert "opsconsole_host.late = hst_0008" in str(caught.value)
            assert "opsconsole_agent.asked (POST /api/v1/agents)" in str(caught.value)
        assert "opsconsole_agent.next" not in str(caught.value)
        rescued.rename(state_path)
    with session() as again:
        found = {address.name for address in again.state.addresses()}
        assert found == {"h0", "h1", "h2", "new", "late"}
        asked = [call.address for call in again.open_intents]
        assert asked == ["opsconsole_agent.asked"] * (removed != "both")


def test_a_state_is_read_again_while_it_is_rewritten(session, state_path, host, monkeypatch):
    fill(session, host)
    whole, waits = state_path.read_bytes(), iter(range(1, 10))
    state_path.write_bytes(whole[:99])

    def wait(seconds: float) -> None:
        if next(waits) == 9:
            state_path.write_bytes(whole)

    monkeypatch.setattr(time, "sleep", wait)
    assert len(read_state(LocalBackend(state_path))) == 3


@pytest.mark.parametrize("kind", ["device", "socket", "directory", "pipe"])
def test_what_is_no_file_is_refused_before_anything_is_read(session, tmp_path, kind):
    path = Path(os.devnull) if kind == "device" else tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as bound:
        match kind:
            case "socket":
                bound.bind(str(path))
            case "directory":
                path.mkdir()
            case "pipe":
                os.mkfifo(path)
        for locked in (True, False):
            with pytest.raises(UserError, match="is not a regular file"):
                session(path, lock=locked)
        with pytest.raises(UserError, match=r"is not a regular file.*--journal=FILE"):
            LocalBackend(tmp_path / "terraform.tfstate", journal=path)


def test_a_file_that_is_no_journal_is_not_taken_for_one(session, state_path, host):
    fill(session, host)
    before = state_path.read_bytes()
    with pytest.raises(UserError, match="is not a journal"):
        open_state(LocalBackend(state_path, journal=state_path))
    assert state_path.read_bytes() == before


def test_directories_are_made_for_a_workspace(session, tmp_path, host):
    path = local_path(tmp_path, {}, "prod")
    assert path == tmp_path / "terraform.tfstate.d" / "prod" / "terraform.tfstate"
    with session(path) as opened:
        opened.state.put("opsconsole_host.a", host(1))
    assert path.exists()


@pytest.mark.parametrize(
    ("settings", "workspace", "place"),
    [
        ({}, "default", "terraform.tfstate"),
        ({"path": "x/y.tfstate"}, "default", "x/y.tfstate"),
        ({"path": "/abs/y.tfstate"}, "default", "/abs/y.tfstate"),
        ({"path": "y.tfstate"}, "w", "terraform.tfstate.d/w/terraform.tfstate"),
        ({"workspace_dir": "spaces"}, "w", "spaces/w/terraform.tfstate"),
    ],
)
def test_state_is_kept_where_terraform_looks_for_it(tmp_path, settings, workspace, place):
    assert local_path(tmp_path, settings, workspace) == tmp_path / place


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ({"path": "${var.where}"}, r"hold an expression: \$\{var.where\}"),
        ({"path": "new"}, "`path` was 'old', and is 'new'"),
        ({"path": "old", "workspace_dir": "w"}, "`workspace_dir` was 'terraform.tfstate.d'"),
    ],
)
def test_a_state_is_looked_for_where_init_noted_it(tmp_path, block, said):
    noted = {"type": "local", "config": {"path": "old", "workspace_dir": None}}
    (tmp_path / ".terraform").mkdir()
    (tmp_path / ".terraform" / "terraform.tfstate").write_text(json.dumps({"backend": noted}))
    with pytest.raises(UserError, match=said):
        backend_for(tmp_path, {"local": block}, "plan", given={})
    for same in ({}, {"path": "old"}, {"workspace_dir": "terraform.tfstate.d"}):
        found = backend_for(tmp_path, {"local": same}, "plan", given={})
        assert found.journal == journal_of(tmp_path / "old")


def test_a_state_is_looked_for_where_the_last_run_wrote_it(tmp_path):
    place = LastPlace(tmp_path, "default", "s3", "s3://a", "one")
    place.note()
    place.check()
    LastPlace(tmp_path, "other", "s3", "s3://b", "two").check()
    with pytest.raises(UserError, match=r"written to s3://a \(s3\), .* names s3://b \(s3\)"):
        LastPlace(tmp_path, "default", "s3", "s3://b", "two").check()


@pytest.mark.parametrize(
    ("encryption", "refused"),
    [
        ('method "unencrypted" "u" {}\nstate {\n  enforced = true\n}', True),
        ('{"state": {"method": "${method.aes_gcm.m}"}}', True),
        ("remote_state_data_sources {}", False),
        ("", False),
    ],
)
def test_what_is_to_be_encrypted_is_not_written_in_clear(session, monkeypatch, encryption, refused):
    monkeypatch.setenv("TF_ENCRYPTION", encryption)
    with pytest.raises(UserError, match="in clear") if refused else nullcontext():
        session().close()


def test_the_selected_workspace_is_terraforms(tmp_path, monkeypatch):
    assert workspace_of(tmp_path) == "default"
    (tmp_path / ".terraform").mkdir()
    (tmp_path / ".terraform" / "environment").write_text("noted\n")
    assert workspace_of(tmp_path) == "noted"
    monkeypatch.setenv("TF_WORKSPACE", "chosen")
    assert workspace_of(tmp_path) == "chosen"


def test_a_rescue_that_runs_out_of_room_leaves_nothing_behind(working_directory, monkeypatch):
    other = working_directory / "other"
    other.mkdir()
    real, failing = os.fsync, iter([True])

    def fail_once(descriptor: int) -> None:
        if next(failing, False):
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fail_once)
    assert rescue(b"{}", other) == other / "errored.tfstate"
    assert not (working_directory / "errored.tfstate").exists()
