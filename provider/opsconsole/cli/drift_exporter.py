"""Serves what the last check found: `/` for people, `/metrics` for Prometheus, `/healthz`.

Runs on threads of its own, so that it answers while a check is under way. Checks nothing itself.
"""

from __future__ import annotations

import html
import json
import math
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge
from prometheus_client.exposition import generate_latest

from opsconsole.drift.report import DriftReport
from opsconsole.errors import UserError
from opsconsole.reports.formats import FORMATS
from opsconsole.reports.prometheus import registry_of
from opsconsole.reports.text import printable
from opsconsole.reports.verdict import CheckOutcome, judge

_PREFIX: Final = "opsconsole_drift_exporter"


@dataclass
class Exporter:
    """What an exporter knows. Its methods may be called from any thread.

    Attributes:
        patience: Seconds after the last end of a check at which it counts as stuck.
    """

    patience: float
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _report: DriftReport | None = None
    _problem: str = ""
    _ended: datetime | None = None
    _good: datetime | None = None
    _failures: int = 0
    _page: tuple[DriftReport, bytes] | None = None

    def __post_init__(self) -> None:
        self._registry = CollectorRegistry()
        self._checks = Counter(
            f"{_PREFIX}_checks",
            "Checks by outcome; a check that `failed` made no report.",
            ["outcome"],
            registry=self._registry,
        )
        for name in [*(item.name.lower() for item in CheckOutcome), "failed"]:
            self._checks.labels(name)
        self._calls = Counter(
            f"{_PREFIX}_calls",
            "Requests sent since the start, by operation.",
            ["operation"],
            registry=self._registry,
        )
        self._in_a_row = Gauge(
            f"{_PREFIX}_failures_in_a_row",
            "Checks since the last one that could tell.",
            registry=self._registry,
        )
        self._age = Gauge(
            f"{_PREFIX}_last_good_check_age_seconds",
            "Seconds since the last check that could tell, with drift or without; +Inf: none "
            "could.",
            registry=self._registry,
        )

    def take(self, report: DriftReport) -> int:
        """Take the report of a check; return how many checks in a row could not tell."""
        outcome = judge(report).outcome
        now = datetime.now(UTC)
        with self._lock:
            self._report, self._problem, self._ended = report, "", now
            self._checks.labels(outcome.name.lower()).inc()
            for operation, count in report.calls.items():
                self._calls.labels(operation).inc(count)
            if outcome is CheckOutcome.UNTOLD:
                self._failures += 1
            else:
                self._failures, self._good = 0, now
            return self._failures

    def fail(self, problem: str) -> int:
        """Note a check that made no report; return how many in a row could not tell."""
        with self._lock:
            self._report, self._problem, self._ended = None, problem, datetime.now(UTC)
            self._checks.labels("failed").inc()
            self._failures += 1
            return self._failures

    def metrics(self) -> bytes:
        """Return the metrics of the last check, and of the exporter itself.

        After a check that made no report there is none of an earlier one: what was in sync then
        may not be so now.
        """
        now = datetime.now(UTC)
        with self._lock:
            age = (now - self._good).total_seconds() if self._good else math.inf
            self._age.set(age)
            self._in_a_row.set(self._failures)
            own: bytes = generate_latest(self._registry)
            if self._report is None:
                return own
            found = registry_of(self._report, now=now, last_good=self._good)
            return own + bytes(generate_latest(found))

    def page(self) -> tuple[HTTPStatus, bytes]:
        """Return the last report as a page; without one, a page that says why and asks again.

        The page of a report is made once, and only if somebody asks for it.
        """
        with self._lock:
            report, problem, page = self._report, self._problem, self._page
        if report is None:
            text = printable(problem) if problem else "The first check has not ended yet."
            return HTTPStatus.SERVICE_UNAVAILABLE, _NO_REPORT.format(html.escape(text)).encode()
        if page is None or page[0] is not report:
            page = report, FORMATS["html"](report).encode()
            self._page = page
        return HTTPStatus.OK, page[1]

    def health(self) -> tuple[bool, str]:
        """Return whether checks continue, and the outcome of the last one, as JSON.

        An unreachable console leaves the exporter healthy: restarting it does not help.
        """
        now = datetime.now(UTC)
        with self._lock:
            well = (now - (self._ended or self.started)).total_seconds() <= self.patience
            outcome = judge(self._report).outcome.name.lower() if self._report else ""
            facts = {
                "status": "ok" if well else "stuck",
                "last_check": _written(self._ended),
                "last_good_check": _written(self._good),
                "outcome": outcome or ("failed" if self._problem else "none yet"),
                "problem": self._problem,
                "failures_in_a_row": self._failures,
            }
        return well, json.dumps(facts) + "\n"


def _written(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None


_NO_REPORT: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="10">
<title>No drift report</title>
<body style="font: 1rem/1.5 system-ui, sans-serif; margin: 3rem; max-width: 45rem">
<h1>No drift report</h1><p>{}</p><p>This page reloads every 10 seconds.</p>
"""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, exporter: Exporter, host: str, port: int) -> None:
        self.exporter = exporter
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)


_PAGE_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'unsafe-inline' data:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
"""The page is one file that loads nothing, and belongs in no frame of another site."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 10
    server_version = "opsconsole"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer a GET."""
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._answer(HTTPStatus.OK, CONTENT_TYPE_LATEST, self.server.exporter.metrics())
        elif path == "/healthz":
            well, text = self.server.exporter.health()
            status = HTTPStatus.OK if well else HTTPStatus.SERVICE_UNAVAILABLE
            self._answer(status, "application/json", text.encode())
        elif path == "/":
            status, page = self.server.exporter.page()
            self._answer(status, "text/html; charset=utf-8", page, **_PAGE_HEADERS)
        else:
            text = "The paths are /, /metrics and /healthz.\n"
            self._answer(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", text.encode())

    do_HEAD = do_GET

    def _answer(self, status: HTTPStatus, content_type: str, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log no request: scrapes come every few seconds."""


@contextmanager
def serving(exporter: Exporter, address: tuple[str, int]) -> Iterator[str]:
    """Serve an exporter until the block ends; yields its address, `http://HOST:PORT`.

    Raises:
        UserError: The address cannot be listened at.
    """
    host, port = address
    try:
        server = _Server(exporter, host, port)
    except OSError as problem:
        raise UserError(
            f"Cannot listen at {host}:{port}: {problem.strerror or problem}.",
            "Choose another address with --listen HOST:PORT.",
        ) from problem
    thread = threading.Thread(target=server.serve_forever, name="exporter", daemon=True)
    thread.start()
    try:
        shown = f"[{host}]" if ":" in host else host
        yield f"http://{shown}:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
