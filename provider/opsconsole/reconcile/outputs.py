"""Outputs of the root module: the change of each, and what state keeps of it."""

from __future__ import annotations

from collections.abc import Collection

from opsconsole.compare import same
from opsconsole.errors import UserError
from opsconsole.language import Evaluator, OutputValue
from opsconsole.reconcile.changes import Action, OutputChange
from opsconsole.state import State, StateOutput
from opsconsole.values import holds_unknown


def output_changes(
    evaluator: Evaluator | None, state: State, names: Collection[str] | None = None
) -> tuple[OutputChange, ...]:
    """Return the changes of outputs, of `names` alone where these are given.

    Without an evaluator all of them are removed.

    Raises:
        UserError: an output cannot be evaluated.
    """
    before = state.outputs
    after = _evaluated(evaluator, names)
    found = []
    for name in sorted({*before, *after} if names is None else names):
        old, new = before.get(name), after.get(name)
        if new is None:
            assert old is not None
            found.append(OutputChange(name, Action.DELETE, old.value, None, old.sensitive))
            continue
        held = old.value if old is not None else None
        if old is None:
            action = Action.CREATE if new.value is not None else Action.NO_OP
        else:
            stays = same(held, new.value) and old.sensitive == new.sensitive
            action = Action.NO_OP if stays else Action.UPDATE
        # What was sensitive is before the change, whatever it becomes.
        sensitive = new.sensitive or (old is not None and old.sensitive)
        found.append(OutputChange(name, action, held, new.value, sensitive))
    return tuple(found)


def _evaluated(
    evaluator: Evaluator | None, names: Collection[str] | None
) -> dict[str, OutputValue]:
    if evaluator is None:
        return {}
    if names is None:
        return evaluator.outputs()
    declared = evaluator.program.outputs
    wanted = (name for name in names if name in declared)
    return {name: evaluator.output(name) for name in wanted}


def keep_outputs(evaluator: Evaluator | None, state: State, names: Collection[str]) -> None:
    """Put the outputs `names` into state; one that is not known yet keeps what state holds.

    Raises:
        UserError: an output cannot be evaluated.
    """
    values = _evaluated(evaluator, names)
    for name in {*state.outputs} & {*names} - {*values}:
        state.set_output(name, None)
    for output in values.values():
        _keep(output, state)


def keep_known_outputs(evaluator: Evaluator, state: State, names: Collection[str]) -> None:
    """Put into state those of `names` that can be told after a run that left something undone."""
    for name in names:
        try:
            found = _evaluated(evaluator, [name])
        except UserError:
            continue  # what it refers to was not done
        for value in found.values():
            _keep(value, state)


def _keep(output: OutputValue, state: State) -> None:
    if output.value is None:
        state.set_output(output.name, None)
    elif not holds_unknown(output.value):
        kept = StateOutput(output.value, output.stored_type, output.sensitive)
        state.set_output(output.name, kept)
