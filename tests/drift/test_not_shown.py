"""Drift of what a console does not show, by lists that may or may not be whole."""

SPECIALTIES = {"linux": {"key": "linux-server"}, "network": {"key": "network"}}
NETWORK = "opsconsole_specialty.network"


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
