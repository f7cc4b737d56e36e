"""The command `opsconsole drift`: exit codes, coverage, formats, and what it refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from opsconsole.v1.exchange import Operation
from opsconsole.v1.operations import OPERATIONS

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/schemas/drift-report-1.schema.json").read_text())
WEB = "opsconsole_host.web[0]"


@pytest.fixture
def drifted(ground: Any, world: Any) -> Any:
    """The world with one host changed behind its back."""
    ground.apply(world())
    ground.console.change("hosts", ground.id_of(WEB), tags=["owner:me"])
    return ground


def test_every_format_at_once(drifted):
    folder = drifted.folder / "reports"
    files = {
        name: folder / f"drift.{name}"
        for name in ("terminal", "json", "markdown", "junit", "prometheus", "html")
    }
    words = [word for name, file in files.items() for word in ("--format", f"{name}={file}")]
    _, out, err = drifted.run("drift", *words, expect=2)
    assert out == ""
    assert err == "Drift. 1 resource drifted.\n"
    document = json.loads(files["json"].read_text())
    jsonschema.validate(document, SCHEMA)
    assert document["summary"]["buckets"]["changed"] == 1
    assert document["method"].startswith(
        "Hosts were read by an empty update (POST /api/v1/hosts/{id}), which changes no field"
    )
    assert WEB in files["terminal"].read_text()
    assert "owner:me" in files["markdown"].read_text()
    assert ElementTree.parse(files["junit"]).getroot().get("failures") == "1"
    counted = [
        line
        for line in files["prometheus"].read_text().splitlines()
        if line.startswith("opsconsole_drift_drifted_resources")
    ]
    assert [line.rpartition(" ")[2] for line in counted] == ["1.0"]
    assert "<html" in files["html"].read_text()


def test_the_terminal_is_the_default(drifted):
    _, out, err = drifted.run("drift", expect=2)
    assert err == ""
    assert WEB in out
    assert out.rstrip().splitlines()[-4].startswith("Drift. 1 resource drifted.")
    assert "\x1b[" not in out


@pytest.mark.parametrize("word", ["json", "json=-"])
def test_stdout_holds_the_one_format_that_goes_there(word, drifted):
    file = drifted.folder / "drift.md"
    _, out, err = drifted.run("drift", "--format", word, "--format", f"markdown={file}", expect=2)
    assert json.loads(out)["format"] == "opsconsole-drift"
    assert file.exists()
    assert err == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--format", "yaml"), "there is no format 'yaml'; there are terminal, json"),
        (("--format", "json="), "names no file"),
        (("--format", "json", "--format", "html"), "Two formats would go to stdout"),
        (("--format", "json=a", "--format", "html=./a"), "Two formats would go to"),
        (("--min-coverage", "101"), "not a percentage"),
        (("--min-coverage", "all"), "not a percentage"),
        (("--count-unmanaged", "tasks"), "is not specialties, hosts"),
    ],
)
def test_wrong_words(words, said, ground, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    ground.console.reset_log()
    code, out, err = ground.run("drift", *words)
    assert (code, out) == (1, "")
    assert said in err
    assert ground.console.requests() == []


def test_a_file_that_cannot_be_written_is_an_error(drifted):
    (drifted.folder / "taken").write_text("")
    good = drifted.folder / "good.json"
    _, _, err = drifted.run(
        "drift", "--format", "html=taken/drift.html", "--format", f"json={good}", expect=1
    )
    assert "taken/drift.html cannot be written" in err
    assert good.exists()


def test_a_file_is_replaced_whole_and_keeps_nothing_beside_it(drifted):
    folder = drifted.folder / "metrics"
    file = folder / "drift.prom"
    for words in ((f"prometheus={file}",), ("prometheus", "--out", str(file))):
        code, out, _ = drifted.run("drift", "--format", *words)
        assert (code, out) == (2, "")
    assert [item.name for item in folder.iterdir()] == ["drift.prom"]


def test_a_device_and_a_link_are_written_through(drifted):
    link = drifted.folder / "link.md"
    link.symlink_to("target.md")
    _, _, err = drifted.run(
        "drift", "--format", "json=/dev/null", "--format", f"markdown={link}", expect=2
    )
    assert Path("/dev/null").is_char_device()
    assert err.startswith("Drift.")
    assert link.is_symlink()
    assert "Drift" in link.resolve(strict=True).read_text()


def test_min_coverage(ground_on, world):
    ground = ground_on("blind")
    ground.apply(world())
    # 3 hosts cannot be read; 2 attachments, 1 specialty and 2 blacklist entries can.
    found = ground.drift()
    coverage = found.document["summary"]["coverage"]
    assert coverage["required_percent"] == 62.5
    assert coverage["minimum_percent"] == 100
    assert found.code == 1
    assert ground.drift("--min-coverage", "62.5").code == 0
    assert ground.drift("--min-coverage", "62.6%").code == 1
    ground.console.change("specialties", "spc_linux", prompt="changed")
    assert ground.drift("--min-coverage", "50").code == 2
    found = ground.drift(expect=1)
    assert found.drifted == {"opsconsole_specialty.linux"}


def test_colour_only_on_a_terminal(drifted):
    command = [sys.executable, "-m", "opsconsole.cli.main", "drift"]
    environment = {
        name: value
        for name, value in {**os.environ, **drifted.console.environment}.items()
        if name not in ("NO_COLOR", "FORCE_COLOR")
    }

    def shown(*words: str) -> str:
        typed = " ".join([*command, *words])
        done = subprocess.run(
            ["script", "-qec", typed, "/dev/null"],
            capture_output=True,
            text=True,
            cwd=drifted.folder,
            env={**environment, "TERM": "xterm"},
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 2, done.stdout
        return done.stdout

    assert "\x1b[" in shown()
    assert "\x1b[" not in shown("--no-color")


def test_what_many_have_in_common_is_said_once(ground, world):
    ground.apply(world(hosts=12))
    for row in ground.console.rows("hosts"):
        ground.console.change("hosts", row["id"], knowledge="changed")
    _, out, _ = ground.run("drift", expect=2)
    assert out.count("no documented operation reads agents") == 1
    assert "and 10 more agents; the other formats list all" in out
    assert out.count("knowledge") == 13


def test_the_report_asks_the_console_how_hosts_are_read(ground_on, monkeypatch):
    """A read that comes to be documented is used, and reported, without a setting."""
    ground = ground_on("extended")
    ground.apply({"resource": {"opsconsole_host": {"web": {"name": "web"}}}})
    document = json.loads((ground.folder / "main.tf.json").read_text())
    document["provider"]["opsconsole"][0].pop("extra_endpoints")
    (ground.folder / "main.tf.json").write_text(json.dumps(document))
    operation = Operation("host_get", "GET", "/api/v1/hosts/{id}", True, "Hosts")
    monkeypatch.setitem(OPERATIONS, "host_get", operation)
    for words in ((), ("--read-only",)):
        found = ground.drift(*words)
        assert found.document["method"] == "Hosts were read by GET /api/v1/hosts/{id} (host_get)."
        assert found.bucket("opsconsole_host.web") == "in_sync"
    ground.apply({})
    assert ground.drift().document["method"] == ""
