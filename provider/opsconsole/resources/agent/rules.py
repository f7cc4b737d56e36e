"""Judges each removal and move of an agent, because the console deletes no agent.

Terraform cannot know why an agent is destroyed; the reconciler passes it (`RemovalReason`).
"""

from __future__ import annotations

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.lifecycle.interface import PlanChange, RemovalReason
from opsconsole.lifecycle.missing import abandoned_warning
from opsconsole.lifecycle.planning import Proposal
from opsconsole.resources import AGENT
from opsconsole.values import UNKNOWN, Values

_LIFT = "Where the console can delete agents, name that operation in extra_endpoints: agent_delete."
_GOES_ON = "it continues to run"


def judge_creation(name: str, config: Values, replacing: bool) -> list[Diagnostic]:
    """Judge a creation; `replacing` if it is the second half of a replacement."""
    # An explicit replacement (`-replace`) shows nowhere else, and only an error of it is shown.
    if replacing and config.get("deletion_policy") == "prevent":
        return [_removal_error(name, RemovalReason.UNEXPLAINED)]
    return AGENT.find_undeclared(config)


def judge_removal(
    name: str, prior: Values, why: RemovalReason, *, deletable: bool
) -> tuple[Diagnostic, ...]:
    """Report the consequence of an agent's removal, or refuse it (`deletion_policy`)."""
    policy = prior.get("deletion_policy")
    if policy == "prevent" and why is not RemovalReason.WITH_OWNER:
        return (_removal_error(name, why),)
    if AGENT.is_abandoned(prior):
        return (abandoned_warning(name, _GOES_ON),) if why is not RemovalReason.WITH_OWNER else ()
    if deletable or why is RemovalReason.WITH_OWNER:
        return ()
    host = f"the host {prior.get('host_id') or '(not known)'}"
    if why is RemovalReason.ALONE:
        text = (
            f"The API has no operation that deletes an agent, and {host} stays: the agent "
            f"continues to run there. {_LIFT}"
        )
        return (warning(f"The {name} leaves management; it is not archived", text),)
    text = (
        f"It is archived only if {host} is deleted in this run. The API has no operation that "
        f"deletes an agent. {_LIFT}"
    )
    return (warning(f"The {name} leaves management", text),)


def judge_replacement(
    name: str, request: PlanChange, proposal: Proposal, *, deletable: bool
) -> list[Diagnostic]:
    """Judge a replacement: while its host stays, a second agent would run beside the first."""
    prior, config = request.prior, request.config
    policies = (config.get("deletion_policy"), prior.get("deletion_policy"))
    changed = ", ".join(proposal.replaced)
    path = (proposal.replaced[0],)
    with_owner = request.removal is RemovalReason.WITH_OWNER
    if "prevent" in policies and not with_owner:
        return [_removal_error(name, request.removal, path)]
    if with_owner or deletable:
        return []
    if proposal.planned["host_id"] is UNKNOWN:
        summary = f"The {name} is replaced, because the id of its host is not known yet"
        detail = (
            f"The old agent is archived only if the host {prior.get('host_id') or '(not known)'} "
            "is deleted in this run; otherwise both run."
        )
        return [warning(summary, detail, path)]
    if AGENT.is_abandoned(config):
        return [abandoned_warning(name, _GOES_ON)]
    moves = "host_id" in proposal.replaced
    happens = "It would move to another host" if moves else f"{changed} would change"
    return [
        error(
            f"The {name} cannot be replaced while its host stays",
            f"{happens}, which no operation does in place, and the API cannot delete the old "
            "agent: a second one would run beside the first. Do one of these:\n"
            "  Delete its host in the same run.\n"
            '  Set deletion_policy = "abandon", which leaves the old agent running.\n'
            "  If the console can change or delete agents, name the operation in extra_endpoints: "
            "agent_update or agent_delete.\n"
            "  If its host is gone already, the agent is archived: remove it and its attachments "
            "from state.",
            path,
        )
    ]


def judge_move(name: str, request: PlanChange, proposal: Proposal) -> list[Diagnostic]:
    """Warn of a move to a host that is not known yet, where the old host may be replaced."""
    unknown = proposal.planned["host_id"] is UNKNOWN
    if request.removal is not RemovalReason.UNEXPLAINED or not unknown:
        return []
    host = request.prior.get("host_id") or "(not known)"
    return [
        warning(
            f"The {name} moves to a host whose id is not known yet",
            f"If its host {host} is replaced in this run, the agent is archived with that host "
            "before it can move, and the apply ends with an error. The next plan then creates "
            "the agent again. With create_before_destroy in the lifecycle of the host, the "
            "agent moves first.",
            ("host_id",),
        )
    ]


def archived_error(name: str) -> Diagnostic:
    """Refuse an update whose answer shows the agent archived."""
    return error(
        f"The {name} is archived",
        "The console archives an agent when its host is deleted, and cannot reactivate it. Plan "
        "and apply again: the next plan creates the agent again.",
    )


def created_archived_warning(name: str) -> Diagnostic:
    """Warn of an agent that does not run; an error would make each apply create it again."""
    return warning(
        f"The {name} was created archived: it does not run",
        "The console answered its creation so. It stays in state, and no other is created until "
        "it is replaced (-replace). Look in the console why.",
    )


def _removal_error(name: str, why: RemovalReason, path: tuple[str, ...] = ()) -> Diagnostic:
    unknowing = (
        " Terraform cannot tell whether its host is deleted too: to delete both, change the "
        "policy first."
        if why is RemovalReason.UNEXPLAINED
        else ""
    )
    return error(
        f"The {name} must not be removed",
        f'Its deletion_policy is "prevent".{unknowing}',
        path,
    )
