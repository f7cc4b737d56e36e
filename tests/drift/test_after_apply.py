"""Right after an apply there is no drift, on every console that lets hosts be read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from engines import Terraform
from opsconsole.emulator.handle import Emulator
from opsconsole.emulator.profiles import profiles

World = Callable[..., dict[str, Any]]

READABLE = [name for name, profile in profiles().items() if profile.hosts_readable]
UNREADABLE = [name for name in profiles() if name not in READABLE]


@pytest.mark.parametrize("profile", READABLE)
def test_no_drift(profile: str, ground_on: Callable[..., Any], world: World) -> None:
    ground = ground_on(profile)
    ground.apply(world())

    for _ in range(2):
        found = ground.drift()
        assert found.code == 0, json.dumps(found.document, indent=1)
        assert found.drifted == set()
        assert found.document["summary"]["coverage"]["required_percent"] == 100.0
        seen = found.addresses("in_sync")
        assert {item for item in ground.state() if "_agent." not in item} <= seen


@pytest.mark.parametrize("profile", READABLE)
def test_agents_are_in_sync_only_where_an_operation_reads_them(
    profile: str, ground_on: Callable[..., Any], world: World
) -> None:
    ground = ground_on(profile)
    ground.apply(world())
    readable = "agent_get" in ground.console.provider_settings.get("extra_endpoints", {})
    found = ground.drift()
    for address in ("opsconsole_agent.ops[0]", "opsconsole_agent.whole"):
        assert found.bucket(address) == ("in_sync" if readable else "unchecked")
    if not readable:
        finding = found.of("opsconsole_agent.ops[0]")
        assert "no documented operation" in finding["reason"]
        assert {"name", "host_id", "main_engine"} <= set(finding["unobserved"])


@pytest.mark.parametrize("profile", UNREADABLE)
def test_hosts_that_cannot_be_read_are_never_in_sync(
    profile: str, ground_on: Callable[..., Any], world: World
) -> None:
    ground = ground_on(profile)
    ground.apply(world())
    found = ground.drift()
    assert found.code == 1
    hosts = {item for item in ground.state() if "_host." in item}
    assert hosts <= found.addresses("unchecked")
    assert found.drifted == set()
    assert "empty update" in found.of("opsconsole_host.jump")["reason"]
    assert "name it in extra_endpoints as host_get" in found.told


def test_a_console_that_bumps_updated_at_on_every_read(
    ground_on: Callable[..., Any], world: World
) -> None:
    ground = ground_on("bumping")
    ground.apply(world())
    before = ground.console.rows("hosts")
    assert ground.drift().code == 0
    after = ground.console.rows("hosts")
    assert [row["updated_at"] for row in before] != [row["updated_at"] for row in after]


@pytest.mark.terraform
def test_a_state_that_terraform_wrote(
    ground: Any, world: World, terraform: Callable[..., Terraform]
) -> None:
    console: Emulator = ground.console
    engine = terraform(world(), console)
    engine.apply()
    found = ground.drift(str(engine.folder / "terraform.tfstate"))
    assert found.code == 0, found.document
    before = (engine.folder / "terraform.tfstate").read_bytes()
    console.change("hosts", console.rows("hosts")[0]["id"], knowledge="new")
    assert ground.drift(str(engine.folder)).code == 2
    assert (engine.folder / "terraform.tfstate").read_bytes() == before
