"""What the document leaves open is written, refused and explained for what it is."""


def test_an_error_that_names_an_object_in_state_says_its_address(native):
    host = {"name": "web"}
    ids = {"host_id": "${opsconsole_host.web.id}", "specialty_id": "spc_linux"}
    resources = {
        "opsconsole_host": {"web": host},
        "opsconsole_specialty": {"linux": {"key": "linux-server"}},
        "opsconsole_agent": {"ops": {"name": "ops", **ids}},
    }
    native.apply(resources)
    agent_id = native.attributes("opsconsole_agent.ops")["id"]
    busy = {"status": 409, "code": "BUSY", "details": {"blocked_by": agent_id}}
    native.console.fault(operation="host_update", holds="knowledge", **busy)
    host["knowledge"] = "new"
    told = " ".join(native.apply(resources, expect=1).text.replace("│", " ").split())
    assert "opsconsole_agent.ops" in told
    assert f'"ops" ({agent_id})' in told


def test_what_the_console_keeps_otherwise_is_not_said_to_be_changed_by_others(native_on):
    native = native_on("tidying")
    host = {"name": "web", "knowledge": " kept trimmed "}
    native.apply({"opsconsole_host": {"web": host, "other": {"name": "other"}}})
    other = native.attributes("opsconsole_host.other")["id"]
    native.console.change("hosts", other, knowledge="new", updated_at="2100-01-01T00:00:00Z")

    told = native.run("plan").out
    keeps = "differs, with the same updated_at: the console keeps other values than were declared"
    assert f"# opsconsole_host.web {keeps}" in told
    assert "# opsconsole_host.other has changed" in told
