"""Outputs that hold nulls: Terraform finds the types that it would have written itself."""

import pytest

OUTPUTS = {
    "one": "${opsconsole_host.web[0].public_ip}",
    "each": "${opsconsole_host.web[*].public_ip}",
    "some": "${[for host in opsconsole_host.web : {ip = host.private_ip, port = host.knowledge}]}",
    "whole": "${opsconsole_host.web[1]}",
    "all": "${opsconsole_host.web}",
    "either": "${[opsconsole_host.web[0].public_ip == null ? null : true]}",
    "variable": "${[var.nothing, var.shape.size]}",
    "by_name": "${{for host in opsconsole_host.web : host.name => host.jump_host_ids}}",
    "never": "${[null]}",
}
VARIABLES = {
    "nothing": {"type": "string", "default": None},
    "shape": {"type": "object({size = optional(number)})", "default": {}},
}


@pytest.mark.terraform
def test_terraform_has_nothing_to_change_in_them(native_on, terraform):
    native = native_on("sparse")
    engine = terraform({}, native.console)
    for name, value in engine.environment.items():
        native.monkeypatch.setenv(name, value)
    native.folder = engine.folder
    engine.write(
        {
            "resource": {"opsconsole_host": {"web": {"count": 2, "name": "web-${count.index}"}}},
            "variable": VARIABLES,
            "output": {name: {"value": value} for name, value in OUTPUTS.items()},
        }
    )

    native.run("apply", "-auto-approve")
    written = engine.state()["outputs"]
    judged = engine.plan_run()
    engine.run("apply", "-auto-approve", "-refresh-only", "-no-color")

    assert judged.code == 0, judged.text
    assert {name: item.get("type") for name, item in written.items()} == {
        name: item.get("type") for name, item in engine.state()["outputs"].items()
    }
    native.run("plan", "-detailed-exitcode")
