"""What a create made stays known, whatever else its answer holds.

An error would leave it out of state, or taint it: either way the next apply makes a second one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opsconsole.diagnostics import warning
from opsconsole.lifecycle.interface import ApplyRequest, Outcome
from opsconsole.lifecycle.memory import Memory
from opsconsole.lifecycle.one_by_one import OneByOne
from opsconsole.lifecycle.planning import settle
from opsconsole.lifecycle.translate import diagnose


def keep_created(
    steps: OneByOne,
    request: ApplyRequest,
    answer: Mapping[str, Any],
    outcome_of: Callable[[Mapping[str, Any]], Outcome],
) -> Outcome:
    """Return the outcome of a create by its answer, or by the answer's id where that fails.

    Args:
        answer: What the console answered; it has an `id`.
        outcome_of: Makes the outcome of the answer; may raise.
    """
    try:
        return outcome_of(answer)
    except Exception as problem:
        assert request.planned is not None
        state = settle(steps.definition, request.planned, {"id": answer["id"]})
        name = steps.name(state, request.address)
        told = warning(
            f"The {name} was created, but the console's answer cannot be read",
            "State holds what was declared; a later refresh shows the rest. "
            + diagnose(problem, "read the answer")[0].detail,
        )
        private = Memory().having_declared(request.config or {}, ()).encode()
        return Outcome(state, private, (told,))
