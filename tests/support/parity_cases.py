"""Random programs that live through a few steps, with what happens behind their back in between.

A case is small; many of them are declared side by side in one program, each under a prefix of its
own, so that one run of Terraform judges them all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from shared_stack import SharedStack

Program = dict[str, Any]

HOSTS = ("alpha", "beta", "gamma")
_WORDS = st.sampled_from(
    ["one", "two", "three", 'with "quotes"', "ünïcode", "${not}".replace("$", "$$")]
)
_ADDRESS = st.integers(1, 250).map(lambda number: f"192.0.2.{number}")
_TAGS = st.lists(st.sampled_from(["env:prod", "env:test", "role:web", "os:linux"]), max_size=3)

HOST_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "public_ip": _ADDRESS,
    "private_ip": _ADDRESS,
    "knowledge": _WORDS,
    "tags": _TAGS,
    "additional_names": st.lists(st.sampled_from(["x", "y", "z"]), max_size=2),
    "eligible_subnets": st.lists(st.sampled_from(["10.0.0.0/8", "10.1.0.0/16"]), max_size=2),
    "target_port": st.integers(1, 65535),
    "skip_tls_verify": st.booleans(),
    "is_jump_host": st.booleans(),
}


@dataclass(frozen=True)
class Behind:
    """Something that happens behind both engines' backs."""

    what: str
    host: str = ""
    field: str = ""
    value: Any = None


@dataclass(frozen=True)
class Step:
    """What is declared in one step, and what happened before it was planned.

    Attributes:
        hosts: Name to declared attributes, each host declared by itself.
        group: How many hosts of a `count` or `for_each` group there are; None: no group.
        keyed: Whether the group is made by `for_each`.
        jump: Whether the second host is reached through the first.
        agent: Attributes of an agent on the first host, or None.
        attached: Plugins attached to it as resources of their own.
        pattern: Declared pattern of the case's blacklisted command; None: not declared.
        tenant_wide: Whether it is declared tenant-wide.
        specialty: Whether the case's specialty is declared.
    """

    hosts: dict[str, dict[str, Any]]
    group: int | None
    keyed: bool
    jump: bool
    agent: dict[str, Any] | None
    attached: tuple[str, ...]
    pattern: str | None
    tenant_wide: bool
    specialty: bool
    behind: tuple[Behind, ...] = ()


