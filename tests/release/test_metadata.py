"""What the installed package says of itself: version, license, types, and its optional parts."""

import re
import subprocess
from importlib.metadata import metadata
from pathlib import Path

import opsconsole
from opsconsole.errors import missing_package
from type_checking import check_types

ROOT = Path(__file__).resolve().parents[2]
TYPED = """\
from opsconsole.emulator import serve

with serve() as console:
    address: str = console.base_url
    port: int = console.base_url
"""


def test_the_version_comes_from_one_place():
    assert metadata("opsconsole")["Version"] == opsconsole.__version__
    assert "version = " not in (ROOT / "pyproject.toml").read_text().partition("[tool")[0]


def test_every_document_names_this_version():
    places = ("*.md", "docs/*.md", "examples/*")
    listed = subprocess.run(["git", "ls-files", *places], cwd=ROOT, check=True, capture_output=True)
    pages = [ROOT / name for name in listed.stdout.decode().split()]
    form = re.compile(r"opsconsole(?:==|:|-|_)v?(\d+\.\d+\.\d+)")
    named = {
        (str(page.relative_to(ROOT)), version)
        for page in pages
        for version in form.findall(page.read_text("utf-8", "replace"))
    }
    assert named
    assert {item for item in named if item[1] != opsconsole.__version__} == set()


def test_the_license_is_named_and_shipped():
    said = metadata("opsconsole")
    assert said["License-Expression"] == "Apache-2.0"
    assert said.get_all("License-File") == ["LICENSE", "NOTICE"]
    assert "Version 2.0, January 2004" in (ROOT / "LICENSE").read_text()


def test_a_strict_type_checker_sees_the_types(tmp_path, monkeypatch):
    (tmp_path / "program.py").write_text(TYPED)
    monkeypatch.chdir(tmp_path)
    output, problems, _ = check_types("--strict", "--no-pretty", "program.py")
    assert problems == ""
    errors = re.findall(r"^program\.py:(\d+): error: .*\[([\w-]+)\]$", output, re.MULTILINE)
    assert errors == [("5", "assignment")], output


def test_a_package_of_no_extra_gets_no_advice():
    assert missing_package(ModuleNotFoundError("No module named 'x'", name="x")) is None
