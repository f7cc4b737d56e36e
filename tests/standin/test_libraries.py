"""A library that drives Terraform drives the stand-in."""

from __future__ import annotations

import os

import pytest

PROGRAM = {
    "variable": {"name": {"type": "string"}},
    "resource": {"opsconsole_host": {"web": {"name": "${var.name}"}}},
    "output": {"name": {"value": "${opsconsole_host.web.name}"}},
}


@pytest.fixture
def engine(standin, console_of, monkeypatch):
    """An empty folder with the program, whose environment is that of this process too."""
    made = standin(PROGRAM, console_of("strict"), init=False)
    for name in list(os.environ):
        if name.startswith(("TF_", "OPSCONSOLE_")):
            monkeypatch.delenv(name)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    return made


def test_tftest(engine) -> None:
    import tftest

    test = tftest.TerraformTest(str(engine.folder), binary=str(engine.program))
    test.setup()
    plan = test.plan(output=True, tf_vars={"name": "web"})
    assert plan.resources["opsconsole_host.web"]["values"]["name"] == "web"
    assert plan.outputs == {"name": "web"}
    test.apply(tf_vars={"name": "web"})
    assert test.output()["name"] == "web"
    assert test.state_pull().outputs == {"name": "web"}
    test.destroy(tf_vars={"name": "web"})
    assert addresses(engine) == []


def addresses(engine):
    return engine.run("state", "list").out.split()
