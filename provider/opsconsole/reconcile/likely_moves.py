"""What looks like a move: a deletion and a creation that differ only in the address.

Pure. Nothing is guessed: if several are possible, all of them are named.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from opsconsole.compare import same
from opsconsole.definition import Attribute
from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.reconcile.changes import Action, Change, LikelyMove
from opsconsole.resources import RESOURCES
from opsconsole.state import Address, instance_and_key
from opsconsole.values import Attributes, Value, holds_unknown

Replanned = Callable[[Mapping[str, Attributes], Collection[str]], Mapping[str, Attributes]]
"""Returns the configurations of created instances, by address, where others hold these values."""

_SHOWN: Final = 10
_MANY: Final = 50
"""A configuration that is not known yet is not compared with more objects than this."""


@dataclass
class _Search:
    """Pairs deletions with creations, where each has exactly one counterpart.

    Attributes:
        coming: The creations and imports that have no counterpart yet, by address.
        configs: What these declare, as far as it is known.
        paired: The change that removes its counterpart, by the address of a creation.
        matching: The addresses of what equals each creation.
    """

    leaving: Mapping[str, Change]
    coming: dict[str, Change]
    configs: dict[str, Attributes]
    paired: dict[str, Change] = field(default_factory=dict)
    matching: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._taken: set[str] = set()
        self._index: dict[tuple[object, ...], list[str]] = {}
        for address, change in self.leaving.items():
            before = change.before or {}
            for key in [*_keys(change, before), _id_key(change, before.get("id"))]:
                self._index.setdefault(key, []).append(address)
        for address in self.coming:
            self.compare(address)

    def compare(self, address: str) -> None:
        """Find what equals a creation, by what is known of its configuration."""
        change, config = self.coming[address], self.configs[address]
        known = _known_id(change)
        keys = _keys(change, config) if known is None else [_id_key(change, known)]
        near = min((self._index.get(key, []) for key in keys), key=len)
        if len(near) > _MANY and not self.is_known(address):
            near = []
        self.matching[address] = [
            name
            for name in near
            if name not in self._taken and _equals(self.leaving[name], change, config)
        ]

    def is_known(self, address: str) -> bool:
        """Return whether it is known which object it is, or all that its configuration holds."""
        if _known_id(self.coming[address]) is not None:
            return True
        definition = RESOURCES[self.coming[address].type_name]
        config = self.configs[address]
        return not any(holds_unknown(config.get(item.name)) for item in definition.settable)

    def pair(self) -> bool:
        """Pair what has exactly one counterpart; return whether there was any."""
        wanted: dict[str, list[str]] = {}
        for address, names in self.matching.items():
            for name in names:
                wanted.setdefault(name, []).append(address)
        fresh = {
            addresses[0]: name
            for name, addresses in wanted.items()
            if len(addresses) == 1
            and len(self.matching[addresses[0]]) == 1
            and self.is_known(addresses[0])
        }
        for address, name in fresh.items():
            self.paired[address] = self.leaving[name]
            self._taken.add(name)
            del self.coming[address], self.matching[address]
        return bool(fresh)

    def learn(self, replanned: Replanned) -> None:
        """Compare again what refers to the instances that have a counterpart."""
        waiting = [address for address in self.coming if not self.is_known(address)]
        if not waiting:
            return
        values = {address: change.before or {} for address, change in self.paired.items()}
        for address, config in replanned(values, waiting).items():
            if not same(dict(config), dict(self.configs[address])):
                self.configs[address] = config
                self.compare(address)

    def give_up(self) -> bool:
        """Leave what refers to instances without a counterpart; return whether there was any."""
        waiting = [address for address in self.coming if not self.is_known(address)]
        for address in waiting:
            del self.coming[address], self.matching[address]
        return bool(waiting)

    def unclear(self) -> Iterator[tuple[list[str], list[str]]]:
        """Yield what is left, in groups of what equals each other: sources and targets."""
        open_ = {address: set(names) for address, names in self.matching.items() if names}
        while open_:
            first = next(iter(open_))
            targets, sources = [first], open_.pop(first)
            while more := [item for item, names in open_.items() if names & sources]:
                targets += more
                for address in more:
                    sources |= open_.pop(address)
            yield sorted(sources), sorted(targets)


def likely_moves(
    changes: Iterable[Change], replanned: Replanned
) -> tuple[list[LikelyMove], list[Diagnostic]]:
    """Return what looks like a move, and warnings of this and of what may be one of several.

    Args:
        changes: The changes of a plan that removes only what the program does not declare.
        replanned: Evaluates configurations again.
    """
    items = list(changes)
    leaving = {
        item.address: item
        for item in items
        if item.action is Action.DELETE and item.before and not instance_and_key(item.address)[1]
    }
    types = {item.type_name for item in leaving.values()}
    coming = {
        item.address: item
        for item in items
        if (item.action is Action.CREATE or item.import_id)
        and item.config is not None
        and item.type_name in types
    }
    if not leaving or not coming:
        return [], []
    configs = {address: item.config or {} for address, item in coming.items()}
    search = _Search(leaving, dict(coming), configs)
    while True:
        while search.pair():
            search.learn(replanned)
        if not search.give_up():
            break
    found = [
        LikelyMove(source.address, target, coming[target].construct_path)
        for target, source in search.paired.items()
    ]
    return found, [*_move_warnings(found), *map(_unclear_warning, search.unclear())]


def _keys(change: Change, values: Attributes) -> list[tuple[object, ...]]:
    """Return what an object is looked up by, from the widest to the narrowest."""
    definition = RESOURCES[change.type_name]
    kind = (change.type_name, change.provider)
    names = [name for name in (definition.label, definition.owner) if name]
    parts = [(name, values[name]) for name in names if isinstance(values.get(name), str)]
    return [kind, *((*kind, part) for part in parts), *([(*kind, *parts)] if parts[1:] else [])]


def _id_key(change: Change, object_id: Value) -> tuple[object, ...]:
    return (change.type_name, change.provider, "id", object_id)


def _known_id(coming: Change) -> str | None:
    """Return the id of the object that is adopted or imported, where one is."""
    found = (coming.after or {}).get("id")
    return found if isinstance(found, str) else None


def _equals(leaving: Change, coming: Change, config: Attributes) -> bool:
    """Return whether a move would leave nothing to change; what is not known yet may be equal."""
    before, known = leaving.before or {}, _known_id(coming)
    if known is not None:
        return known == before.get("id")
    return all(
        _agrees(item, before.get(item.name), config.get(item.name))
        for item in RESOURCES[coming.type_name].settable
    )


def _agrees(attribute: Attribute, held: Value, declared: Value) -> bool:
    if declared is None:
        return held is None or attribute.computed
    if holds_unknown(declared):
        return bool(attribute.refers_to) and held is not None
    return same(attribute.normalised(held), attribute.normalised(declared))


def _move_warnings(found: Sequence[LikelyMove]) -> Iterator[Diagnostic]:
    """Yield a warning for what looks like moves, if anything does."""
    if found:
        count = len(found)
        what = (
            f"{found[0].source} to {found[0].target} looks like a move"
            if count == 1
            else f"{count:,} resources look like moves"
        )
        shown = "\n\n".join(_written(move) for move in found[:_SHOWN])
        more = f"\n\nand {count - _SHOWN:,} more." if count > _SHOWN else ""
        yield warning(
            what,
            "An object that would be deleted equals one that the program declares at another "
            "address. If it is the same object, declare the move, and it is "
            f"kept:\n\n{shown}{more}\n\n`opsconsole plan --moved` writes the blocks into a file.",
        )


def _unclear_warning(group: tuple[list[str], list[str]]) -> Diagnostic:
    sources, targets = ("\n".join(f"  {address}" for address in side) for side in group)
    return warning(
        "It is unclear which resource moved where",
        f"These would be deleted:\n{sources}\nThese are declared, and more than one of them "
        f"equals one of those:\n{targets}\nIf one moved, declare it: a moved block, or "
        "move_from_id in Python.",
    )


def _written(move: LikelyMove) -> str:
    block = f"  moved {{\n    from = {move.source}\n    to   = {move.target}\n  }}"
    if not move.construct_path or Address.parse(move.target).key is not None:
        return block
    return f"{block}\n  in Python, of {move.construct_path}: move_from_id({move.source!r})"
