"""`opsconsole emulator` as a process, and the handle that starts one."""

import contextlib
import http.client
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from opsconsole.cli.parser import build_parser
from opsconsole.emulator import API_KEY, ControlError, Emulator, profiles, serve, spawn
from opsconsole.emulator.store import Store
from patience import PATIENCE, until

COMMAND = [sys.executable, "-m", "opsconsole", "emulator"]


def run(*arguments: str) -> int:
    args = build_parser("emulator").parse_args(["emulator", *arguments])
    code: int = args.run(args)
    return code


def test_the_profiles_are_listed(capsys):
    assert run("--profiles") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*profiles()]


def test_emulator_prints_its_address_and_stops_after_its_time(capfd):
    switches = [f"--switch={text}" for text in ("order=sorted", "page_size=3", "unset=null")]
    assert run("--seconds", "0.3", *switches) == 0
    said = capfd.readouterr().out.splitlines()
    assert said[0].startswith("listening on http://127.0.0.1:")
    assert said[2] == f"export OPSCONSOLE_BASE_URL={said[0].removeprefix('listening on ')}"
    assert said[3] == "export OPSCONSOLE_API_KEY=svc_ak_emulator"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seed", "/no/such.json"], "no/such.json"),
        (["--data", "/no/such/file.db"], "no/such/file.db"),
        (["--switch", "nothing=1"], "nothing is not a member"),
        (["--switch", "order"], "order: should be"),
    ],
)
def test_emulator_that_cannot_start_prints_one_line(capfd, arguments, said):
    assert run(*arguments) == 1
    captured = capfd.readouterr()
    assert captured.err.startswith("Error: ")
    assert said in captured.err
    assert len(captured.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--port", "70000"], "'70000' is not a port"),
        (["--port", "x"], "'x' is not a port"),
        (["--profile", "x"], '"x" is not one of its values'),
        (["--latency=-1"], "'-1' is not a number from 0"),
        (["--seconds", "nan"], "'nan' is not a number from 0"),
        (["--api-key", "bad"], "the key is not of the form svc_ak_…"),
        (["--api-key", "svc_ak_a b"], "the key is not of the form svc_ak_…"),
    ],
)
def test_wrong_arguments_exit_with_1(capfd, arguments, said):
    with pytest.raises(SystemExit) as stopped:
        run(*arguments)
    assert stopped.value.code == 1
    assert said in capfd.readouterr().err


def test_a_port_that_is_taken(capfd, tmp_path):
    data = tmp_path / "console.db"
    with serve() as emulator:
        port = emulator.base_url.rpartition(":")[2]
        with pytest.raises(OSError, match="in use"), serve(port=int(port), data=data):
            pytest.fail("two emulators on one port")
        Store(data).close()
        assert run("--port", port) == 1
        assert "in use" in capfd.readouterr().err
        with pytest.raises(ControlError, match="did not start"), spawn(port=int(port)):
            pytest.fail("two emulators on one port")


def test_a_process_of_its_own(call, tmp_path):
    data = tmp_path / "console.db"
    with spawn("strict", switches={"page_size": 2}, data=data, seed="fleet") as emulator:
        assert emulator.profile.page_size == 2
        assert call(emulator, "POST", "/api/v1/hosts/hst_fleet00003", {"name": "kept"})[0] == 200
        assert emulator.request_counts() == {"host_update": 1}
    with spawn("strict", data=data) as emulator:
        row = emulator.row("hosts", "hst_fleet00003")
        assert row["name"] == "kept"


def test_a_process_whose_answers_wait():
    with spawn("strict", latency=3600) as emulator:
        address = urlsplit(emulator.base_url).netloc
        with contextlib.closing(http.client.HTTPConnection(address)) as connection:
            connection.request("GET", "/api/v1/agents/agt_1")
            until(lambda: emulator.traffic()["in_flight"] == 1)


@contextlib.contextmanager
def started(*options: str) -> Iterator[tuple[subprocess.Popen[str], Emulator]]:
    """Start a process; it ends with the block."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, *options, "--seconds", "60"], text=True, **pipes) as process:
        try:
            base_url = process.stdout.readline().removeprefix("listening on ").strip()
            yield process, Emulator(base_url, API_KEY, profiles()["default"])
        finally:
            process.kill()


def test_answered_change_survives_a_kill(call, tmp_path):
    data = tmp_path / "console.db"
    with started("--data", str(data), "--seed", "fleet") as (_, handle):
        assert call(handle, "DELETE", "/api/v1/hosts/hst_fleet00003")[0] == 200
    with contextlib.closing(sqlite3.connect(data)) as database:
        query = "SELECT count(*) FROM rows WHERE collection = 'hosts'"
        assert database.execute(query).fetchone() == (7,)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(call, tmp_path, number):
    with started("--data", str(tmp_path / "console.db")) as (process, handle):
        assert call(handle, "GET", "/")[0] == 404
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert [entry.name for entry in tmp_path.iterdir()] == ["console.db"]


def test_emulator_ends_with_its_parent():
    read, write = os.pipe()
    process = subprocess.Popen(
        [*COMMAND, "--exit-with-parent", "--seconds", "60"], stdin=read, stdout=subprocess.PIPE
    )
    os.close(read)
    try:
        process.stdout.readline()
        assert process.poll() is None
        os.close(write)
        assert process.wait(PATIENCE) == 0
        process.stdout.close()
    finally:
        process.kill()
        process.wait()


def test_a_shell_starts_one_in_the_background(tmp_path):
    rows = tmp_path / "rows.db"
    start = f'eval "$({sys.executable} -m opsconsole.cli.main emulator --background --data {rows})"'
    names = ("OPSCONSOLE_BASE_URL", "OPSCONSOLE_API_KEY", "OPSCONSOLE_EMULATOR_PID")
    words = ["sh", "-c", f"{start} && echo {' '.join(f'${name}' for name in names)}"]
    seen = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    base_url, api_key, process = seen.stdout.split()
    try:
        assert Emulator(base_url, api_key, profiles()["default"]).rows("specialties")
        assert f"`kill {process}` stops it" in seen.stderr
    finally:
        os.kill(int(process), signal.SIGTERM)


def test_background_emulator_that_cannot_start_says_why():
    words = [*COMMAND, "--background", "--seed", "/no/such.json"]
    seen = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert (seen.returncode, seen.stdout) == (1, "")
    assert "no/such.json" in seen.stderr