class Case:
    """One small program and its steps.

    Dozens of them make one example, so one shows itself in a few words: a failure names the one
    that matters.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def __repr__(self) -> str:
        return f"Case of {len(self.steps)} steps"


@st.composite
def steps(draw: st.DrawFn, before: Step | None) -> Step:
    """Draw the next step: most of what was declared stays as it was."""
    hosts = {name: _host(draw, before, name) for name in HOSTS if _stays(draw, before, name)}
    for name, declared in hosts.items():
        if draw(st.integers(0, 7)) == 0:
            declared["external_id"] = draw(st.sampled_from(["e1", "e2"])) + name
    grouped = before.group if before else draw(st.sampled_from([None, 0, 2]))
    if grouped is not None and draw(st.booleans()):
        grouped = draw(st.integers(0, 3))
    agent = _agent(draw, before, hosts)
    plugins = ("plg_disk", "plg_logs", "plg_backup")
    attached = () if agent is None or "plugin_ids" in agent else _some(draw, plugins)
    return Step(
        hosts,
        grouped,
        before.keyed if before else draw(st.booleans()),
        draw(st.booleans()),
        agent,
        attached,
        draw(st.sampled_from([None, "rm *", "halt?"]))
        if draw(st.booleans())
        else (before.pattern if before else None),
        draw(st.booleans()),
        before.specialty if before else draw(st.booleans()),
        _behind(draw, before),
    )


def _some(draw: st.DrawFn, items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(draw(st.sets(st.sampled_from(items), max_size=2)))


def _stays(draw: st.DrawFn, before: Step | None, name: str) -> bool:
    if before is None:
        return name == "alpha" or draw(st.booleans())
    return draw(st.integers(0, 4)) != 0 if name in before.hosts else draw(st.integers(0, 3)) == 0


def _host(draw: st.DrawFn, before: Step | None, name: str) -> dict[str, Any]:
    known = dict(before.hosts.get(name, {})) if before else {}
    for item in draw(st.sets(st.sampled_from(sorted(HOST_FIELDS)), max_size=3)):
        known[item] = draw(HOST_FIELDS[item])
    if known and draw(st.integers(0, 5)) == 0:
        known.pop(draw(st.sampled_from(sorted(known))))
    return known


def _agent(
    draw: st.DrawFn, before: Step | None, hosts: dict[str, dict[str, Any]]
) -> dict[str, Any] | None:
    """Draw an agent; one that stays on its host keeps what no operation changes."""
    if "alpha" not in hosts:
        return None
    if before is not None and before.agent is not None:
        if draw(st.integers(0, 5)) == 0:
            return None
        kept = dict(before.agent)
        if "plugin_ids" in kept:
            kept["plugin_ids"] = sorted(_some(draw, ("plg_disk", "plg_logs", "plg_metrics")))
        return kept
    if not draw(st.booleans()):
        return None
    made: dict[str, Any] = {"main_engine": draw(st.sampled_from(["e1", "e2"]))}
    if draw(st.booleans()):
        made["plugin_ids"] = sorted(_some(draw, ("plg_disk", "plg_logs", "plg_metrics")))
    return made


def _behind(draw: st.DrawFn, before: Step | None) -> tuple[Behind, ...]:
    if before is None or draw(st.booleans()):
        return ()
    found = []
    for name in draw(st.lists(st.sampled_from(sorted(before.hosts) or ["alpha"]), max_size=2)):
        if name not in before.hosts:
            continue
        kind = draw(st.sampled_from(["change", "change", "delete", "external", "detach"]))
        item = draw(st.sampled_from(["knowledge", "public_ip"]))
        found.append(Behind(kind, name, item, draw(HOST_FIELDS[item])))
    if before.pattern is not None and draw(st.booleans()):
        found.append(Behind("row", field="pattern", value="changed*"))
    return tuple(found)


@st.composite
def cases(draw: st.DrawFn, length: int = 3) -> Case:
    """Draw a case of `length` steps."""
    case = Case()
    for _ in range(length):
        case.steps.append(draw(steps(case.steps[-1] if case.steps else None)))
    return case


def declared(prefix: str, step: Step) -> Iterator[tuple[str, str, Program]]:
    """Yield type, name and body of what a step of the case `prefix` declares."""
    first = f"{prefix}_alpha"
    for name, values in step.hosts.items():
        body: Program = {"name": f"{prefix}-{name}", **values}
        if name == "beta" and step.jump and "alpha" in step.hosts:
            body["jump_host_ids"] = [f"${{opsconsole_host.{first}.id}}"]
        yield "opsconsole_host", f"{prefix}_{name}", body
    if step.group is not None:
        yield "opsconsole_host", f"{prefix}_group", _group(prefix, step)
    if step.agent is not None:
        body = {
            "name": f"{prefix}-agent",
            "host_id": f"${{opsconsole_host.{first}.id}}",
            "specialty_id": "spc_linux",
            **step.agent,
        }
        yield "opsconsole_agent", f"{prefix}_agent", body
        for plugin in step.attached:
            yield (
                "opsconsole_agent_plugin",
                f"{prefix}_{plugin}",
                {"agent_id": f"${{opsconsole_agent.{prefix}_agent.id}}", "plugin_id": plugin},
            )
    if step.pattern is not None:
        body = {"id": f"blk_{prefix}", "pattern": step.pattern}
        yield (
            "opsconsole_blacklisted_command",
            f"{prefix}_row",
            body | ({"tenant_wide": True} if step.tenant_wide else {"org_id": "org_main"}),
        )
    if step.specialty:
        yield "opsconsole_specialty", f"{prefix}_specialty", {"key": f"key-{prefix}"}


def _group(prefix: str, step: Step) -> Program:
    if step.keyed:
        keys = "abc"[: step.group]
        return {
            "for_each": f"${{toset({list(keys)!r})}}".replace("'", '"'),
            "name": f"{prefix}-${{each.key}}",
        }
    return {"count": step.group, "name": f"{prefix}-${{count.index}}"}


def whole(prefixed: dict[str, Step]) -> Program:
    """Return the program that declares one step of every case."""
    resources: dict[str, Program] = {}
    for prefix, step in prefixed.items():
        for type_name, name, body in declared(prefix, step):
            resources.setdefault(type_name, {})[name] = body
    return {"resource": resources} if resources else {}


def prepare(stack: SharedStack, prefix: str) -> None:
    """Make the rows that a case adopts."""
    stack.console.create("blacklists", id=f"blk_{prefix}", pattern="first*", org_id="org_main")
    stack.console.create(
        "specialties", id=f"spc_{prefix}", key=f"key-{prefix}", name=f"Specialty {prefix}"
    )


def happen(stack: SharedStack, prefix: str, event: Behind) -> None:
    """Let something happen behind the engines' backs, by the API or in the console itself."""
    if event.what == "row":
        stack.console.change("blacklists", f"blk_{prefix}", **{event.field: event.value})
        return
    host = stack.find("hosts", f"{prefix}-{event.host}")
    if host is None:
        return
    if event.what == "change":
        stack.call("POST", f"/api/v1/hosts/{host['id']}", {event.field: event.value})
    elif event.what == "external":
        stack.console.change("hosts", host["id"], external_id="moved")
    elif event.what == "delete":
        stack.call("DELETE", f"/api/v1/hosts/{host['id']}")
    else:
        detach_all(stack, host["id"])


def detach_all(stack: SharedStack, host_id: str) -> None:
    """Detach every plugin of the host's agents."""
    agents = {row["id"] for row in stack.console.rows("agents") if row.get("host_id") == host_id}
    for row in stack.console.rows("attachments"):
        if row["agent_id"] in agents:
            stack.console.delete("attachments", row["id"])
