"""Which local values a local value needs first, found without recursion: chains may be long."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from opsconsole.language.model import Json
from opsconsole.language.templated import readable_references


class LocalCycle(Exception):
    """Local values refer to each other in a cycle; `names` begins and ends with the same one."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(" → ".join(names))
        self.names = names


def in_order(name: str, values: Mapping[str, Json], done: Collection[str]) -> list[str]:
    """Return the local values to settle, `name` last; each stands after those that it refers to.

    Args:
        done: Names that are settled already.

    Raises:
        LocalCycle: Some of them refer to each other in a cycle.
    """
    order: list[str] = []
    settled: set[str] = set()
    path: dict[str, Iterator[str]] = {name: _named_in(values[name])}
    while path:
        current = next(reversed(path))
        following = next(path[current], None)
        if following is None:
            del path[current]
            settled.add(current)
            order.append(current)
        elif following in path:
            names = list(path)
            raise LocalCycle([*names[names.index(following) :], following])
        elif following in values and following not in settled and following not in done:
            path[following] = _named_in(values[following])
    return order


def _named_in(value: Json) -> Iterator[str]:
    """Yield the local values that a value names; one that cannot be read fails when it is used."""
    return iter(
        [
            str(item.steps[1])
            for item in readable_references(value)
            if item.steps[0] == "local" and item.steps[1:]
        ]
    )
