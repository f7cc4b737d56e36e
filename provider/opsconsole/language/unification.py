"""The one type that several types can be converted to, by go-cty's rules of unification."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opsconsole.language.value_types import (
    DYNAMIC,
    PRIMITIVES,
    STRING,
    Type,
    kind_of,
)


def unify(types: Sequence[Type]) -> Type | None:
    """Return the common type of `types`, or None; nulls and unknowns fit every type."""
    known = list(dict.fromkeys(kind for kind in types if kind != DYNAMIC))
    if not known:
        return DYNAMIC
    if len(known) == 1:
        return known[0]
    if all(kind in PRIMITIVES for kind in known):
        return STRING if STRING in known else None
    kinds = {kind_of(kind) for kind in known}
    if kinds == {"map", "object"}:
        return _through(known, "object", _as_map)
    if kinds == {"list", "tuple"}:
        return _through(known, "tuple", _as_list)
    if kinds == {"object"}:
        return _objects(known)
    if kinds == {"tuple"}:
        return _tuples(known)
    if kinds in ({"list"}, {"set"}, {"map"}):
        element = unify([kind[1] for kind in known])
        return None if element is None else (kinds.pop(), element)
    return _most_general(known)


def _through(
    types: Sequence[Type], structural: str, collapse: Callable[[Sequence[Type]], Type | None]
) -> Type | None:
    collapsed = collapse([kind for kind in types if kind_of(kind) == structural])
    if collapsed is None:
        return None
    return unify([collapsed if kind_of(kind) == structural else kind for kind in types])


def _as_map(objects: Sequence[Type]) -> Type | None:
    element = unify([inner for _, attributes in objects for _, inner in attributes])
    return None if element is None else ("map", element)


def _as_list(tuples: Sequence[Type]) -> Type | None:
    element = unify([inner for _, items in tuples for inner in items])
    return None if element is None else ("list", element)


def _objects(types: Sequence[Type]) -> Type | None:
    names = [name for name, _ in types[0][1]]
    if any([name for name, _ in attributes] != names for _, attributes in types):
        return _as_map(types)
    merged = [
        unify([attributes[position][1] for _, attributes in types])
        for position in range(len(names))
    ]
    return None if None in merged else ("object", tuple(zip(names, merged, strict=True)))


def _tuples(types: Sequence[Type]) -> Type | None:
    size = len(types[0][1])
    if any(len(items) != size for _, items in types):
        return _as_list(types)
    merged = [unify([items[position] for _, items in types]) for position in range(size)]
    return None if None in merged else ("tuple", tuple(merged))


def _most_general(types: Sequence[Type]) -> Type | None:
    """Return the first type that all others convert to: lists are tried before sets."""
    ordered = sorted(types, key=lambda kind: (_RANK.get(kind_of(kind), 3), kind[1] != STRING))
    for wanted in ordered:
        if all(converts(kind, wanted) for kind in types):
            return wanted
    return None


_RANK = {"list": 0, "tuple": 1, "set": 2}


def converts(source: Type, wanted: Type) -> bool:
    """Return whether some values of one type convert to another."""
    if source == wanted or DYNAMIC in (source, wanted):
        return True
    if source in PRIMITIVES and wanted in PRIMITIVES:
        return STRING in (source, wanted)
    kinds = kind_of(source), kind_of(wanted)
    if kinds[0] == "tuple" and kinds[1] in ("list", "set"):
        return all(converts(inner, wanted[1]) for inner in source[1])
    if kinds == ("object", "map"):
        return all(converts(inner, wanted[1]) for _, inner in source[1])
    if kinds in _COLLECTIONS:
        return converts(source[1], wanted[1])
    return False


_COLLECTIONS = frozenset(
    (("list", "list"), ("set", "set"), ("set", "list"), ("list", "set"), ("map", "map"))
)
