"""What is missing is warned of or refused; a list that may not be whole proves no absence."""

from __future__ import annotations

from typing import Any

import pytest

from hidden import AWAY, HIDDEN, hide

SPECIALTIES = {
    "opsconsole_specialty": {"linux": {"key": "linux-server"}, "net": {"key": "network"}}
}


def test_every_kind_that_is_missing_leaves_state_with_a_warning_or_stays(native: Any) -> None:
    native.write(HIDDEN)
    native.run("apply", "-auto-approve")
    hide(native.console)
    before = native.state_file.read_text()

    told = native.run("plan", "-refresh-only", expect=None).text
    for title in ("host", "agent", "plugin attachment", "specialty", "blacklisted command"):
        assert f"The {title} " in told
    assert told.count("not visible to this key") >= len(AWAY)
    assert 'on_missing = "error"' in told

    native.settings["on_missing"] = "error"
    native.write(HIDDEN)
    refused = native.run("plan", "-refresh-only", expect=1).text
    assert refused.count('on_missing is "error"') == len(AWAY)
    assert native.state_file.read_text() == before

    native.settings["on_missing_host"] = "remove"
    native.write(HIDDEN)
    refused = native.run("plan", "-refresh-only", expect=1).text
    assert refused.count('on_missing is "error"') == len(AWAY) - 1


@pytest.mark.parametrize(
    ("switches", "settings", "why"),
    [
        (
            {"filter_parameter": "q"},
            {"list_query": {"specialties.q": "linux"}},
            "leave entries out",
        ),
        ({"has_more": "absent", "total_count": "never"}, {}, "it has no has_more"),
        ({"has_more": "always_false", "page_size": 2}, {}, "contradicts"),
        ({"has_more": "always_true"}, {}, "contradicts"),
    ],
)
def test_a_list_that_may_not_be_whole_lets_nothing_leave_state(
    switches: dict[str, Any], settings: dict[str, Any], why: str, native: Any
) -> None:
    native.write(SPECIALTIES)
    native.run("apply", "-auto-approve")
    native.console.switch(**switches)
    native.console.delete("specialties", "spc_network")
    native.settings.update(settings)
    native.write(SPECIALTIES)

    told = " ".join(native.run("plan", expect=0).text.split())
    assert "was not checked" in told
    assert why in told
    assert native.actions() == {}


def test_what_was_not_read_is_not_said_to_match(native: Any) -> None:
    program = {"opsconsole_host": {"web": {"count": 2, "name": "web-${count.index}"}}}
    native.write(program)
    native.run("apply", "-auto-approve")
    assert "No changes. The console matches the program." in native.run("plan").out
    unread = "No changes. State matches the program. 2 resources in it were not read"
    assert unread in native.run("plan", "-refresh=false").out
    native.settings["host_read"] = "none"
    native.write(program)
    assert unread in native.run("plan").out
