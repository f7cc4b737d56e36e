"""Documented operations in any order, under any switches, judged by the rules of the document.

Each rule says what a request must answer and which rows it must change; every other row stays.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

SWITCHES = {
    "match_by": [("name",), ("name",), ()],
    "on_match": ["update", "update", "skip", "fail"],
    "dry_run_ids": ["none", "existing", "all"],
    "honours_dry_run": [True, True, False],
    "lists_rows_after_stop": [True, False],
    "empty_update": ["accepted", "refused"],
    "idle_update_bumps": [True, False],
    "jump_host_delete": ["dangles", "reroutes", "refused"],
    "archived_agents_block": [True, False],
    "unknown_reference_status": [400, 404],
    "attach_twice_status": [200, 204, 400, 409],
    "detach_absent_status": [200, 404, 409],
    "archived_plugins_status": [200, 403, 404],
    "unknown_plugins_status": [200, 403, 404],
    "total_count": ["always", "never"],
}
PLUGINS = ["plg_disk", "plg_logs", "plg_none"]
SPECIALTIES = ["spc_linux", "spc_windows", "spc_none"]
CHANGES: dict[str, st.SearchStrategy[Any]] = {
    "knowledge": st.sampled_from(["x", "y"]),
    "tags": st.sampled_from([[], ["k:v"]]),
}
FIELDS = CHANGES | {"name": st.sampled_from(["a", "b", "c"])}
NUMBERS = st.integers(0, 9)
Key = tuple[str, str]


class ConsoleMachine(RuleBasedStateMachine):
    """A console, and the key of every row by which its tables are compared around a request."""

    make: Callable[..., Any]

    @initialize(
        switches=st.fixed_dictionaries({k: st.sampled_from(v) for k, v in SWITCHES.items()})
    )
    def start(self, switches: dict[str, Any]) -> None:
        self.ask = self.make(**switches)
        self.profile = self.ask.console.profile
        jump = self.ask.host(name="a")["id"]
        self.ask.host(name="b", jump_host_ids=[jump], org_id="org_lab")
        agent_id = self.ask.agent(host_id=jump)["id"]
        self.ask.store.add("tasks", {"agent_id": agent_id, "status": "scheduled"})

    def rows(self) -> dict[Key, dict[str, Any]]:
        tables = self.ask.store.tables
        return {(name, row["id"]): row for name, table in tables.items() for row in table}

    def pick(self, table: str, number: int) -> str:
        """Return an id of a table, or one that nothing has."""
        ids = [row["id"] for row in getattr(self.ask.store, table)] + ["x_none"]
        return ids[number % len(ids)]

    def send(
        self,
        request: str,
        body: Any,
        status: int,
        *,
        changes: Mapping[Key, dict[str, Any]] = {},
        removed: frozenset[Key] = frozenset(),
        added: tuple[str, ...] = (),
    ) -> Any:
        """Send a request; compare its status, and every row of the console with what it was."""
        before = self.rows()
        method, path = request.split(" ")
        answered, answer = self.ask(method, f"/api/v1{path}", body)
        assert answered == status, answer
        after = self.rows()
        assert before.keys() - after.keys() == removed
        assert Counter(table for table, _ in after.keys() - before.keys()) == Counter(added)
        for key in before.keys() & after.keys():
            if key in changes:
                assert after[key]["updated_at"] > before[key]["updated_at"]
                stamp = {"updated_at": after[key]["updated_at"]}
                assert after[key] == before[key] | changes[key] | stamp
            else:
                assert after[key] == before[key]
        if status >= 400:
            assert {"code", "message", "request_id"} <= set(answer)
        return answer

    @rule(
        rows=st.lists(st.fixed_dictionaries({}, optional=FIELDS), max_size=4),
        dry_run=st.booleans(),
        on_error=st.sampled_from(["stop", "continue"]),
    )
    def import_hosts(self, rows: list[dict[str, Any]], dry_run: bool, on_error: str) -> None:
        profile, dry = self.profile, dry_run and self.profile.honours_dry_run
        # By name, the host that a row would meet: its fields so far, and its id unless it is new.
        hosts = {row["name"]: (dict(row), row["id"]) for row in reversed([*self.ask.store.hosts])}
        created, changes, verdicts, stopped = [], {}, [], False
        for row in rows:
            if stopped:
                verdicts += [("skipped", None)] * profile.lists_rows_after_stop
                continue
            fields, row_id = hosts.get(row.get("name"), (None, None))
            if "name" not in row:
                outcome = "failed"
            elif fields is None or not profile.match_by:
                outcome, row_id = "created", None
                created.append(dict(row))
                hosts[row["name"]] = created[-1], None
            elif profile.on_match != "update":
                outcome = {"skip": "skipped", "fail": "failed"}[profile.on_match]
            elif fields.items() >= row.items() and not (dry and row_id is None):
                outcome = "skipped"
            else:
                outcome = "updated"
                if not dry:
                    fields.update(row)
                    changes["hosts", row_id] = fields
            verdicts.append((outcome, row_id))
            stopped = outcome == "failed" and on_error == "stop"
        answer = self.send(
            "POST /hosts/batch",
            {"rows": rows, "dry_run": dry_run, "on_error": on_error},
            200,
            changes=changes,
            added=() if dry else ("hosts",) * len(created),
        )
        results, said = answer["results"], (answer["dry_run"], answer["stopped"])
        assert said == (dry, stopped)
        assert [entry["index"] for entry in results] == [*range(len(verdicts))]
        assert [entry["status"] for entry in results] == [outcome for outcome, _ in verdicts]
        assert Counter(entry["status"] for entry in results) == Counter(
            {word: count for word, count in answer["counts"].items() if count}
        )
        shown = not dry or profile.dry_run_ids != "none"
        for entry, (outcome, row_id) in zip(results, verdicts, strict=True):
            assert entry["error"] or outcome != "failed"
            if row_id is not None:
                assert entry["id"] == (row_id if shown else None)
        new = [entry["id"] for entry in results if entry["status"] == "created"]
        if dry:
            assert all(new) if profile.dry_run_ids == "all" else not any(new)
        else:
            for fields, row_id in zip(created, new, strict=True):
                assert self.ask.store.hosts.get(row_id).items() >= fields.items()

    @rule(number=NUMBERS, change=st.fixed_dictionaries({}, optional=CHANGES), jump=NUMBERS)
    def update_host(self, number: int, change: dict[str, Any], jump: int) -> None:
        host_id, jump_id = self.pick("hosts", number), self.pick("hosts", jump)
        body = change | ({"jump_host_ids": [jump_id]} if jump < 4 else {})
        row = self.ask.store.hosts.get(host_id)
        idle = row is not None and row.items() >= body.items()
        status = 200
        if row is None:
            status = 404
        elif (not body and self.profile.empty_update == "refused") or (
            "jump_host_ids" in body and jump_id == "x_none"
        ):
            status = 400
        is_changed = status == 200 and (not idle or self.profile.idle_update_bumps)
        changes = {("hosts", host_id): body} if is_changed else {}
        answer = self.send(f"POST /hosts/{host_id}", body, status, changes=changes)
        if status == 200:
            assert answer.items() >= self.ask.store.hosts.get(host_id).items()

    @rule(number=NUMBERS)
    def delete_host(self, number: int) -> None:
        store, host_id = self.ask.store, self.pick("hosts", number)
        behind = [
            row
            for row in store.hosts
            if host_id in row.get("jump_host_ids", ()) and row["id"] != host_id
        ]
        policy = self.profile.jump_host_delete
        changes: dict[Key, dict[str, Any]] = {}
        status, rerouted = 200, []
        if store.hosts.get(host_id) is None:
            status = 404
        elif behind and policy == "refused":
            status = 409
        else:
            for row in behind if policy == "reroutes" else ():
                left = [item for item in row["jump_host_ids"] if item != host_id]
                changes["hosts", row["id"]] = {"jump_host_ids": left}
                rerouted.append(row["id"])
            for agent in store.agents:
                if agent.get("host_id") == host_id:
                    changes["agents", agent["id"]] = {"status": "archived"}
                    for task in store.tasks.find("agent_id", agent["id"]):
                        changes["tasks", task["id"]] = {"status": "archived"}
        removed = frozenset({("hosts", host_id)} if status == 200 else ())
        answer = self.send(
            f"DELETE /hosts/{host_id}", None, status, changes=changes, removed=removed
        )
        if status == 200:
            assert answer == {"id": host_id, "deleted": True, "rerouted_hosts": rerouted}

    @rule(
        number=NUMBERS,
        specialty=st.sampled_from(SPECIALTIES),
        plugins=st.lists(st.sampled_from(PLUGINS[:2] * 4 + PLUGINS), unique=True, max_size=2),
    )
    def create_agent(self, number: int, specialty: str, plugins: list[str]) -> None:
        store, host_id = self.ask.store, self.pick("hosts", number)
        body = {"host_id": host_id, "specialty_id": specialty, "plugin_ids": plugins}
        named = (store.hosts.get(host_id), store.specialties.get(specialty))
        good = None not in (*named, *map(store.plugins.get, plugins))
        answer = self.send(
            "POST /agents",
            body,
            200 if good else self.profile.unknown_reference_status,
            added=("agents", *("attachments",) * len(plugins)) if good else (),
        )
        if good:
            assert (answer["status"], answer["org_id"]) == ("idle", named[0]["org_id"])
            assert "plugin_ids" not in answer
            store.add("tasks", {"agent_id": answer["id"], "status": "scheduled"})
            assert self.listed(answer["id"], 200) == plugins

    @rule(number=NUMBERS, plugin=st.sampled_from(PLUGINS), attach=st.booleans())
    def attach_or_detach(self, number: int, plugin: str, attach: bool) -> None:
        agent_id, profile = self.pick("agents", number), self.profile
        key = ("attachments", f"{agent_id}/{plugin}")
        status, attached = self.active(agent_id), key in self.rows()
        if status == 200 and attach and plugin == "plg_none":
            status = profile.unknown_reference_status
        elif status == 200 and attached is attach:
            status = profile.attach_twice_status if attach else profile.detach_absent_status
        done = status == 200 and attached is not attach
        path = f"/agents/{agent_id}/plugins"
        self.send(
            f"POST {path}" if attach else f"DELETE {path}/{plugin}",
            {"plugin_id": plugin} if attach else None,
            status,
            changes={("agents", agent_id): {}} if done else {},
            removed=frozenset({key} if done and not attach else ()),
            added=("attachments",) * (done and attach),
        )

    def active(self, agent_id: str) -> int:
        """Return the status by which an agent that can have plugins differs from others."""
        agent = self.ask.store.agents.get(agent_id)
        return 404 if agent is None else 409 if agent["status"] == "archived" else 200

    @rule(number=NUMBERS)
    def list_plugins(self, number: int) -> None:
        agent_id, profile = self.pick("agents", number), self.profile
        others = {404: profile.unknown_plugins_status, 409: profile.archived_plugins_status}
        listed = self.listed(agent_id, others.get(self.active(agent_id), 200))
        attachments = self.ask.store.attachments.find("agent_id", agent_id)
        if listed is not None:
            assert listed == [attachment["plugin_id"] for attachment in attachments]

    def listed(self, agent_id: str, status: int) -> list[str] | None:
        """Return the ids in the list of an agent's plugins, None where it is refused."""
        answer = self.send(f"GET /agents/{agent_id}/plugins", None, status)
        return self.ids_of(answer) if status == 200 else None

    def ids_of(self, answer: dict[str, Any]) -> list[str]:
        ids = [entry["id"] for entry in answer["data"]]
        counted = {"total_count": len(ids)} if self.profile.total_count == "always" else {}
        envelope = {"object": "list", "data": answer["data"], "has_more": False}
        assert answer == envelope | counted
        return ids

    @rule(specialty=st.sampled_from(SPECIALTIES))
    def delete_specialty(self, specialty: str) -> None:
        store = self.ask.store
        carried = any(
            agent["specialty_id"] == specialty
            and (agent["status"] != "archived" or self.profile.archived_agents_block)
            for agent in store.agents
        )
        status = 404 if store.specialties.get(specialty) is None else 409 if carried else 200
        removed = frozenset({("specialties", specialty)} if status == 200 else ())
        answer = self.send(f"DELETE /specialties/{specialty}", None, status, removed=removed)
        if status == 200:
            assert answer == {"id": specialty, "deleted": True}
        left = self.ids_of(self.send("GET /specialties/search", None, 200))
        assert left == [row["id"] for row in store.specialties]


@pytest.mark.timeout(600)
def test_requests_in_any_order(make):
    kind = type("Machine", (ConsoleMachine,), {"make": staticmethod(make)})
    run_state_machine_as_test(kind, settings=settings(max_examples=60, stateful_step_count=25))
