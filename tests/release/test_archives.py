"""A release's packages, archives, sums and mirror, as pip, registries and Terraform read them."""

import json
import re
import subprocess
import sys
import zipfile
from importlib.metadata import metadata
from pathlib import Path

import pytest
from scripts.cdktn_twin import rename
from scripts.release.archive import LEFT_OUT, pack, this_platform
from scripts.release.environments import make_environment
from scripts.release.publication import (
    MANIFEST,
    STEM,
    SUMS,
    write_manifest,
    write_mirror,
    write_sums,
)

import opsconsole
from engines import ROOT, run_program
from opsconsole.address import DEFAULT_HOSTS, SOURCE
from opsconsole.cli import provider_install
from opsconsole.emulator import serve
from opsconsole.errors import missing_package
from type_checking import assert_refused_lines, check_types

TOOLS = Path(sys.executable).parent
PROGRAM = {
    "terraform": {"required_providers": {"opsconsole": {"source": SOURCE}}},
    "resource": {"opsconsole_host": {"web": {"name": "web-1"}}},
}
ARCHIVE = re.compile(r"terraform-provider-opsconsole_\d+\.\d+\.\d+_[a-z]+_[a-z0-9]+\.zip")


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """A release whose archive holds the launcher of the installed provider: quick to make."""
    (launcher, *_) = provider_install.install(tmp_path / "installed")
    script = tmp_path / "frozen" / launcher.name
    script.parent.mkdir()
    command = TOOLS / "terraform-provider-opsconsole"
    script.write_text(f"#!/bin/sh\nexec {command}\n")
    script.chmod(0o755)
    folder = tmp_path / "dist"
    folder.mkdir()
    pack(script.parent, folder / f"{STEM}_{this_platform()}.zip")
    write_manifest(folder)
    write_sums(folder)
    write_mirror(folder)
    return folder


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """Run a program with nothing in its environment but `variables`; it must succeed."""
    return run_program(*command, folder=cwd, environment=variables).out


def initialised(folder: Path, terraform: Path, dist: Path) -> dict[str, str]:
    """Write a program and let `terraform init` take the provider from the mirror."""
    folder.mkdir()
    (folder / "main.tf.json").write_text(json.dumps(PROGRAM))
    configuration = folder / "terraform.rc"
    block = f'filesystem_mirror {{\n path = "{dist / "mirror"}"\n }}'
    configuration.write_text(f"provider_installation {{\n {block}\n}}\n")
    environment = {"HOME": str(folder), "TF_CLI_CONFIG_FILE": str(configuration)}
    run(terraform, "init", cwd=folder, **environment)
    return environment


def test_the_sums_are_right(dist):
    assert run("/usr/bin/sha256sum", "--check", "--strict", SUMS, cwd=dist)
    named = {line.split()[1] for line in (dist / SUMS).read_text().splitlines()}
    assert named == {MANIFEST, *(path.name for path in dist.glob("*.zip"))}


def test_the_registry_finds_what_it_asks_for(dist):
    assert [path.name for path in dist.glob("*.zip") if not ARCHIVE.fullmatch(path.name)] == []
    assert json.loads((dist / MANIFEST).read_text()) == {
        "version": 1,
        "metadata": {"protocol_versions": ["6.0"]},
    }
    (archive,) = dist.glob("*.zip")
    with zipfile.ZipFile(archive) as opened:
        executable = opened.getinfo(f"terraform-provider-opsconsole_v{opsconsole.__version__}")
        assert (executable.external_attr >> 16) & 0o777 == 0o755


