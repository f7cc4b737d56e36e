"""`examples/monitoring`: Prometheus takes the rules, and every metric in them is one we export."""

import json
import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from engines import ROOT, Run, run_program
from opsconsole.drift.model import Bucket, DriftReport, Finding
from opsconsole.reports import prometheus

FOLDER = ROOT / "examples" / "monitoring"
RULES = FOLDER / "alerts.yml"
DASHBOARD = FOLDER / "dashboard.json"
METRIC = re.compile(r"opsconsole_\w+")


def promtool(*words: str) -> Run:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not on PATH (Debian: the package prometheus)")
    return run_program(program, *words, folder=FOLDER, expect=None)


@pytest.mark.parametrize(
    "words",
    [
        ("check", "rules", "alerts.yml"),
        ("test", "rules", "alerts_test.yml"),
        ("check", "config", "--lint=none", "prometheus.yml"),
    ],
    ids=" ".join,
)
def test_prometheus_accepts_them(words):
    seen = promtool(*words)
    assert seen.code == 0, seen.text


def test_prometheus_refuses_a_spoilt_copy(tmp_path):
    spoilt = tmp_path / "alerts.yml"
    spoilt.write_text(RULES.read_text().replace("> 0", "> > 0", 1))
    assert promtool("check", "rules", str(spoilt)).code != 0


def exported() -> set[str]:
    """Every metric of a check that found drift."""
    finding = Finding("web", "opsconsole_host.web", "opsconsole_host", Bucket.MISSING)
    moment = "2026-01-05T08:00:00+00:00"
    report = DriftReport((finding,), moment, calls={"search_specialties": 1})
    families = text_string_to_metric_families(prometheus.render(report))
    return {sample.name for family in families for sample in family.samples}


def expressions(panel: Any) -> Iterator[str]:
    """Every query of a dashboard."""
    if isinstance(panel, dict):
        yield from (panel[name] for name in ("expr", "definition") if name in panel)
        for part in panel.values():
            yield from expressions(part)
    elif isinstance(panel, list):
        for part in panel:
            yield from expressions(part)


def test_every_metric_that_they_name_is_exported():
    board = json.loads(DASHBOARD.read_text())
    rules = re.findall(r"^\s+expr: (.*)$", RULES.read_text(), re.MULTILINE)
    named = {name for text in [*rules, *expressions(board)] for name in METRIC.findall(text)}
    assert len(named) > 8
    assert named - exported() == set()


def test_the_panels_stand_beside_each_other():
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        place = panel["gridPos"]
        columns = range(place["x"], place["x"] + place["w"])
        cells = {(x, y) for x in columns for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken
        assert max(columns) < 24
        taken |= cells
