"""`drift --watch`: metrics and health, outages, states that change, and a clean end."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from opsconsole.cli import drift_watch
from opsconsole.cli.drift_exporter import Exporter, serving
from opsconsole.cli.drift_output import target
from opsconsole.cli.drift_watch import CheckSchedule
from opsconsole.cli.standard_streams import OutputStream, text_stream
from opsconsole.drift.report import Bucket, DriftReport, Finding
from opsconsole.errors import UserError
from patience import PATIENCE, until

World = Callable[..., dict[str, Any]]
WEB = "opsconsole_host.web[0]"


@dataclass
class Watching:
    """A watch in a process of its own."""

    process: subprocess.Popen[str]
    address: str

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(self.address + path, timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as problem:
            with problem:
                return problem.code, problem.read().decode()

    def metric(self, name: str, **labels: str) -> float | None:
        return value_of(self.get("/metrics")[1], name, **labels)

    def health(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.get("/healthz")[1])
        return found

    def until(self, holds: Callable[[], bool]) -> None:
        def ended_or_holds() -> bool:
            assert self.process.poll() is None
            return holds()

        until(ended_or_holds)


def value_of(text: str, name: str, **labels: str) -> float | None:
    """Return the value of one sample; None where there is none."""
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return float(sample.value)
    return None


@contextmanager
def watching(ground: Any, *words: str) -> Iterator[Watching]:
    command = [sys.executable, "-m", "opsconsole.cli.main", "drift", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        [*command, "--watch", "1s", *words],
        cwd=ground.folder,
        env={**os.environ, **ground.console.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"Serving (http://\S+)/, ", line)
        assert found, line + process.stderr.read()
        yield Watching(process, found[1])
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def ground(ground_on: Callable[..., Any], world: World) -> Any:
    made = ground_on("default", max_retries=0, request_timeout=2)
    made.apply(world())
    return made


def test_it_checks_again_and_again(ground: Any) -> None:
    with watching(ground) as watch:
        resources = "opsconsole_drift_resources"
        watch.until(lambda: watch.metric(resources, bucket="in_sync") == 8)
        for bucket in Bucket:
            assert watch.metric(resources, bucket=bucket.value) is not None
        assert watch.metric("opsconsole_drift_outcome", outcome="clean") == 1
        age = watch.metric("opsconsole_drift_exporter_last_good_check_age_seconds")
        assert age is not None and age >= 0
        assert watch.get("/healthz")[0] == 200
        assert watch.health()["outcome"] == "clean"
        assert watch.get("/elsewhere")[0] == 404
        status, page = watch.get("/")
        assert (status, "No drift" in page, WEB in page) == (200, True, True)

        ground.console.change("hosts", ground.id_of(WEB), knowledge="changed")
        watch.until(lambda: watch.metric(resources, bucket="changed") == 1)
        assert watch.metric("opsconsole_drift_outcome", outcome="drift") == 1
        assert watch.health()["outcome"] == "drift"
        calls = "opsconsole_drift_exporter_calls_total"
        before = watch.metric(calls, operation="host_update")
        assert before is not None
        watch.until(lambda: (watch.metric(calls, operation="host_update") or 0) >= before + 3)

        # States are read anew each time: what is applied now is checked next.
        ground.apply()
        watch.until(lambda: watch.metric(resources, bucket="changed") == 0)


def test_it_survives_an_outage(ground: Any) -> None:
    with watching(ground) as watch:
        watch.until(lambda: watch.metric("opsconsole_drift_outcome", outcome="clean") == 1)
        ground.console.fault(times=None, path="^/api/", status=500)
        watch.until(lambda: watch.metric("opsconsole_drift_outcome", outcome="untold") == 1)
        assert watch.metric("opsconsole_drift_resources", bucket="in_sync") == 0
        failures = "opsconsole_drift_exporter_failures_in_a_row"
        watch.until(lambda: (watch.metric(failures) or 0) >= 2)
        last_good = "opsconsole_drift_exporter_last_good_check_age_seconds"
        age = watch.metric(last_good) or 0.0
        watch.until(lambda: (watch.metric(last_good) or 0.0) > age)
        # An exporter is well while its console is not.
        assert watch.get("/healthz")[0] == 200
        assert watch.health()["outcome"] == "untold"
        ground.console.clear_faults()
        watch.until(lambda: watch.metric("opsconsole_drift_outcome", outcome="clean") == 1)
        assert watch.metric(failures) == 0


def test_it_survives_a_state_that_is_gone(ground: Any) -> None:
    state = ground.folder / "terraform.tfstate"
    with watching(ground, "terraform.tfstate") as watch:
        watch.until(lambda: watch.metric("opsconsole_drift_resources", bucket="in_sync") == 8)
        aside = state.rename(ground.folder / "aside")
        failed = "opsconsole_drift_exporter_checks_total"
        watch.until(lambda: (watch.metric(failed, outcome="failed") or 0) >= 1)
        assert watch.metric("opsconsole_drift_resources", bucket="in_sync") is None
        assert "There is no state" in watch.health()["problem"]
        aside.rename(state)
        watch.until(lambda: watch.metric("opsconsole_drift_resources", bucket="in_sync") == 8)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_cleanly_between_checks(number: signal.Signals, ground: Any) -> None:
    with watching(ground) as watch:
        watch.until(lambda: watch.metric("opsconsole_drift_outcome", outcome="clean") == 1)
        watch.process.send_signal(number)
        out, err = watch.process.communicate(timeout=PATIENCE)
    assert watch.process.returncode == 0
    assert out == ""
    assert err.rstrip().endswith("Stopped.")
    assert "Traceback" not in err


def test_it_stops_cleanly_in_the_middle_of_a_check(ground: Any, world: World) -> None:
    ground.settings["max_concurrency"] = 1
    ground.write(world())
    ground.console.fault(times=None, path="^/api/", delay=1)
    ground.console.reset_log()
    with watching(ground) as watch:
        watch.until(lambda: ground.console.traffic()["in_flight"] > 0)
        asked = len(ground.console.requests())
        watch.process.send_signal(signal.SIGTERM)
        _, err = watch.process.communicate(timeout=PATIENCE)
    # One was in flight, and one more may have begun before the signal came.
    assert len(ground.console.requests()) <= asked + 2
    assert watch.process.returncode == 0
    assert "Traceback" not in err and "Unclosed" not in err


def test_it_stops_while_an_app_is_at_work(ground: Any) -> None:
    """Whatever a check waits for is not waited for any more."""
    (ground.folder / "app.py").write_text(
        "open('at-work', 'w').close()\nimport time; time.sleep(3600)"
    )
    app = f"exec {sys.executable} app.py"
    (ground.folder / "cdktf.json").write_text(json.dumps({"language": "python", "app": app}))
    with watching(ground) as watch:
        watch.until((ground.folder / "at-work").exists)
        watch.process.send_signal(signal.SIGTERM)
        _, err = watch.process.communicate(timeout=PATIENCE)
    assert watch.process.returncode == 0
    assert err.rstrip().endswith("Stopped.")
    assert "Traceback" not in err and "never retrieved" not in err


async def test_an_unexpected_error_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def surprised(*_: Any, **__: Any) -> DriftReport:
        raise RuntimeError("key: svc_ak_secret")

    monkeypatch.setattr(drift_watch, "checked", surprised)
    exporter = Exporter(patience=10)
    args = argparse.Namespace()
    failures = [await drift_watch.check_once(args, (), exporter, run_app=True) for _ in "ab"]
    assert failures == [1, 2]
    _, health = exporter.health()
    assert "RuntimeError" in health and "svc_ak" not in health


def test_a_full_disk_costs_one_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    async def checked(*_: Any, **__: Any) -> DriftReport:
        return report(Bucket.IN_SYNC)

    monkeypatch.setattr(drift_watch, "checked", checked)
    args = argparse.Namespace(places=[], program=None, dir=None)
    with Path("/dev/full").open("wb") as disk, (tmp_path / "log").open("wb") as log:
        stdout = text_stream(OutputStream(disk.fileno(), ends_work=True))
        monkeypatch.setattr(sys, "stdout", stdout)
        for _ in "ab":
            check = drift_watch.check_once(args, [target("json")], Exporter(10), run_app=True)
            asyncio.run(check)
            os.dup2(log.fileno(), disk.fileno())
    assert capsys.readouterr().err.count("the output cannot be written") == 1
    json.loads((tmp_path / "log").read_text())


def test_what_a_check_came_to_is_reported_once(ground: Any) -> None:
    with watching(ground, "--format", f"json={ground.folder / 'x.json'}") as watch:
        watch.until(lambda: watch.metric("opsconsole_drift_outcome", outcome="clean") == 1)
        watch.process.send_signal(signal.SIGTERM)
        _, err = watch.process.communicate(timeout=PATIENCE)
    lines = [line for line in err.splitlines() if "No drift." in line]
    checks = [line for line in err.splitlines() if "next check" in line]
    assert 1 <= len(lines) <= len(checks) + 1


def test_reports_are_written_after_each_check(ground: Any) -> None:
    file = ground.folder / "drift.prom"
    with watching(ground, "--format", f"prometheus={file}") as watch:
        watch.until(file.exists)
        first = file.read_text()
        watch.until(lambda: file.read_text() != first)
    assert value_of(file.read_text(), "opsconsole_drift_outcome", outcome="clean") == 1


def test_an_address_that_is_taken(ground: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = ground.run("drift", "--watch", "1s", "--listen", f"127.0.0.1:{port}")
    assert code == 1
    assert f"Cannot listen at 127.0.0.1:{port}" in err


@pytest.mark.parametrize(
    ("interval", "failures", "wait"),
    [
        (3600, 0, 3600),
        (3600, 1, 15),
        (3600, 2, 30),
        (3600, 5, 240),
        (3600, 100, 3600),
        (5, 0, 5),
        (5, 1, 5),
        (5, 2, 10),
        (5, 100, 300),
    ],
)
def test_the_pace(interval: float, failures: int, wait: float) -> None:
    assert CheckSchedule(interval, chance=lambda: 0.5).wait(failures) == pytest.approx(wait)
    assert CheckSchedule(interval, chance=lambda: 0.0).wait(failures) == pytest.approx(0.9 * wait)
    assert CheckSchedule(interval, chance=lambda: 1.0).wait(failures) == pytest.approx(1.1 * wait)


def report(*buckets: Bucket) -> DriftReport:
    found = tuple(
        Finding("fleet", f"opsconsole_host.h[{n}]", "opsconsole_host", bucket)
        for n, bucket in enumerate(buckets)
    )
    now = datetime.now(UTC).isoformat()
    return DriftReport(found, now, calls={"host_update": len(found)}, required=("opsconsole_host",))


def test_before_the_first_check_nothing_is_claimed() -> None:
    exporter = Exporter(patience=100)
    text = exporter.metrics().decode()
    age = value_of(text, "opsconsole_drift_exporter_last_good_check_age_seconds")
    assert age == float("inf")
    assert value_of(text, "opsconsole_drift_resources") is None
    well, said = exporter.health()
    assert well
    assert json.loads(said)["outcome"] == "none yet"


def test_a_good_check_is_one_that_could_tell() -> None:
    exporter = Exporter(patience=100)
    assert exporter.take(report(Bucket.CHANGED)) == 0
    assert exporter.take(report(Bucket.UNCHECKED)) == 1
    assert exporter.fail("no state") == 2
    assert exporter.take(report(Bucket.IN_SYNC, Bucket.IN_SYNC)) == 0
    text = exporter.metrics().decode()
    checks = "opsconsole_drift_exporter_checks_total"
    found = {o: value_of(text, checks, outcome=o) for o in ("clean", "drift", "untold", "failed")}
    assert found == {"clean": 1, "drift": 1, "untold": 1, "failed": 1}
    calls = "opsconsole_drift_exporter_calls_total"
    assert value_of(text, calls, operation="host_update") == 4


def test_an_exporter_that_ends_no_check_is_stuck() -> None:
    exporter = Exporter(patience=100)
    exporter.started = datetime.now(UTC) - timedelta(seconds=101)
    with serving(exporter, ("127.0.0.1", 0)) as address:
        with pytest.raises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(f"{address}/healthz")
        with raised.value as answer:
            assert answer.code == 503
            assert json.loads(answer.read())["status"] == "stuck"
        exporter.take(report(Bucket.IN_SYNC))
        with urllib.request.urlopen(f"{address}/healthz") as answer:
            assert answer.status == 200
        head = urllib.request.Request(f"{address}/metrics", method="HEAD")
        with urllib.request.urlopen(head) as answer:
            assert answer.read() == b""
            assert int(answer.headers["Content-Length"]) > 100


def test_the_report_is_a_page_and_without_one_the_page_says_why() -> None:
    exporter = Exporter(patience=100)

    def asked() -> tuple[int, str, dict[str, str]]:
        request = urllib.request.Request(f"{address}/")
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read().decode(), dict(answer.headers)
        except urllib.error.HTTPError as problem:
            with problem:
                return problem.code, problem.read().decode(), dict(problem.headers)

    with serving(exporter, ("127.0.0.1", 0)) as address:
        status, page, headers = asked()
        assert (status, "The first check has not ended yet." in page) == (503, True)
        assert headers["Content-Type"] == "text/html; charset=utf-8"
        exporter.take(report(Bucket.CHANGED))
        status, page, headers = asked()
        assert (status, "opsconsole_host.h[0]" in page) == (200, True)
        assert headers["Cache-Control"] == "no-store"
        assert asked()[1] == page
        exporter.take(report(Bucket.IN_SYNC))
        assert asked()[1] != page
        exporter.fail("no <state> here")
        status, page, _ = asked()
        assert (status, "no &lt;state&gt; here" in page) == (503, True)


def test_an_address_on_ipv6() -> None:
    try:
        with serving(Exporter(patience=1), ("::1", 0)) as address:
            assert address.startswith("http://[::1]:")
            with urllib.request.urlopen(f"{address}/healthz") as answer:
                assert answer.status == 200
    except UserError as problem:
        assert "Cannot listen at ::1:0" in str(problem)
