"""A state in a local file: how it is written, and where it is looked for."""

import errno
import json
import os
import re
import resource
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from loopback import CLOSED_ADDRESS
from opsconsole.errors import UserError
from opsconsole.local_terraform import cli_of, journal_of, unfolded_journals
from opsconsole.state import ConfiguredBackend, files
from opsconsole.state.backend import LocalBackend, RunOptions
from opsconsole.state.files import rescue
from opsconsole.state.lock import info_file
from opsconsole.state.model import State
from opsconsole.state.objects import InstanceObject
from opsconsole.state.opening import (
    backend_for,
    is_as_stored,
    open_state,
    read_foreign,
    read_state,
    read_stored,
)
from opsconsole.state.place import LastPlace, local_path, workspace_of
from opsconsole.state.session import StateSession
from shared_place import InMemory, Place

Host = Callable[..., InstanceObject]
Open = Callable[..., StateSession]

os.umask(UMASK := os.umask(0o22))


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


def put_in_place(name: str) -> list[str]:
    return [f"{call} {name} draft" for call in ("pwrite", "fsync", "replace")]


def test_a_state_is_rewritten_in_place_in_durable_steps(session, state_path, host, monkeypatch):
    """Each step is durable before the next."""
    calls: list[str] = []

    def watch(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def note(file: int | Path, *rest: Any) -> Any:
            is_open = isinstance(file, int)
            path = Path(f"/proc/self/fd/{file}").readlink() if is_open else Path(file)
            kind = re.sub(r"^\.?terraform\.tfstate\.?(opsconsole-)?", "", path.name) or "state"
            kind = "folder" if path == state_path.parent else kind
            calls.append(f"{name} {kind.replace(f'.{os.getpid()}.new', ' draft')}")
            return real(file, *rest)

        return note

    fill(session, host)
    before, number = state_path.read_bytes(), state_path.stat().st_ino
    assert [*state_path.parent.iterdir()] == [state_path]
    assert state_path.stat().st_mode & 0o7777 == 0o666 & ~UMASK
    for name in ("pwrite", "fsync", "fdatasync", "ftruncate", "replace", "unlink"):
        monkeypatch.setattr(os, name, watch(name))
    with session() as opened:
        opened.state.put("opsconsole_host.h0", host(0))
    opened.state.remove("opsconsole_host.h0")
    opened.record()
    assert (state_path.read_bytes(), calls) == (before, ["unlink lock.info"])
    calls.clear()
    state_path.with_name(f".terraform.tfstate.backup.{os.getpid()}.new").touch(0o666)
    appended = ["pwrite journal", "fdatasync journal"]
    rewritten = ["pwrite state", "ftruncate state", "fsync state", "unlink copy"]
    begun = ["fsync folder", *appended]
    written = [
        *(*put_in_place("backup"), "fsync folder", *appended, *put_in_place("copy")),
        *("fsync folder", *rewritten, *put_in_place("journal")),
    ]
    with session() as opened:
        opened.state.remove("opsconsole_host.h0")
    removed = ["fsync folder", "unlink journal", "fsync folder", "unlink lock.info"]
    assert calls == [*begun, *written, *removed]
    backup = state_path.with_name("terraform.tfstate.backup")
    assert sorted(state_path.parent.iterdir()) == [state_path, backup]
    assert (state_path.stat().st_ino, backup.read_bytes()) == (number, before)
    assert backup.stat().st_mode & 0o7777 == 0o600
    opened, calls[:] = session(), []
    opened.state.remove("opsconsole_host.h1")
    opened.abandon()
    assert calls == [*begun, "unlink lock.info"]
    calls.clear()
    session().close()
    finished = ["fsync state", "unlink copy"]
    assert calls == [*put_in_place("journal"), "fsync folder", *written, *finished, *removed]
    state = State.parse(state_path.read_bytes())
    assert (state.serial, [*map(str, state.addresses())]) == (3, ["opsconsole_host.h2"])


@pytest.mark.parametrize(
    ("function", "where", "said"),
    [
        (
            "pwrite",
            r"\..*\.backup\..*",
            r"\.backup: there is no room .* The file is as it was\. Make",
        ),
        ("pwrite", r"\..*-copy\..*", r"there is no room .* The state is as it was\. Make room"),
        ("posix_fallocate", "terraform.tfstate", r"no room .* The state is as it was\. Make room"),
        ("pwrite", "terraform.tfstate", r"no room .* It is whole in .*-copy: the next run puts it"),
    ],
)
async def test_a_write_without_room_is_one_error_and_made_by_the_next_run(
    session, state_path, host, monkeypatch, open_files, function, where, said
):
    fill(session, host)
    before, real = state_path.read_bytes(), getattr(os, function)
    copy = state_path.with_name(f"{state_path.name}.opsconsole-copy")

    def fail(file: int, *rest: Any) -> Any:
        if not re.fullmatch(where, Path(f"/proc/self/fd/{file}").readlink().name):
            return real(file, *rest)
        if function == "pwrite":
            real(file, rest[0][:100], rest[1])
        else:
            assert (rest[0], sum(rest)) == (len(before), copy.stat().st_size)
            real(file, *rest)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    opened = session()
    opened.state.put("opsconsole_host.new", host(9))
    opened.state.remove("opsconsole_host.h1")
    with monkeypatch.context() as patch:
        patch.setattr(os, function, fail)
        with pytest.raises(UserError, match=said):
            await opened.checkpoint()
        assert (opened.state.serial, opened.has_unwritten_changes) == (1, True)
        for save in (opened.close, session):
            with pytest.raises(UserError, match=said):
                save()
    is_torn = (function, where) == ("pwrite", "terraform.tfstate")
    assert (state_path.read_bytes() != before) is is_torn
    assert (list(state_path.parent.glob("*.new")), copy.exists()) == ([], is_torn)
    assert open_files() == []
    with session() as opened:
        assert (opened.folded_count, opened.has_done_nothing) == (2, True)
    state = State.parse(state_path.read_bytes())
    assert {address.name for address in state.addresses()} == {"h0", "h2", "new"}
    assert not journal_of(state_path).exists()


@pytest.mark.parametrize("journal", ["begun", "none", "of another"])
def test_what_nothing_could_keep_is_named(session, state_path, host, journal):
    fill(session, host)
    before = state_path.read_bytes()
    with largest_file(10), pytest.raises(UserError, match=r"Cannot write .*lock\.info: "):
        session()
    assert not info_file(state_path).exists()
    opened = session()
    if journal == "begun":
        opened.intend("opsconsole_host.new", "POST /api/v1/hosts/batch", {})
    elif journal == "of another":
        journal_of(state_path).touch()
    opened.state.put("opsconsole_host.new", host(7))
    opened.state.remove("opsconsole_host.h0")
    said = r"Neither .* holds: opsconsole_host.new = hst_0007, .*h0 = gone"
    with largest_file(10), pytest.raises(UserError, match=said):
        opened.close()
    assert state_path.read_bytes() == before
    session().close()
    assert state_path.read_bytes() == before


@contextmanager
def nobody() -> Iterator[None]:
    """Have no rights of root."""
    if os.getuid() == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(os.getuid())


@pytest.mark.parametrize("existing", [True, False])
def test_a_directory_that_may_not_be_written_is_one_error(session, host, existing):
    with tempfile.TemporaryDirectory() as folder:
        state_path = Path(folder, "terraform.tfstate")
        if existing:
            with session(state_path) as opened:
                opened.state.put("opsconsole_host.a", host(1))
            state_path.chmod(0o666)
            before = state_path.read_bytes()
        Path(folder).chmod(0o555)
        with nobody(), pytest.raises(UserError, match="this user may not") as caught:
            session(state_path)
        Path(folder).chmod(0o755)
        assert "\n" not in str(caught.value)
        if existing:
            assert state_path.read_bytes() == before
        assert [path.name for path in Path(folder).iterdir()] == ["terraform.tfstate"] * existing


@pytest.mark.parametrize("how", ["written", "replaced", "replaced, without a journal"])
def test_a_state_that_another_wrote_is_not_written_over(session, state_path, host, open_files, how):
    fill(session, host)
    late = session(lock=how != "written")
    late.begin()
    late.state.remove("opsconsole_host.h0")
    if how == "written":
        with open_state(
            LocalBackend(state_path, RunOptions(journal=state_path.with_name("j")))
        ) as other:
            other.state.remove("opsconsole_host.h1")
    else:
        other_path = state_path.with_name("other")
        other_path.write_bytes(state_path.read_bytes())
        other_path.replace(state_path)
    after = state_path.read_bytes()
    has_journal = "without" not in how
    if not has_journal:
        journal_of(state_path).unlink()
    with pytest.raises(UserError, match="written by someone else since it was read") as caught:
        late.close()
    compare = f"Compare it with {state_path}, which is another file now, and keep one of them."
    assert (compare in caught.value.remedy) is not has_journal
    assert open_files() == []
    assert state_path.read_bytes() == after
    with session() as again:
        left = {"h2", *["h0"] * (not has_journal), *["h1"] * (how != "written")}
        assert {address.name for address in again.state.addresses()} == left


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
        asked = [intent.address for intent in again.open_intents]
        assert asked == ["opsconsole_agent.asked"] * (removed != "both")


def test_a_state_is_read_again_while_it_is_rewritten(session, state_path, host, monkeypatch):
    fill(session, host)
    whole, waits = state_path.read_bytes(), iter(range(1, 10))
    state_path.write_bytes(whole[:99])

    def wait(seconds: float) -> None:
        if next(waits) == 9:
            state_path.write_bytes(whole)

    monkeypatch.setattr(time, "sleep", wait)
    found, digest = read_stored(LocalBackend(state_path))
    assert (len(found), is_as_stored(LocalBackend(state_path), digest)) == (3, True)
    state_path.write_bytes(whole[:-1])
    assert not is_as_stored(LocalBackend(state_path), digest)
    assert read_state(LocalBackend(state_path.with_name("none"))).empty


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
            LocalBackend(tmp_path / "terraform.tfstate", RunOptions(journal=path))
    with pytest.raises(UserError, match=r"Cannot read .*: .*directory.* Nothing was changed\."):
        files.read_file(tmp_path)


def test_a_state_that_is_mounted_itself_is_refused_whatever_its_name(
    session, tmp_path, monkeypatch
):
    path, mounts = tmp_path / "a b" / "s", tmp_path / "mounts"
    monkeypatch.setattr(files, "_MOUNTS", mounts)
    session(path).close()
    mounts.write_text(f"36 35 98:0 / / rw\n37 35 98:0 /x {tmp_path}/a\\040b/s rw\n")
    path.touch()
    with pytest.raises(UserError, match=r"by another path: the file itself is mounted.*--journal="):
        session(path)
    open_state(LocalBackend(path, RunOptions(journal=tmp_path / "journal"))).close()


def test_a_workspace_has_a_directory_of_its_own(session, tmp_path, host):
    path, others = local_path(tmp_path, {}, "prod"), tmp_path / "terraform.tfstate.d"
    fill(lambda: session(path, lock=False), host)
    (others / "a").mkdir()
    (others / "file").touch()
    for beside in (journal_of(path), info_file(path)):
        beside.touch()
    workspace = LocalBackend(path)
    assert workspace.workspaces() == ["default", "a", "prod"]
    workspace.delete()
    assert workspace.workspaces() == ["default", "a"]


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


@pytest.mark.parametrize("value", [5, True, ["x"], "x\0"])
@pytest.mark.parametrize(("name", "workspace"), [("path", "default"), ("workspace_dir", "w")])
def test_a_place_that_is_no_path_is_refused(tmp_path, name, workspace, value):
    noted = {"type": "local", "config": {name: value}}
    (tmp_path / ".terraform").mkdir()
    (tmp_path / ".terraform" / "terraform.tfstate").write_text(json.dumps({"backend": noted}))
    options = RunOptions(tmp_path, "plan")
    for block, given in (({name: value}, None), ({}, {})):
        configured = ConfiguredBackend("local", block)
        with pytest.raises(UserError, match=f"`{name}` of the local backend is not a path"):
            backend_for(configured, options, workspace=workspace, given=given)
    assert unfolded_journals(tmp_path) == []
    assert cli_of(tmp_path).command == "terraform"


@pytest.mark.parametrize(
    ("kind", "settings", "said"),
    [
        ("http", {"address": "http://[::1"}, "`address` of the http backend is not a URL: "),
        ("http", {"address": "http://host:port/x"}, "`address` of the http backend is not a URL: "),
        ("http", {"address": "ftp://host/x"}, "`address` .* must begin with http:// or https://"),
        ("http", {"address": "http://"}, "`address` .* must begin with http:// .* and a host"),
        ("http", {"lock_address": "http://[::1"}, "`lock_address` of the http backend is not a"),
        ("http", {"unlock_address": "host"}, "`unlock_address` .* must begin with http://"),
        ("http", {"retry_wait_min": "1e400"}, "`retry_wait_min` of .* is too large: 1e400"),
        ("http", {"retry_max": "1e300"}, "`retry_max` of the http backend is too large: 1e300"),
        ("http", {"retry_max": "nan"}, "`retry_max` of the http backend is not a number: nan"),
        ("http", {"retry_max": -1, "retry_wait_min": -1}, "Cannot reach the state "),
        ("http", {"skip_cert_verification": "yes"}, '`skip_cert_.* is true or false, not "yes"'),
        ("s3", {"endpoints": {"s3": "not a url"}}, "s3 backend cannot be used: Invalid endpoint"),
        ("s3", {"endpoints": {"s3": 5}}, "s3 backend cannot be used: Invalid endpoint: 5"),
        ("s3", {"assume_role": {"role_arn": "r", "tags": "no"}}, "`tags` of a role .* not a map"),
        ("s3", {"assume_role_with_web_identity": {"role_arn": "r"}}, "web_identity` .* no token"),
        (
            "s3",
            {"assume_role_with_web_identity": {"role_arn": "r", "web_identity_token_file": "/no"}},
            "^Cannot read /no: .* It is to hold the token of the web identity",
        ),
    ],
)
def test_settings_that_cannot_be_used_are_one_error(tmp_path, monkeypatch, kind, settings, said):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    needed = {
        "http": {"address": f"http://{CLOSED_ADDRESS}/state"},
        "s3": {"bucket": "b", "key": "k", "region": "eu-central-1"},
    }
    configured = ConfiguredBackend(kind, {**needed[kind], **settings})
    with pytest.raises(UserError, match=said) as refused:
        backend_for(configured, RunOptions(tmp_path, "plan")).read()
    assert ".." not in refused.value.message


@pytest.mark.parametrize(
    ("kind", "settings", "said"),
    [
        ("local", {"path": "${var.where}"}, r"hold an expression: \$\{var.where\}"),
        ("local", {"path": "new"}, "`path` was 'old', and is 'new'"),
        (
            "local",
            {"workspace_dir": "w"},
            "`workspace_dir` was 'terraform.tfstate.d', and is 'w'",
        ),
        ("s3", {"bucket": "b"}, r"from local to s3 since .*: `terraform init -migrate-state`"),
    ],
)
def test_a_state_is_looked_for_where_init_noted_it(tmp_path, kind, settings, said):
    noted = {"type": "local", "config": {"path": "old", "workspace_dir": None}}
    (tmp_path / ".terraform").mkdir()
    (tmp_path / ".terraform" / "terraform.tfstate").write_text(json.dumps({"backend": noted}))
    with pytest.raises(UserError, match=said):
        backend_for(ConfiguredBackend(kind, settings), RunOptions(tmp_path, "plan"), given={})
    for same in ({}, {"path": "old"}, {"workspace_dir": "terraform.tfstate.d"}):
        configured = ConfiguredBackend("local", same)
        found = backend_for(configured, RunOptions(tmp_path, "plan"), given={})
        assert found.journal == journal_of(tmp_path / "old")


def test_a_state_is_looked_for_where_the_last_run_wrote_it(tmp_path):
    here = tmp_path / "new"
    place = LastPlace(here, "default", "s3", "s3://a", "one")
    for noted in (LastPlace(here, "third", "s3", "s3://c", "three"), place):
        noted.note()
        noted.check()
    LastPlace(here, "other", "s3", "s3://b", "two").check()
    with pytest.raises(UserError, match=r"written to s3://a \(s3\), .* names s3://b \(s3\)"):
        LastPlace(here, "default", "s3", "s3://b", "two").check()
    with pytest.raises(UserError, match=r"written to s3://a \(s3\), .* names the local backend"):
        backend_for(None, RunOptions(here, "plan"), given={})
    for read, given in (("default", None), ("other", {})):
        found = backend_for(None, RunOptions(here, "plan"), workspace=read, given=given)
        assert found.name == str(local_path(here, {}, read))
    [note] = (here / ".terraform").iterdir()
    note.unlink()
    place.note()
    assert not note.exists(), "a run notes its place once"


def test_an_empty_place_beside_a_filled_local_state_is_refused(session, tmp_path, host):
    here = tmp_path / "cdktf.out" / "stacks" / "only"
    default, options = here / "terraform.tfstate", RunOptions(here, checks_place=True)
    place = InMemory(Place(), options, embeds_journal=False)
    of_blue = LastPlace(here, "blue", "memory", "memory")
    of_cdktf = tmp_path / "terraform.only.tfstate"
    for path, first, look in (
        (default, "", place.read),
        (of_cdktf, f"copy it to {default}, then ", place.read),
        (local_path(here, {}, "blue"), "", of_blue.check_nothing_here),
    ):
        with session(path) as opened:
            opened.state.put("opsconsole_host.a", host(1))
        with pytest.raises(UserError) as caught:
            look()
        assert caught.value.message.endswith(f" memory, and a state with 1 object is in {path}.")
        assert caught.value.remedy.startswith(f"To go on with it, {first}run `opsconsole-terraform")
        with session(path) as opened:
            opened.state.remove("opsconsole_host.a")
        assert place.read() == b""


def test_a_remote_state_is_reached_without_terraform(tmp_path, monkeypatch):
    block = {"address": "http://127.0.0.1:9/state", "retry_max": 0}
    journals = tmp_path / "journals"
    configured = ConfiguredBackend("http", block)
    options = RunOptions(tmp_path, "plan", journal_folder=journals)
    found = backend_for(configured, options, given={})
    assert (found.name, found.journal.parent) == (block["address"], journals)
    with pytest.raises(UserError, match=f"^Cannot reach the state {block['address']}: "):
        read_foreign(tmp_path, "http", block, "default")
    with pytest.raises(UserError, match=r"^The config of the backend http is not an object\.$"):
        read_foreign(tmp_path, "http", [block], "default")


def test_a_missing_library_names_its_extra(tmp_path, monkeypatch):
    needs = {"pg": "psycopg", "s3": "boto3", "gcs": "google.cloud.storage", "azurerm": "azure.core"}
    for kind, library in needs.items():
        for module in [name for name in sys.modules if f".backends.{kind}" in name]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, library, None)
        parent, _, name = library.rpartition(".")
        # A test before this one may have imported it: its package then still has it.
        monkeypatch.delattr(sys.modules.get(parent), name, raising=False)
        said = rf"^The {kind} backend needs .*pip install 'opsconsole\[{kind}\]'"
        with pytest.raises(UserError, match=said):
            backend_for(ConfiguredBackend(kind, {}), RunOptions(tmp_path, "plan"))


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
    for noted, shown in ((b"..", r"\.\."), (b"../../w9", r"\.\./\.\./w9"), (b"\xe9", r"\\xe9")):
        (tmp_path / ".terraform" / "environment").write_bytes(noted)
        with pytest.raises(UserError, match=f'environment: "{shown}" cannot be the name'):
            workspace_of(tmp_path)
    for name in ("chosen", "a+b@c", "..."):
        monkeypatch.setenv("TF_WORKSPACE", name)
        assert workspace_of(tmp_path) == name
    for name in ("..", "../other", "a b"):
        monkeypatch.setenv("TF_WORKSPACE", name)
        with pytest.raises(UserError, match=f'TF_WORKSPACE: "{name}" cannot be the name'):
            workspace_of(tmp_path)


def test_a_rescue_that_runs_out_of_room_leaves_nothing_behind(working_directory, monkeypatch):
    other = working_directory / "other"
    other.mkdir()
    real, sizes = os.fsync, list[int]()

    def fail_once(descriptor: int) -> None:
        sizes.append(os.fstat(descriptor).st_size)
        if len(sizes) == 1:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fail_once)
    assert rescue(b"{}", other) == other / "errored.tfstate"
    assert not (working_directory / "errored.tfstate").exists()
    names = [rescue(b"{}", other).name for _ in range(2)]
    assert names == ["errored.tfstate", "errored.1.tfstate"]
    assert sizes == [2] * 4
    assert (other / "errored.tfstate").stat().st_mode & 0o777 == 0o600
