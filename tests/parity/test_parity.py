"""Random programs: both engines plan the same, and what one applies the other finds in place.

On a sensible console they print the same plan document, whole.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from consoles import CONSOLES
from opsconsole.emulator import serve
from sampling import EVERYTHING
from shared_stack import SharedStack, actions

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
    keyed, jump = before.keyed if before else draw(st.booleans()), draw(st.booleans())
    pattern = before.pattern if before else None
    if draw(st.booleans()):
        pattern = draw(st.sampled_from([None, "rm *", "halt?"]))
    wide, specialty = draw(st.booleans()), before.specialty if before else draw(st.booleans())
    shape = (hosts, grouped, keyed, jump, agent, attached, pattern, wide, specialty)
    return Step(*shape, _behind(draw, before))


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
        ids = {"host_id": f"${{opsconsole_host.{first}.id}}", "specialty_id": "spc_linux"}
        body = {"name": f"{prefix}-agent", **ids, **step.agent}
        yield "opsconsole_agent", f"{prefix}_agent", body
        for plugin in step.attached:
            on_agent = {"agent_id": f"${{opsconsole_agent.{prefix}_agent.id}}"}
            attachment = {**on_agent, "plugin_id": plugin}
            yield "opsconsole_agent_plugin", f"{prefix}_{plugin}", attachment
    if step.pattern is not None:
        body = {"id": f"blk_{prefix}", "pattern": step.pattern}
        body |= {"tenant_wide": True} if step.tenant_wide else {"org_id": "org_main"}
        yield "opsconsole_blacklisted_command", f"{prefix}_row", body
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


BATCHES = 15 if EVERYTHING else 1
CASES = 40 if EVERYTHING else 20
PROFILES = ("default", "sparse", "fickle", "bumping")


MISSING: Final = "(missing)"
DIFFERENT: Final = {
    "terraform_version": "the native engine names the version of Terraform whose format it prints",
    "timestamp": "each plan has its own",
}
"""Members of the document that differ, and why."""
RULES: Final = [
    {"condition": "${length(var.checked) > 1}", "error_message": "Too short."},
    {"condition": "${length(var.checked) < 9}", "error_message": "Too long."},
]
VARIABLES: Final = {
    "plain": {"type": "string", "default": "a"},
    "number": {"type": "number", "default": "5"},
    "none": {"default": None},
    "secret": {"default": "x", "sensitive": True},
    "set": {"type": "set(string)", "default": ["b", "a"]},
    "object": {"type": "object({a = string, b = optional(number, 3)})", "default": {"a": "1"}},
    "mixed": {"default": [1, "a", {"b": None}]},
    "checked": {"default": "ok", "validation": RULES},
}


@pytest.mark.unmeasured
@pytest.mark.terraform
@pytest.mark.parity
@pytest.mark.timeout(7200 if EVERYTHING else 300)
@pytest.mark.parametrize("profile", PROFILES if EVERYTHING else PROFILES[:2])
def test_both_engines_agree(profile, terraform):
    @settings(
        max_examples=BATCHES,
        deadline=None,
        database=None,
        derandomize=not EVERYTHING,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(cases(), min_size=CASES, max_size=CASES))
    def run(batch: list[Case]) -> None:
        with serve(CONSOLES[profile]) as left, serve(CONSOLES[profile]) as right:
            stacks = [SharedStack(console, terraform({}, console)) for console in (left, right)]
            live(stacks, {f"c{number}": case for number, case in enumerate(batch)})

    run()


def live(stacks: list[SharedStack], batch: dict[str, Case]) -> None:
    """Apply every step of every case to both stacks."""
    for stack in stacks:
        for prefix in batch:
            prepare(stack, prefix)
    for number in range(len(next(iter(batch.values())).steps)):
        steps = {prefix: case.steps[number] for prefix, case in batch.items()}
        for stack in stacks:
            for prefix, step in steps.items():
                for event in step.behind:
                    happen(stack, prefix, event)
            stack.write(with_outputs(whole(steps)))
            compare_plans(stack, steps)
        ours, theirs = stacks
        ours.native.apply()
        theirs.terraform.apply()
        assert ours.terraform.plan_run().code == 0, "Terraform finds what the native engine left"
        assert theirs.native.plan_run().code == 0, "the native engine finds what Terraform left"
        compare_states(ours, theirs)


def compare_plans(stack: SharedStack, steps: dict[str, Step]) -> None:
    """Both engines plan the same actions; the message names the case that they differ about."""
    native, judge = stack.native.plan(), stack.terraform.plan()
    ours, theirs = actions(native), judge.actions
    if stack.console.profile.name == "default":
        told = list(differences(comparable(native.json), comparable(judge.json)))
        assert told == [], "native and Terraform:\n" + "\n".join(told[:40])
    for address in sorted({*ours, *theirs}):
        prefix = address.partition(".")[2].partition("_")[0]
        if read_before_its_host(address, prefix, steps[prefix]) and address not in ours:
            theirs.pop(address, None)
        if ours.get(address) != theirs.get(address):
            pytest.fail(
                f"{address}: native {ours.get(address)}, Terraform {theirs.get(address)}\n"
                f"{steps[prefix]}"
            )
    assert bool(theirs) == bool(native.code)


def read_before_its_host(address: str, prefix: str, step: Step) -> bool:
    """Tell whether Terraform may think alive what has gone with its host.

    A row of the table of differences (`test_differences`): nothing orders the reading of what has
    left the program, and there are consoles that go on listing the plugins of archived agents.
    """
    declared_here = {f"{kind}.{name}" for kind, name, _ in declared(prefix, step)}
    gone = any(event.what == "delete" and event.host == "alpha" for event in step.behind)
    along = ("opsconsole_agent.", "opsconsole_agent_plugin.")
    return gone and address.startswith(along) and address not in declared_here


def compare_states(ours: SharedStack, theirs: SharedStack) -> None:
    """Both engines left the same in state, but for ids and times."""
    left, right = ours.normalised_state(), theirs.normalised_state()
    for address in sorted({*left, *right}):
        mine, judge = left.get(address), right.get(address)
        if mine != judge:
            keys = {*(mine or {}), *(judge or {})}
            told = {
                key: ((mine or {}).get(key), (judge or {}).get(key))
                for key in keys
                if (mine or {}).get(key) != (judge or {}).get(key)
            }
            pytest.fail(f"{address} in state, native and Terraform: {told}")


def with_outputs(program: dict[str, Any]) -> dict[str, Any]:
    """Add variables, and outputs that refer to the agents, directly and through a local value."""
    program = program | {"variable": VARIABLES}
    agents = program.get("resource", {}).get("opsconsole_agent", {})
    if not agents:
        return program
    first, *_ = agents
    values = {"host": "${local.host}", "agent": {"name": f"${{opsconsole_agent.{first}.name}}"}}
    return program | {
        "locals": {"host": f"${{opsconsole_agent.{first}.host_id}}"},
        "output": {name: {"value": value} for name, value in values.items()},
    }


def comparable(document: dict[str, Any]) -> dict[str, Any]:
    """Return what both engines must agree about; Terraform orders some lists at random."""
    kept = {name: item for name, item in document.items() if name not in DIFFERENT}
    if "relevant_attributes" in kept:
        kept["relevant_attributes"] = sorted(kept["relevant_attributes"], key=str)
    for item in kept.get("resource_changes", ()):
        item.pop("opsconsole", None)  # Facts that have no place in Terraform's format.
        # Terraform has no word for the adoption of a specialty.
        if item["type"] == "opsconsole_specialty" and item["change"]["before"] is None:
            item["change"] = item["change"] | {"actions": ["create"], "importing": {}}
        # Terraform shows a deleted resource as the state has it, the native engine as it was read.
        if item["change"]["actions"] == ["delete"]:
            del item["change"]["before"], item["change"]["before_sensitive"]
    if "prior_state" in kept:
        kept["prior_state"] = kept["prior_state"] | {"terraform_version": ""}
        for item in kept["prior_state"]["values"]["root_module"].get("resources", ()):
            # The native engine names the dependencies of the program, Terraform the old ones too.
            item.pop("depends_on", None)
    return kept


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Yield each place where two JSON values differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted({*ours, *theirs}):
            left, right = ours.get(name, MISSING), theirs.get(name, MISSING)
            yield from differences(left, right, f"{path}.{name}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (left, right) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(left, right, f"{path}[{index}]")
    elif type(ours) is not type(theirs) or ours != theirs:
        yield f"{path}: {ours!r:.300} {theirs!r:.300}"
