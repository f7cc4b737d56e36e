"""`replace_triggered_by`: whether a planned change of something else asks for a replacement."""

from __future__ import annotations

from collections.abc import Callable

from opsconsole.compare import same
from opsconsole.diagnostics import Path
from opsconsole.language import Evaluator, Instance
from opsconsole.reconcile.changes import Action, Change

_CHANGING = (Action.UPDATE, Action.REPLACE)

ChangesOf = Callable[[str], list[Change]]
"""Returns the changes planned for all instances of a configuration address."""


def is_triggered(instance: Instance, evaluator: Evaluator, changes_of: ChangesOf) -> bool:
    """Tell whether anything that `replace_triggered_by` names changes.

    Raises:
        UserError: a reference cannot be evaluated, or names no resource.
    """
    return any(
        _changes(change, named.path)
        for named in evaluator.triggers(instance)
        for change in changes_of(named.block)
        if named.address in (None, change.address)
    )


def _changes(change: Change, path: Path) -> bool:
    if change.action not in _CHANGING:
        return False
    return not path or not same(_at(change.before, path), _at(change.after, path))


def _at(value: object, path: Path) -> object:
    """Return what stands at `path` in a value; None where there is nothing."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value
