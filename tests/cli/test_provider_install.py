"""The mirror that `provider install` writes, its launcher, and what the user is told."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from engines import Run, run_program
from opsconsole import __version__
from opsconsole.address import DEFAULT_HOSTS, FULL_ADDRESS, SOURCE
from opsconsole.cli import main as command
from opsconsole.cli import provider_install
from opsconsole.errors import UserError
from opsconsole.resources import DATA_SOURCES, RESOURCES

PLUGIN = "This program is a Terraform provider"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own, with no settings in it."""
    for name in ("TF_CLI_CONFIG_FILE", "XDG_DATA_HOME", "XDG_DATA_DIRS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def started(launcher: Path, **variables: str) -> Run:
    """Start a launcher as a reader of its README would: by hand, from anywhere."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("TF_PLUGIN")}
    return run_program(launcher, folder=Path("/"), environment=kept, expect={1}, **variables)


def files(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file below `folder`, with what changes when it is written again."""
    return {
        str(path.relative_to(folder)): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_layout_is_that_of_a_filesystem_mirror(tmp_path):
    launchers = provider_install.install(tmp_path)

    name = f"{provider_install._COMMAND}_v{__version__}"
    assert launchers == [
        tmp_path / host / SOURCE / __version__ / system / name
        for host in DEFAULT_HOSTS
        for system in provider_install.platforms()
    ]
    assert all(os.access(launcher, os.X_OK) for launcher in launchers)
    assert all([*launcher.parent.iterdir()] == [launcher] for launcher in launchers)


def test_installing_again_touches_nothing(tmp_path):
    provider_install.install(tmp_path)
    before = files(tmp_path)
    provider_install.install(tmp_path)
    assert files(tmp_path) == before


@pytest.mark.parametrize("damaged", [b"damaged", b"\x7fELF\xff"], ids=["text", "binary"])
def test_a_damaged_launcher_is_mended(damaged, tmp_path):
    launcher = provider_install.install(tmp_path)[0]
    text = launcher.read_text()
    launcher.write_bytes(damaged)
    launcher.chmod(0o644)
    provider_install.install(tmp_path)
    assert launcher.read_text() == text
    assert os.access(launcher, os.X_OK)


def test_versions_stand_side_by_side(tmp_path, monkeypatch):
    old = provider_install.install(tmp_path)[0]
    monkeypatch.setattr(provider_install, "__version__", "9.9.9")
    new = provider_install.install(tmp_path)[0]
    assert old.exists()
    assert new.name == "terraform-provider-opsconsole_v9.9.9"
    assert new.parent.parent.name == "9.9.9"


def test_the_launcher_says_nothing_of_this_machine(tmp_path):
    launcher = provider_install.install(tmp_path)[0]
    (tmp_path / "venv").symlink_to(sys.prefix)
    elsewhere = provider_install.install(tmp_path / "2", str(tmp_path / "venv/bin/python"))[0]
    assert launcher.read_text() == elsewhere.read_text()
    assert sys.prefix not in launcher.read_text()


def test_the_launcher_starts_the_provider_through_a_link(tmp_path):
    launcher = provider_install.install(tmp_path / "mirror")[0]
    linked = tmp_path / "linked"
    linked.symlink_to(launcher.parent)
    seen = started(linked / launcher.name, PYTHONPATH="/nowhere", PYTHONHASHSEED="wrong")
    assert seen.out == ""
    assert PLUGIN in seen.err


def test_a_copied_package_takes_the_command_on_path(tmp_path):
    launcher = provider_install.install(tmp_path / "mirror")[0]
    copied = shutil.copytree(launcher.parent, tmp_path / "copied") / launcher.name
    scripts = Path(sys.executable).parent
    assert PLUGIN in started(copied, PATH=f"{scripts}:/usr/bin:/bin").err
    lost = started(copied, PATH="/usr/bin:/bin")
    assert "opsconsole provider install" in lost.err


def test_a_python_that_is_gone_is_reported(tmp_path):
    (tmp_path / "venv").symlink_to(sys.prefix)
    launcher = provider_install.install(tmp_path / "mirror", str(tmp_path / "venv/bin/python"))[0]
    (tmp_path / "venv").unlink()
    lost = started(launcher, PATH="/usr/bin:/bin")
    assert "is gone" in lost.err


@pytest.mark.parametrize("python", ["/nowhere/python", shutil.which("false") or "/bin/false"])
def test_a_python_without_the_provider_is_refused(python, tmp_path):
    with pytest.raises(UserError, match="cannot start the provider"):
        provider_install.install(tmp_path, python)
    assert not [*tmp_path.iterdir()]


def test_a_folder_that_cannot_be_written_is_reported(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert command.main(["provider", "install", "--plugin-dir", str(tmp_path / "file/x")]) == 1
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("system", "machine", "expected"),
    [
        ("Linux", "x86_64", ["linux_amd64"]),
        ("Linux", "aarch64", ["linux_arm64"]),
        ("Linux", "armv7l", ["linux_arm"]),
        ("Linux", "s390x", ["linux_s390x"]),
        ("Darwin", "arm64", ["darwin_amd64", "darwin_arm64"]),
        ("FreeBSD", "amd64", ["freebsd_amd64"]),
    ],
)
def test_platforms_have_terraforms_names(system, machine, expected):
    assert provider_install.platforms(system, machine) == expected


def test_windows_is_refused_with_a_remedy():
    with pytest.raises(UserError, match="WSL"):
        provider_install.platforms("Windows", "AMD64")


def test_by_default_terraform_needs_no_setting(home, capsys):
    assert command.main(["provider", "install"]) == 0
    assert (home / ".terraform.d/plugins" / DEFAULT_HOSTS[0] / SOURCE / __version__).is_dir()
    assert "look there by default" in capsys.readouterr().out


def test_another_folder_needs_a_setting(home, tmp_path, capsys):
    folder = tmp_path / "my plugins"
    assert command.main(["provider", "install", "--plugin-dir", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert f"export TF_CLI_CONFIG_FILE='{folder}/opsconsole.tfrc'" in shown
    assert f'path    = "{folder}"' in shown
    assert (folder / "opsconsole.tfrc").read_text() == provider_install.configuration(folder)


@pytest.mark.parametrize("name", [".terraformrc", ".tofurc", "named"])
def test_the_users_own_settings_are_noticed(name, home, monkeypatch, capsys):
    home.mkdir()
    settings = home / name
    settings.write_bytes(b"# caf\xe9\nprovider_installation {\n  direct {}\n}\n")
    if name == "named":
        monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(settings))
    assert command.main(["provider", "install"]) == 0
    assert f"{settings} has a provider_installation block" in capsys.readouterr().out


def test_every_implied_mirror_is_known(home, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    monkeypatch.setenv("XDG_DATA_DIRS", "/a:/b")
    assert provider_install.implied_folders() == [
        home / ".terraform.d/plugins",
        Path.cwd() / "terraform.d/plugins",
        Path("/data/terraform/plugins"),
        Path("/a/terraform/plugins"),
        Path("/b/terraform/plugins"),
    ]


@pytest.mark.terraform
def test_init_installs_from_the_mirror(installed_terraform, tmp_path):
    """The lock file serves another machine too."""
    engine = installed_terraform({"resource": {"opsconsole_host": {"web": {"name": "web"}}}})
    schemas = json.loads(engine.run("providers", "schema", "-json").out)["provider_schemas"]
    schema = schemas[FULL_ADDRESS]
    assert set(schema["resource_schemas"]) == set(RESOURCES)
    assert set(schema["data_source_schemas"]) == set(DATA_SOURCES)
    lock = (engine.folder / ".terraform.lock.hcl").read_text()
    assert f'version = "{__version__}"' in lock

    (tmp_path / "venv").symlink_to(sys.prefix)
    provider_install.install(tmp_path / "mirror", str(tmp_path / "venv" / "bin" / "python"))
    engine.run("init", "-lockfile=readonly", f"-plugin-dir={tmp_path / 'mirror'}")
    assert (engine.folder / ".terraform.lock.hcl").read_text() == lock
