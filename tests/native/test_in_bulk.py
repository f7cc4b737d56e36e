"""A refresh that compares hosts by the verdicts of dry runs (`host_read = "dry_run"`)."""

from __future__ import annotations

from typing import Any

IN_BULK = {
    "host_read": "dry_run",
    "host_read_same": "skipped",
    "host_read_differs": "updated",
    "host_read_fields": ["knowledge", "tags"],
}


def test_a_refresh_costs_one_request_and_one_for_each_host_that_changed(
    native: Any, fleet: Any
) -> None:
    native.settings.update(IN_BULK)
    native.write(fleet(40, agents=False, knowledge="old"))
    native.run("apply", "-auto-approve")
    changed = [row for row in native.console.rows("hosts") if row["name"] in ("web-3", "web-31")]
    for row in changed:
        native.console.change("hosts", row["id"], knowledge="new")
    native.console.reset_log()
    assert native.actions() == {
        "opsconsole_host.web[3]": ["update"],
        "opsconsole_host.web[31]": ["update"],
    }
    assert native.console.request_counts() == {"host_import": 1, "host_update": 2}
