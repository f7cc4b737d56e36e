"""What happens to a world of the parity tests behind both engines' backs."""

from typing import Any

from parity_cases import Behind
from worlds import World


def prepare(world: World, prefix: str) -> None:
    """Make the rows that a case adopts."""
    world.console.create("blacklists", id=f"blk_{prefix}", pattern="first*", org_id="org_main")
    world.console.create(
        "specialties", id=f"spc_{prefix}", key=f"key-{prefix}", name=f"Specialty {prefix}"
    )


def happen(world: World, prefix: str, event: Behind) -> None:
    """Let something happen behind the engines' backs, by the API or in the console itself."""
    if event.what == "row":
        world.console.change("blacklists", f"blk_{prefix}", **{event.field: event.value})
        return
    host = world.find("hosts", f"{prefix}-{event.host}")
    if host is None:
        return
    if event.what == "change":
        world.call("POST", f"/api/v1/hosts/{host['id']}", {event.field: event.value})
    elif event.what == "external":
        world.console.change("hosts", host["id"], external_id="moved")
    elif event.what == "delete":
        world.call("DELETE", f"/api/v1/hosts/{host['id']}")
    else:
        detach_all(world, host["id"])


def detach_all(world: World, host_id: str) -> None:
    """Detach every plugin of the host's agents."""
    agents: set[Any] = {
        row["id"] for row in world.console.rows("agents") if row.get("host_id") == host_id
    }
    for row in world.console.rows("attachments"):
        if row["agent_id"] in agents:
            world.console.delete("attachments", row["id"])
