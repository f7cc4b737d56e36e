"""The README's three ways in: its files and commands are read out of it, and run as they stand."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from scripts.release.environments import make_environment
from scripts.setup import cache

from engines import ROOT, Engine, run_program
from opsconsole.emulator import Emulator, profiles, serve

README = (ROOT / "README.md").read_text("utf-8")
WAYS = ("With cdktf or cdktn", "With Terraform alone", "With neither")
EXTRAS = {
    "emulator": ("starlette", "opsconsole emulator --seconds 0"),
    "prometheus": ("prometheus_client", "opsconsole drift --format prometheus"),
    "terraform": ("google", "opsconsole provider install --plugin-dir mirror"),
}
"""Extra to a package that it brings, and a command that misses it."""
NAMES = ("OPSCONSOLE_BASE_URL", "OPSCONSOLE_API_KEY", "OPSCONSOLE_EMULATOR_PID")


@dataclass(frozen=True)
class Way:
    """One box: what is written into the folder, and what is typed there."""

    files: dict[str, str]
    commands: list[str]

    def for_cdktn(self) -> Way:
        """Rewrite it as the README says."""

        def rewrite(text: str) -> str:
            return text.replace("cdktf-cli@0.21", "cdktn-cli@0.24").replace("cdktf", "cdktn")

        files = {name: rewrite(text) for name, text in self.files.items()}
        return Way(files, list(map(rewrite, self.commands)))


def way(title: str) -> Way:
    (section,) = re.findall(rf"^### {title}\n(.*?)(?=^##)", README, re.DOTALL | re.MULTILINE)
    files = re.findall(r"^`([\w.]+)`\n\n```\w+\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    (commands,) = re.findall(r"^```sh\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    return Way(dict(files), commands.splitlines())


def walk(chosen: Way, folder: Path, wheel: Path, home: Path, *first_on_path: Path) -> int:
    """Do what the box says in `folder`; look at the console, and return how many agents it has.

    Packages come from the store that `make setup` filled: no network, and the locked versions.
    """
    folder.mkdir()
    home.mkdir()
    shutil.copy(wheel, folder)
    for name, text in chosen.files.items():
        (folder / name).write_text(text)
    told = "\n".join(f'echo "${name}" >> told' for name in NAMES)
    script = "\n".join(["set -eu", f"trap '{told}' EXIT", *chosen.commands])
    environment = fresh_environment(home, *first_on_path)
    seen = run_program("bash", "-c", script, folder=folder, environment=environment, expect=None)
    said = (folder / "told").read_text().split() if (folder / "told").exists() else []
    assert len(said) == len(NAMES), seen.text
    console = Emulator(said[0], said[1], profiles()["default"])
    try:
        assert seen.code == 0, seen.text
        assert [host["name"] for host in console.rows("hosts")] == ["web-1"]
        return len(console.rows("agents"))
    finally:
        os.kill(int(said[2]), signal.SIGTERM)


def fresh_environment(home: Path, *first_on_path: Path) -> dict[str, str]:
    """The environment of a user who has Python and npm, and nothing of this checkout.

    npm fetches what is not in its cache, and trusts the certificates that this machine trusts.
    """
    inherited = os.environ["PATH"].split(os.pathsep)
    path = [str(Path(sys.base_prefix) / "bin"), *inherited]
    plain = [part for part in path if not part.startswith(str(ROOT))]
    trusted = "NODE_EXTRA_CA_CERTS"
    return {
        **({trusted: os.environ[trusted]} if trusted in os.environ else {}),
        "PATH": os.pathsep.join([*map(str, first_on_path), *plain]),
        "HOME": str(home),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(cache() / "wheels"),
        "PIP_NO_COMPILE": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "CHECKPOINT_DISABLE": "1",
        "npm_config_cache": str(Path.home() / ".npm"),
        "npm_config_prefer_offline": "true",
    }


@pytest.mark.parametrize("title", WAYS)
def test_each_way_takes_five_commands(title):
    chosen = way(title)
    assert len(chosen.commands) == 5
    assert chosen.files


def test_without_extras_there_is_all_that_plans_applies_and_checks_drift(wheel, tmp_path):
    chosen = way("With neither")
    commands = make_environment(tmp_path / "environment", wheel).parent
    for name, text in chosen.files.items():
        (tmp_path / name).write_text(text)
    with serve() as console:
        environment = console.environment | {"HOME": str(tmp_path), "PATH": str(commands)}
        run = partial(run_program, "/bin/sh", "-c", folder=tmp_path, environment=environment)
        for command in ("opsconsole plan", *chosen.commands[3:]):
            run(command)
        assert [host["name"] for host in console.rows("hosts")] == ["web-1"]
        for extra, (package, command) in EXTRAS.items():
            seen = run(command, expect={1})
            assert f"'opsconsole[{extra}]'" in seen.err
            assert package in seen.err
            assert "Traceback" not in seen.err


@pytest.mark.release
@pytest.mark.parametrize(
    ("title", "agents"),
    [
        pytest.param("With cdktf or cdktn", 1, marks=pytest.mark.cdktf),
        pytest.param("With Terraform alone", 0, marks=pytest.mark.terraform),
        ("With neither", 0),
    ],
)
def test_a_way_ends_with_a_deployed_host(title, agents, tmp_path, wheel):
    assert walk(way(title), tmp_path / "empty", wheel, tmp_path / "home") == agents


@pytest.mark.release
@pytest.mark.cdktn
def test_the_way_with_cdktn_ends_with_a_deployed_host(tmp_path, wheel, newer_node):
    chosen = way("With cdktf or cdktn").for_cdktn()
    assert walk(chosen, tmp_path / "empty", wheel, tmp_path / "home", newer_node) == 1


@pytest.mark.terraform
def test_the_program_in_hcl_is_deployed(terraform):
    with serve() as console:
        engine = terraform({}, console)
        (engine.folder / "main.tf.json").unlink()
        (engine.folder / "main.tf").write_text(way("With Terraform alone").files["main.tf"])
        engine.apply()
        assert engine.plan().code == 0
        assert [host["name"] for host in console.rows("hosts")] == ["web-1"]


@pytest.mark.cdktf
@pytest.mark.real_client
def test_the_exit_to_hcl_keeps_the_state(cdktf_cli, installed_terraform):
    """Deployed with the library alone, written as HCL, planned by Terraform on the same state."""
    with serve() as console:
        app = cdktf_cli(console)
        for name, text in way("With cdktf or cdktn").files.items():
            (app.folder / name).write_text(text.replace("python main", f"{sys.executable} main"))
        Engine(Path(sys.executable).with_name("opsconsole"), app.folder, app.environment).run(
            "apply", "-auto-approve"
        )
        app.run("synth", "--hcl")
        engine = installed_terraform({}, console)
        (engine.folder / "main.tf.json").unlink()
        written = app.folder / "cdktf.out" / "stacks" / "web" / "cdk.tf"
        (engine.folder / "main.tf").write_text(written.read_text())
        engine.init()  # the program names the state's place
        assert engine.plan().code == 0


def test_every_command_of_make_is_there():
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"make (\w+)", README)) <= set(targets)
