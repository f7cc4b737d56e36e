"""Agents and the plugins that they carry, by the rules of the emulated console."""

from collections.abc import Callable
from typing import Any

Make = Callable[..., Any]
AGENTS = "/api/v1/agents"


def wanted(ask: Any, **fields: Any) -> dict[str, Any]:
    given = {"host_id": ask.host()["id"], "specialty_id": "spc_linux", **fields}
    return {name: value for name, value in given.items() if value != "drop"}


def test_a_create_answers_with_the_agent_without_plugins(make: Make) -> None:
    ask = make()
    config = [{"credential_id": "crd_a", "order": 1}]
    body = wanted(ask, name="a", plugin_ids=["plg_disk"], credential_config=config)
    status, agent = ask("POST", AGENTS, body)
    assert status == 200
    assert (agent["status"], agent["name"], agent["org_id"]) == ("idle", "a", "org_main")
    assert "plugin_ids" not in agent
    entry = {"credential_id": "crd_a", "credential_role": None, "order": 1, "is_required": False}
    assert agent["credential_config"] == [entry]
    _, plugins = ask("GET", f"{AGENTS}/{agent['id']}/plugins")
    assert [item["id"] for item in plugins["data"]] == ["plg_disk"]


def test_a_strict_console_asks_for_more_and_each_has_its_success_codes(make: Make) -> None:
    ask = make("strict")
    status, body = ask("POST", AGENTS, wanted(ask))
    assert status == 400
    assert {item["field"] for item in body["errors"]} == {"name", "main_engine"}
    whole = {"name": "a", "main_engine": "e"}
    status, body = ask("POST", AGENTS, wanted(ask, **whole, specialty_id="spc_none"))
    assert (status, body["code"], body["field"]) == (404, "NOT_FOUND", "specialty_id")
    assert ask("POST", AGENTS, wanted(ask, **whole))[0] == 201
    sparse = make("sparse")
    status, agent = sparse("POST", AGENTS, wanted(sparse))
    assert [status, sparse("DELETE", f"/api/v1/hosts/{agent['host_id']}")[0]] == [202, 202]


def test_a_plugin_that_left_the_catalogue_is_not_listed(make: Make) -> None:
    ask = make()
    path = f"{AGENTS}/{ask.agent()['id']}/plugins"
    for plugin_id in ("plg_logs", "plg_disk"):
        ask("POST", path, {"plugin_id": plugin_id})
    ask.store.plugins.remove("plg_logs")
    assert [row["id"] for row in ask("GET", path)[1]["data"]] == ["plg_disk"]


def test_the_bounds_of_an_agent(make: Make) -> None:
    body = {"host_id": "", "specialty_id": "spc_linux", "name": "x" * 101, "main_engine": ""}
    plain = make()("POST", "/api/v1/agents", body)[1]
    assert {item["field"] for item in plain["errors"]} == {"host_id", "name"}
    other = make(agent_at_least_1=("main_engine",), agent_1_to_100="secondary_engine")
    refused = other("POST", "/api/v1/agents", body | {"secondary_engine": ""})[1]
    assert {item["field"] for item in refused["errors"]} == {"main_engine", "secondary_engine"}
