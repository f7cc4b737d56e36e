"""Right after an apply: no drift on any console that lets hosts be read, and what a check costs."""

import json
from typing import Any

import pytest

from consoles import CONSOLES
from declarations import attributes_in
from sampling import sample


@pytest.mark.parametrize("profile", sample(CONSOLES, 6, always=("default", "blind", "extended")))
def test_right_after_an_apply(profile, native_on, world):
    native = native_on(profile)
    native.write(**world())
    # A console that imports on a dry run takes several runs.
    for _ in range(1 if native.console.profile.honours_dry_run else 3):
        applied = native.run("apply", "-auto-approve", expect=None)
    assert applied.code == 0, applied.text
    native.console.reset_log()
    native.run("plan", "-refresh-only", "-no-color")
    refreshed = native.console.request_counts()
    check = in_sync if native.console.profile.hosts_readable else hosts_unchecked

    for _ in range(2):
        native.console.reset_log()
        found = native.drift()
        check(native, found)
        # A check costs what a refresh of the reconciler costs, and never one call more.
        assert native.console.request_counts() == refreshed
        assert sum(found.document["calls"].values()) == sum(refreshed.values())
    nothing_but_get(native)


def in_sync(native: Any, found: Any) -> None:
    """There is no drift; agents are in sync only where an operation reads them."""
    assert found.code == 0, json.dumps(found.document, indent=1)
    assert found.drifted == set()
    assert found.document["summary"]["coverage"]["required_percent"] == 100.0
    seen = found.addresses("in_sync")
    assert {item for item in attributes_in(native.state) if "_agent." not in item} <= seen
    readable = "agent_get" in native.console.provider_settings.get("extra_endpoints", {})
    for address in ("opsconsole_agent.ops[0]", "opsconsole_agent.whole"):
        assert found.bucket(address) == ("in_sync" if readable else "unchecked")
    if not readable:
        finding = found.of("opsconsole_agent.ops[0]")
        assert "no documented operation" in finding["reason"]
        assert {"name", "host_id", "main_engine"} <= set(finding["unobserved"])


def hosts_unchecked(native: Any, found: Any) -> None:
    """Hosts that cannot be read are never in sync."""
    assert found.code == 1
    hosts = {item for item in attributes_in(native.state) if "_host." in item}
    assert hosts <= found.addresses("unchecked")
    assert found.drifted == set()
    assert "empty update" in found.of("opsconsole_host.jump")["reason"]
    assert f"{len(hosts)} hosts could not be checked" in found.told
    assert "name it in extra_endpoints as host_get" in found.told


def nothing_but_get(native: Any) -> None:
    """With --read-only, nothing but GET leaves the process."""
    native.console.reset_log()
    found = native.drift("--read-only")
    assert {entry["method"] for entry in native.console.requests()} == {"GET"}
    assert found.document["read_only"] is True
    hosts = {item for item in attributes_in(native.state) if "_host." in item}
    if "host_get" in native.console.provider_settings.get("extra_endpoints", {}):
        assert found.code == 0
        assert hosts <= found.addresses("in_sync")
        assert "GET /api/v1/hosts/{id} (host_get)" in found.document["method"]
    else:
        assert found.code == 1
        assert hosts <= found.addresses("unchecked")
        assert "nothing but GET is allowed" in found.of("opsconsole_host.jump")["reason"]
        assert found.document["method"].startswith("Hosts were not read")
        assert native.drift("--read-only", "--min-coverage", "30").code == 0
