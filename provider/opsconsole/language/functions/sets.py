"""Functions on sets, and the product of collections."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from itertools import product
from math import prod
from typing import Any

from opsconsole.language.bounds import check_elements
from opsconsole.language.conversion import convert, make_set
from opsconsole.language.failures import EvaluationError
from opsconsole.language.functions.collections import element_type, require_sequence
from opsconsole.language.functions.registry import Signature, Unknowns
from opsconsole.language.set_order import fingerprint
from opsconsole.language.unification import unify
from opsconsole.language.value_types import DYNAMIC, ListValue, SetValue
from opsconsole.values import UNKNOWN, holds_unknown

SET_OF_ANY = ("set", DYNAMIC)


def _reduced(step: Callable[[set[str], set[str]], set[str]], *sets: Any) -> Any:
    element = unify([value.element for value in sets])
    if element is None:
        raise EvaluationError("the sets must have elements of one type")
    aligned = [convert(value, ("set", element)) for value in sets]
    items = {fingerprint(item): item for value in aligned for item in value}
    kept = reduce(step, ({fingerprint(item) for item in value} for value in aligned))
    return make_set([items[key] for key in kept], element)


for _name, _step in (("setunion", set.union), ("setintersection", set.intersection)):
    Signature(_name, (SET_OF_ANY,), rest=SET_OF_ANY, unknowns=Unknowns.ANY)(
        partial(_reduced, _step)
    )
Signature("setsubtract", (SET_OF_ANY, SET_OF_ANY), unknowns=Unknowns.ANY)(
    partial(_reduced, set.difference)
)


@Signature("setproduct", rest=DYNAMIC)
def _product(*parts: Any) -> Any:
    if len(parts) < 2:
        raise EvaluationError("at least two arguments are required")
    columns = []
    kinds = []
    for part in parts:
        require_sequence(part)
        if isinstance(part, SetValue) and holds_unknown(part):
            return UNKNOWN
        kind = element_type(part)
        kinds.append(kind)
        columns.append([convert(item, kind) for item in part])
    check_elements(len(columns) * prod(map(len, columns)))
    rows = [list(row) for row in product(*columns)]
    element = ("tuple", tuple(kinds))
    if any(isinstance(part, SetValue) for part in parts):
        return make_set(rows, element)
    return ListValue(rows, element)
