"""The whole way on a backend that only terraform can speak to: both engines, one state in `pg`."""

from pathlib import Path

import pytest

from declarations import agent_on
from opsconsole.address import SOURCE
from postgres_server import running_postgres

HOST = {"name": "web", "tags": ["role:web"]}
AGENT = agent_on("web", "web", plugin_ids=["plg_disk"])


@pytest.mark.terraform
def test_both_engines_share_a_remote_state(native, terraform):
    with running_postgres() as connection:
        engine = terraform({}, native.console)
        settings = {
            "required_providers": {"opsconsole": {"source": SOURCE}},
            "backend": {"pg": {"conn_str": connection}},
        }
        resources = {"opsconsole_host": {"web": HOST}, "opsconsole_agent": {"web": AGENT}}
        engine.write({"terraform": settings, "resource": resources})
        engine.init("-reconfigure")
        for name, value in engine.environment.items():
            native.monkeypatch.setenv(name, value)
        native.folder = engine.folder

        native.run("apply", "-auto-approve")
        assert engine.plan_run().code == 0

        resources["opsconsole_host"]["web"] = HOST | {"knowledge": "by Terraform"}
        engine.write({"terraform": settings, "resource": resources})
        engine.apply()
        assert "No changes." in native.run("plan", "-detailed-exitcode").out
        native.run("drift")

        saved = Path("plan.bin")
        native.run("plan", "-destroy", f"-out={saved}")
        native.run("apply", str(saved))
        assert engine.resources() == {}
        assert list(engine.folder.glob("*.tfstate*")) == []
