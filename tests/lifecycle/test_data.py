"""Data sources where a list is shown in part only."""

import pytest

from opsconsole.resources import DATA_SOURCES


@pytest.mark.parametrize("profile", ["truncated"], indirect=True)
@pytest.mark.parametrize(
    ("selector", "told"),
    [
        ({"id": "spc_linux"}, None),
        ({"key": "linux-server"}, None),
        (
            {"name": "Linux server"},
            "Cannot tell whether there is one specialty with the name 'Linux server'",
        ),
        ({"key": "identity"}, "Cannot tell whether there is one specialty with the key 'identity'"),
    ],
)
async def test_a_match_in_the_shown_part_counts_where_it_is_the_only_one(one_run, selector, told):
    config = DATA_SOURCES["opsconsole_specialty"].empty() | selector
    outcome = await one_run().read_data("opsconsole_specialty", config)
    assert [item.summary for item in outcome.diagnostics] == ([told] if told else [])
    assert (outcome.state or {}).get("id") == (None if told else "spc_linux")


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
async def test_the_scope_of_blacklisted_commands_is_told_in_both_words(one_run):
    config = DATA_SOURCES["opsconsole_blacklisted_commands"].empty()
    outcome = await one_run().read_data("opsconsole_blacklisted_commands", config)
    scopes = {row["org_id"]: row["tenant_wide"] for row in outcome.state["blacklisted_commands"]}
    assert scopes == {org_id: org_id is None for org_id in scopes}
    assert len(scopes) > 1
