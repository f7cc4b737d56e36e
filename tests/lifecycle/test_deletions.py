"""Deletions that are planned one by one, against `max_deletions`."""

import pytest

from opsconsole.lifecycle.deletions import DeletionCount
from opsconsole.lifecycle.interface import PlanChange, PlanCreation, PlanOutcome
from opsconsole.resources import HOST

HELD = HOST.empty() | {"id": "hst_1", "deletion_policy": "delete"}
DECLARED = HOST.empty() | {"name": "web", "deletion_policy": "delete"}


@pytest.mark.parametrize(("private", "is_too_many"), [(b"of the old", False), (b"other", True)])
def test_a_replacement_counts_once(one_run, private, is_too_many):
    """Terraform plans it as a change, and as a creation that carries the same private bytes."""
    count = one_run(max_deletions=1).session.get(DeletionCount)
    change = PlanChange(HELD, DECLARED, b"of the old")
    creation = PlanCreation(DECLARED, private)

    assert count.judge_plan(HOST, change, PlanOutcome(DECLARED, ("name",)), "web") is None
    problem = count.judge_plan(HOST, creation, PlanOutcome(DECLARED), "web")
    again = count.judge_plan(HOST, creation, PlanOutcome(DECLARED), "web")

    assert (problem is not None) == is_too_many
    assert again is not None, "a tainted object that is replaced counts too"
