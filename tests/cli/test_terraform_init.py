"""`terraform init` finds the installed provider without a registry, and it serves."""

import json
import sys

import pytest

from opsconsole import __version__
from opsconsole.address import FULL_ADDRESS
from opsconsole.cli.provider_install import install
from opsconsole.resources import DATA_SOURCES, RESOURCES

PROGRAM = {"resource": {"opsconsole_host": {"web": {"name": "web"}}}}


@pytest.mark.terraform
def test_init_takes_the_version_from_the_mirror(
    installed_terraform,
):
    engine = installed_terraform(PROGRAM)

    schemas = json.loads(engine.run("providers", "schema", "-json").out)["provider_schemas"]

    schema = schemas[FULL_ADDRESS]
    assert set(schema["resource_schemas"]) == set(RESOURCES)
    assert set(schema["data_source_schemas"]) == set(DATA_SOURCES)
    assert f'version = "{__version__}"' in (engine.folder / ".terraform.lock.hcl").read_text()


@pytest.mark.terraform
def test_the_lock_of_one_machine_serves_another(installed_terraform, tmp_path):
    engine = installed_terraform(PROGRAM)
    lock = (engine.folder / ".terraform.lock.hcl").read_text()
    (tmp_path / "venv").symlink_to(sys.prefix)
    install(tmp_path / "mirror", str(tmp_path / "venv" / "bin" / "python"))

    engine.run("init", "-lockfile=readonly", f"-plugin-dir={tmp_path / 'mirror'}")

    assert (engine.folder / ".terraform.lock.hcl").read_text() == lock
