"""Values that are known only during an apply obey the same rules."""

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("type_name", "declared", "said"),
    [
        (
            "opsconsole_blacklisted_command",
            {"id": "blk_format", "tenant_wide": True, "org_id": "${opsconsole_host.a.org_id}"},
            "Both org_id and tenant_wide = true are declared",
        ),
        (
            "opsconsole_host",
            {"name": "b", "target_port": "${length(opsconsole_host.a.id) * 10000}"},
            "target_port cannot be",
        ),
        ("opsconsole_host", {"name": "b", "tags": ["${opsconsole_host.a.id}"]}, "a tag is shaped"),
    ],
    ids=["scope", "bound", "pattern"],
)
def test_rules_hold_for_values_that_are_known_only_after_apply(native, type_name, declared, said):
    before = native.console.row("blacklists", "blk_format")
    resources: dict[str, Any] = {"opsconsole_host": {"a": {"name": "a"}}}
    resources.setdefault(type_name, {})["late"] = declared
    refused = native.apply(resources, expect=1)

    assert said.lower() in refused.text.lower()
    assert native.addresses() == ["opsconsole_host.a"]
    assert len(native.console.rows("hosts")) == 1
    assert native.console.row("blacklists", "blk_format") == before


def test_a_value_that_is_known_late_may_be_doubtful_without_being_wrong(native):
    late = '${opsconsole_host.a.id == "" ? "" : "nowhere"}'
    known = {"name": "c", "private_ip": "somewhere", "knowledge": "${opsconsole_host.a.id}"}
    hosts = {"a": {"name": "a"}, "b": {"name": "b", "private_ip": late}, "c": known}
    told = native.apply({"opsconsole_host": hosts}).text
    assert told.count("'nowhere' is not") == told.count("'somewhere' is not") == 1


def test_a_row_whose_id_is_known_late_is_adopted_with_the_warning(native):
    late = '${opsconsole_host.a.id == "" ? "" : "blk_format"}'
    declared = {"id": late, "pattern": "rm -rf /x", "tenant_wide": True}
    told = native.apply(
        {
            "opsconsole_host": {"a": {"name": "a"}},
            "opsconsole_blacklisted_command": {"late": declared},
        }
    ).text

    assert told.count("Adopting the blacklisted command blk_format changes a row") == 1
    assert "'mkfs*' → 'rm -rf /x'" in told
    assert "org org_main → tenant-wide" in told
    assert native.actions() == {}
