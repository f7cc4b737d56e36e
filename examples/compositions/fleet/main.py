"""Hosts from a CSV file, with defaults for all of them and values for each group."""

from __future__ import annotations

from pathlib import Path

from cdktf import App, TerraformStack

from opsconsole_cdktf import Fleet, OpsconsoleProvider

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole")

fleet = Fleet.from_csv(
    stack,
    "site",
    Path(__file__).with_name("hosts.csv"),
    key="Hostname",
    columns={"Hostname": "name", "Address": "private_ip"},
    defaults={"ip_connect_mode": "private"},
    groups={
        "linux": {"target_type": "ssh", "target_port": 22},
        "windows": {"target_type": "winrm", "target_port": 5986, "skip_tls_verify": True},
    },
)
fleet.hosts["web-1"].knowledge = "Serves the public pages"

app.synth()
