"""Drift of what a console does not show, by lists that may or may not be whole."""

import pytest

from hidden import AWAY, HIDDEN, hide

SPECIALTIES = {"linux": {"key": "linux-server"}, "network": {"key": "network"}}
NETWORK = "opsconsole_specialty.network"


def test_missing_is_a_bucket_whatever_a_refresh_would_do(ground_on):
    ground = ground_on("default", on_missing="error")
    ground.apply({"resource": HIDDEN})
    hide(ground.console)
    found = ground.drift()
    assert found.code == 2
    assert found.addresses("missing") == AWAY
    assert all("not visible to this key" in found.of(address)["reason"] for address in AWAY)


@pytest.mark.parametrize(
    ("switches", "settings"),
    [
        ({"filter_parameter": "q"}, {"list_query": {"specialties.q": "linux"}}),
        ({"has_more": "absent", "total_count": "never"}, {}),
        ({"has_more": "always_false", "page_size": 2}, {}),
        ({"has_more": "always_true"}, {}),
    ],
)
def test_a_list_that_may_not_be_whole_shows_nothing_missing(switches, settings, ground_on):
    ground = ground_on()
    ground.apply({"resource": {"opsconsole_specialty": SPECIALTIES}})
    ground.console.switch(**switches)
    ground.console.delete("specialties", "spc_network")
    ground.settings.update(settings)
    ground.write({"resource": {"opsconsole_specialty": SPECIALTIES}})
    found = ground.drift()
    assert found.code == 1
    assert found.bucket(NETWORK) == "unchecked"
    assert found.bucket("opsconsole_specialty.linux") == "in_sync"
    assert "may not be whole" in found.of(NETWORK)["reason"]


def test_a_parameter_that_narrows_nothing_proves_absence(ground_on):
    ground = ground_on("default", list_query={"limit": "500"}, list_query_narrows=False)
    ground.apply({"resource": {"opsconsole_specialty": SPECIALTIES}})
    ground.console.delete("specialties", "spc_network")
    assert ground.drift().bucket(NETWORK) == "missing"


def test_what_was_not_kept_and_not_read_back_is_no_drift(ground_on):
    ground = ground_on("dropping")
    # The answer that is read after the creation leaves the field out; the next one shows null.
    ground.console.switch(unset="absent")
    ground.apply(
        {"resource": {"opsconsole_host": {"web": {"name": "web", "mac": "02:00:00:00:00:01"}}}}
    )
    ground.console.switch(unset="null")
    found = ground.drift()
    assert found.drifted == set()
    assert "mac" in found.of("opsconsole_host.web")["reason"]


def test_what_the_console_does_not_keep_is_no_drift(ground_on):
    ground = ground_on("dropping")
    ground.apply(
        {"resource": {"opsconsole_host": {"web": {"name": "web", "mac": "02:00:00:00:00:01"}}}}
    )
    assert ground.drift().code == 0
    ground.console.change("hosts", ground.id_of("opsconsole_host.web"), mac="02:00:00:00:00:02")
    found = ground.drift()
    assert found.changed("opsconsole_host.web") == {
        "mac": ("02:00:00:00:00:01", "02:00:00:00:00:02")
    }