def test_the_same_content_gives_the_same_archive(dist, tmp_path):
    (archive,) = dist.glob("*.zip")
    (copy := tmp_path / "copy").mkdir()
    with zipfile.ZipFile(archive) as opened:
        for member in reversed(opened.infolist()):
            Path(opened.extract(member, copy)).chmod((member.external_attr >> 16) & 0o777)
    pack(copy, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()


@pytest.mark.terraform
def test_terraform_takes_the_provider_from_the_mirror(dist, tmp_path, terraform_binary):
    folder = tmp_path / "program"
    initialised(folder, terraform_binary, dist)
    locked = (folder / ".terraform.lock.hcl").read_text()
    for host in DEFAULT_HOSTS:
        served = dist / "mirror" / host / SOURCE
        listed = json.loads((served / f"{opsconsole.__version__}.json").read_text())["archives"]
        assert (served / listed[this_platform()]["url"]).is_file()
        assert listed[this_platform()]["hashes"][0] in locked


def test_wheel_and_sdist_pass_the_checks_of_the_index(packages):
    files = [*packages.glob("*.whl"), *packages.glob("*.tar.gz")]
    assert len(files) == 2
    run(TOOLS / "twine", "check", "--strict", *files, cwd=packages)


def test_the_wheel_holds_the_packages_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
    folders = {name.partition("/")[0] for name in names}
    information = f"opsconsole-{opsconsole.__version__}.dist-info"
    assert folders == {"opsconsole", "opsconsole_cdktf", "opsconsole_cdktn", information}
    assert {f"{folder}/py.typed" for folder in folders - {information}} <= set(names)
    assert f"{information}/licenses/NOTICE" in names


def test_the_sdist_gives_the_same_wheel(packages, wheel, tmp_path):
    (archive,) = packages.glob("*.tar.gz")
    subprocess.run(("tar", "-xf", archive, "-C", tmp_path), check=True)
    build = ("hatchling", "build", "--target", "wheel", "--directory", tmp_path)
    run(sys.executable, "-m", *build, cwd=tmp_path / f"opsconsole-{opsconsole.__version__}")
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


@pytest.mark.real_client
def test_a_strict_type_checker_sees_the_constructs_in_the_wheel(wheel, tmp_path, monkeypatch):
    python = make_environment(tmp_path / "environment", wheel, "cdktn")
    program = tmp_path / "program.py"
    source = Path(__file__).parents[1] / "cdktf" / "typed_program.py"
    program.write_text(rename(source.read_text("utf-8")), "utf-8")
    monkeypatch.chdir(tmp_path)
    assert_refused_lines(program, f"--python-executable={python}")


def test_the_provider_imports_nothing_that_its_archive_leaves_out():
    program = f"""
import pkgutil, sys
sys.modules.update(dict.fromkeys({LEFT_OUT!r}))
import opsconsole.lifecycle, opsconsole.resources, opsconsole.terraform, opsconsole.v1
for room in (opsconsole.lifecycle, opsconsole.resources, opsconsole.terraform, opsconsole.v1):
    for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
        __import__(module.name)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.release
@pytest.mark.terraform
def test_the_archives_provider_needs_no_python(released, tmp_path, terraform_binary):
    folder = tmp_path / "program"
    environment = initialised(folder, terraform_binary, released)
    with serve() as console:
        environment |= console.environment
        apply = ("apply", "-auto-approve", "-no-color")
        assert "1 added" in run(terraform_binary, *apply, cwd=folder, **environment)
        assert [host["name"] for host in console.rows("hosts")] == ["web-1"]
        run(terraform_binary, "destroy", "-auto-approve", cwd=folder, **environment)


@pytest.mark.release
def test_the_release_has_all_its_parts(released):
    version = opsconsole.__version__
    archive = released / f"{STEM}_{this_platform()}"
    assert run("/usr/bin/sha256sum", "--check", "--strict", SUMS, cwd=released)
    with zipfile.ZipFile(archive.with_name(f"{archive.name}.zip")) as opened:
        names = opened.namelist()
    assert {"LICENSE", "NOTICE", "licenses/Python.txt"} <= set(names)
    bill = json.loads(archive.with_name(f"{archive.name}.cdx.json").read_text())
    listed = {item["name"].lower() for item in bill["components"]}
    assert {"opsconsole", "cryptography", "grpclib", "cpython", "openssl"} <= listed
    assert not {"pyinstaller", "uvloop", "cdktf"} & listed
    whole = json.loads((released / f"opsconsole-{version}.cdx.json").read_text())
    assert {"cdktf", "boto3", "grpclib"} <= {item["name"].lower() for item in whole["components"]}


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
