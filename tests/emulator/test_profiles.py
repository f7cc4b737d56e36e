"""The profiles and the switches of the emulated console, and the guide that lists them."""

import typing
from typing import Any

import pytest

from consoles import CONSOLES
from engines import ROOT
from opsconsole.emulator import Profile, profiles
from opsconsole.emulator.bodies import BadBody, with_switches
from opsconsole.emulator.document import DOCUMENTED, EXTRA
from opsconsole.emulator.profiles import SWITCHES

DOCS = ROOT / "docs" / "guides" / "emulator.md"


def values_used(name: str) -> list[Any]:
    return [getattr(profile, name) for profile in CONSOLES.values()]


OF_NO_PROFILE = {"license": {"cap_reached", "expired"}, "has_more": {"always_true", "always_false"}}
"""Values under which no program can be applied, or no list ends: tests turn them while it runs."""


@pytest.mark.parametrize("name", SWITCHES)
def test_the_consoles_together_use_every_value_of_every_switch(name):
    kind = Profile.model_fields[name].annotation
    used = values_used(name)
    if typing.get_origin(kind) is typing.Literal:
        assert {*typing.get_args(kind)} == {*used} | OF_NO_PROFILE.get(name, set())
    elif kind is bool:
        assert {True, False} == {*used}
    else:
        assert any(value != used[0] for value in used)


def test_settings_that_go_with_a_profile_name_what_it_has():
    for profile in CONSOLES.values():
        assert set(profile.provider_settings.get("extra_endpoints", {})) <= profile.extra
        if "cursor_parameter" in profile.provider_settings:
            assert profile.provider_settings["cursor_parameter"] == profile.cursor_parameter
            assert profile.provider_settings["cursor_field"] == profile.cursor_field
    assert set(EXTRA).isdisjoint(DOCUMENTED)
    assert next(iter(profiles())) == "default"
    assert all(name == profile.name for name, profile in CONSOLES.items())


def test_expectations_follow_from_the_switches():
    assert not CONSOLES["blind"].hosts_readable
    assert CONSOLES["extended"].empty_update == "refused"
    assert CONSOLES["extended"].hosts_readable
    odd = {name for name, profile in CONSOLES.items() if not profile.keeps_values_as_sent}
    assert odd == {"tidying", "assigning", "dropping"}
    assert {name for name, profile in CONSOLES.items() if not profile.lists_whole} == {"truncated"}


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("page_size", 3, 3),
        ("page_size", None, None),
        ("order", "sorted", "sorted"),
        ("trims", True, True),
        ("match_by", ["name", "mac"], ("name", "mac")),
        ("extra", ["host_get"], frozenset({"host_get"})),
        ("success", {"agent_create": 201}, {"agent_create": 201}),
    ],
)
def test_a_switch_is_turned_by_its_json_value(name, value, kept):
    assert getattr(with_switches(profiles()["default"], {name: value}), name) == kept


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("page_size", "3"),
        ("page_size", True),
        ("order", "random"),
        ("trims", 1),
        ("index_base", True),
        ("match_by", "name"),
        ("success", {"agent_create": "201"}),
        ("name", "mine"),
        ("nothing", 1),
    ],
)
def test_a_wrong_switch_is_refused_by_name(name, value):
    with pytest.raises(BadBody, match=name):
        with_switches(profiles()["default"], {name: value})


@pytest.mark.parametrize("name", [*profiles(), *SWITCHES, *EXTRA])
def test_guide_names_every_profile_switch_and_endpoint(name):
    assert f"`{name}`" in DOCS.read_text("utf-8")
