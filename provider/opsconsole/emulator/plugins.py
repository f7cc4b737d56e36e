"""The plugins of an agent: attach, list, detach."""

from __future__ import annotations

from opsconsole.emulator import checks
from opsconsole.emulator.agents import join, reference
from opsconsole.emulator.checks import Checks, json_object
from opsconsole.emulator.console import Answer, ConsoleRequest, EmulatedConsole
from opsconsole.emulator.lists import page
from opsconsole.emulator.refusal import Refusal, conflict, invalid, not_found
from opsconsole.emulator.table import Row

CHECKS: Checks = {"plugin_id": checks.text(1)}


def attach(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """POST /api/v1/agents/{id}/plugins. Answers with the Agent, not with the plugin list."""
    profile, store = console.profile, console.store
    console.check_query(call.query, ())
    agent = _agent(console, call)
    fields = json_object(call.body, required=True)
    if fields.get("plugin_id") is None:
        raise invalid([("plugin_id", "is required")])
    console.check(fields, CHECKS)
    plugin_id = fields["plugin_id"]
    reference(console, call, store.plugins, "plugin_id", plugin_id)
    if store.attachments.get(f"{agent['id']}/{plugin_id}") is None:
        join(console, agent["id"], plugin_id)
        agent = store.change("agents", agent["id"], {}) or agent
        return Answer(console.rendering.render("agent", agent))
    if profile.attach_twice_status >= 400:
        status = profile.attach_twice_status
        raise Refusal(status, _code(status), f"{plugin_id} is attached already", "plugin_id")
    return Answer(console.rendering.render("agent", agent), profile.attach_twice_status)


def list_all(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """GET /api/v1/agents/{id}/plugins: a list envelope of Plugin entries."""
    profile, store = console.profile, console.store
    agent_id = call.ids[0]
    agent = store.agents.get(agent_id)
    if agent is None or not call.principal.sees(agent):
        if profile.unknown_plugins_status >= 400:
            raise _refused(profile.unknown_plugins_status, agent_id)
        return Answer(page(console, "plugin", (), call.query), profile.unknown_plugins_status)
    status = None
    if agent.get("status") == "archived":
        status = profile.archived_plugins_status
        if status >= 400:
            raise _refused(status, agent_id)
    rows: list[Row] = []
    for attachment in store.attachments.find("agent_id", agent_id):
        plugin = store.plugins.get(attachment["plugin_id"])
        if plugin is not None:
            rows.append(plugin)
    return Answer(page(console, "plugin", rows, call.query), status)


def detach(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """DELETE /api/v1/agents/{id}/plugins/{pluginId}. Answers with the Agent."""
    profile, store = console.profile, console.store
    console.check_query(call.query, ())
    agent = _agent(console, call)
    plugin_id = call.ids[1]
    if store.attachments.remove(f"{agent['id']}/{plugin_id}") is not None:
        agent = store.change("agents", agent["id"], {}) or agent
        return Answer(console.rendering.render("agent", agent))
    if profile.detach_absent_status >= 400:
        status = profile.detach_absent_status
        raise Refusal(status, _code(status), f"{plugin_id} is not attached")
    return Answer(console.rendering.render("agent", agent), profile.detach_absent_status)


def _agent(console: EmulatedConsole, call: ConsoleRequest) -> Row:
    agent = console.writable(console.store.agents, "agent", call.ids[0], call.principal)
    if agent.get("status") == "archived":
        raise conflict(f"agent {agent['id']} is archived")
    return agent


def _refused(status: int, agent_id: str) -> Refusal:
    if status == 404:
        return not_found("agent", agent_id)
    return Refusal(status, _code(status), f"the plugins of agent {agent_id} are not to be had")


def _code(status: int) -> str:
    return {403: "FORBIDDEN", 404: "NOT_FOUND", 409: "CONFLICT"}.get(status, "BAD_REQUEST")
