"""A library that drives Terraform drives the stand-in."""

import os

import pytest

PROGRAM = {
    "variable": {"name": {"type": "string"}},
    "resource": {"opsconsole_host": {"web": {"name": "${var.name}"}}},
    "output": {"name": {"value": "${opsconsole_host.web.name}"}},
}


@pytest.fixture
def engine(standin, commands, console_of, monkeypatch):
    """An empty folder with the program, whose environment is that of this process too."""
    made = standin(PROGRAM, console_of("strict"), init=False)
    made.program = commands / "opsconsole-terraform"
    for name in list(os.environ):
        if name.startswith(("TF_", "OPSCONSOLE_")):
            monkeypatch.delenv(name)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    return made


def test_tftest(engine):
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


@pytest.mark.filterwarnings("ignore:The 'warn' method:DeprecationWarning")
def test_python_terraform(engine):
    """Its calls, with the codes that they end with through Terraform 1.11."""
    from python_terraform import IsFlagged, IsNotFlagged, Terraform

    driver = Terraform(
        str(engine.folder), variables={"name": "web"}, terraform_bin_path=str(engine.program)
    )
    assert driver.init()[0] == 0
    assert driver.plan()[0] == 2
    assert driver.apply(skip_plan=True)[0] == 0
    assert driver.plan()[0] == 0
    assert driver.output()["name"] == {"sensitive": False, "type": "string", "value": "web"}
    assert driver.tfstate.resources[0]["type"] == "opsconsole_host"
    changed, out, err = driver.apply(skip_plan=True, var={"name": "two words"})
    assert (changed, "1 changed" in out, err) == (0, True, "")
    # The library asks for a flag that Terraform has no more, unless it is told not to.
    refused, _, err = driver.destroy()
    assert (refused, "-force" in err) == (1, True)
    assert driver.destroy(force=IsNotFlagged, auto_approve=IsFlagged)[0] == 0
    assert addresses(engine) == []


def addresses(engine):
    return engine.run("state", "list").out.split()
