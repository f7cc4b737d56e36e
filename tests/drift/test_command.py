"""The command `opsconsole drift`: exit codes, coverage, formats, and what it refuses."""

import json
import stat
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from published_schemas import follows_schema
from text_groups import read_rows

ROWS = read_rows(__file__)

WEB = "opsconsole_host.web[0]"


@pytest.fixture
def drifted(native: Any, world: Any) -> Any:
    """The world with one host changed behind its back."""
    native.apply(**world())
    native.console.change("hosts", native.id_of(WEB), tags=["owner:me"])
    return native


def test_every_format_at_once(drifted):
    folder = drifted.folder / "reports"
    folder.mkdir()
    files = {
        name: folder / f"drift.{name}"
        for name in ("terminal", "json", "markdown", "junit", "prometheus", "html")
    }
    words = [word for name, file in files.items() for word in ("--format", f"{name}={file}")]
    ran = drifted.run("drift", *words, expect=2)
    assert ran.out == ""
    assert ran.err == "Drift. 1 resource drifted.\n"
    document = json.loads(files["json"].read_text())
    assert follows_schema(document, "drift-report")
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


def test_terminal_is_the_default_format_and_stdout_takes_one(drifted):
    ran = drifted.run("drift", expect=2)
    assert ran.err == ""
    assert WEB in ran.out
    assert ran.out.rstrip().splitlines()[-4].startswith("Drift. 1 resource drifted.")
    assert "\x1b[" not in ran.out
    for word in ("json", "json=-"):
        file = drifted.folder / f"{word}.md"
        words = ("--format", word, "--format", f"markdown={file}")
        ran = drifted.run("drift", *words, expect=2)
        assert json.loads(ran.out)["format"] == "opsconsole-drift"
        assert file.exists()
        assert ran.err == ""


@pytest.mark.parametrize(*ROWS["test_wrong_options_are_refused"])
def test_wrong_options_are_refused(words, said, native, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    (native.folder / "sub").mkdir()
    (native.folder / "link").symlink_to("target")
    native.console.reset_log()
    ran = native.run("drift", *words, expect=1)
    assert ran.out == ""
    assert said in ran.err
    assert native.console.requests() == []


def test_a_file_is_replaced_whole_a_device_and_a_link_are_written_through(drifted):
    good = drifted.folder / "good.json"
    words = ("--format", "html=/dev/full", "--format", f"json={good}")
    refused = drifted.run("drift", *words, expect=1).err
    assert "/dev/full cannot be written" in refused
    assert good.exists()

    folder = drifted.folder / "metrics"
    folder.mkdir()
    file = folder / "drift.prom"
    mode = stat.S_IMODE(good.stat().st_mode)
    for words in ((f"prometheus={file}",), ("prometheus", "--out", str(file))):
        assert drifted.run("drift", "--format", *words, expect=2).out == ""
        assert stat.S_IMODE(file.stat().st_mode) == mode
        mode = 0o640
        file.chmod(mode)
    assert [item.name for item in folder.iterdir()] == ["drift.prom"]

    link = drifted.folder / "link.md"
    link.symlink_to("target.md")
    words = ("--format", "json=/dev/null", "--format", f"markdown={link}")
    assert drifted.run("drift", *words, expect=2).err.startswith("Drift.")
    assert Path("/dev/null").is_char_device()
    assert link.is_symlink()
    assert "Drift" in link.resolve(strict=True).read_text()


def test_min_coverage(native_on, world):
    native = native_on("blind")
    native.apply(**world())
    # 3 hosts cannot be read; 2 attachments, 1 specialty and 2 blacklist entries can.
    found = native.drift()
    coverage = found.document["summary"]["coverage"]
    assert coverage["required_percent"] == 62.5
    assert coverage["minimum_percent"] == 100
    assert found.code == 1
    assert native.drift("--min-coverage", "62.5").code == 0
    assert native.drift("--min-coverage", "62.6%").code == 1
    native.console.change("specialties", "spc_linux", prompt="changed")
    assert native.drift("--min-coverage", "50").code == 2
    assert native.drift(expect=1).drifted == {"opsconsole_specialty.linux"}


def test_colour_only_on_a_terminal(drifted):
    assert "\x1b[" in drifted.run_on_terminal("drift", expect=2)
    assert "\x1b[" not in drifted.run_on_terminal("drift", "--no-color", expect=2)


def test_common_reason_is_printed_once(native, world):
    native.apply(**world(hosts=12))
    for row in native.console.rows("hosts"):
        native.console.change("hosts", row["id"], knowledge="changed")
    ran = native.run("drift", expect=2)
    assert ran.out.count("no documented operation reads agents") == 1
    assert "and 10 more agents; the other formats list all" in ran.out
    assert ran.out.count("knowledge") == 13
