"""`-target`: which instances a plan is about. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.errors import UserError
from opsconsole.language import Graph
from opsconsole.phrases import near_address
from opsconsole.reconcile.declaration import instance_and_key
from opsconsole.reconcile.order import config_address
from opsconsole.state import Address

_SHOWN = 10


class Targets:
    """Tells whether the plan is about an address."""

    def __init__(
        self,
        wanted: Iterable[str],
        graph: Graph,
        known: Collection[str],
        *,
        destroy: bool,
        held_by: dict[str, set[str]],
    ) -> None:
        """Take the targets and what each brings along.

        Args:
            wanted: Addresses of resources or instances; none: everything is wanted.
            known: Addresses of all instances in state.
            destroy: Whether dependants come along instead of dependencies.
            held_by: Configuration address to those that depend on it in state.

        Raises:
            UserError: a target is not an address, or names nothing.
        """
        self._exact: set[str] = set()
        self._of_exact: set[str] = set()
        self._resources: set[str] = set()
        self.all = not wanted
        for text in wanted:
            address = str(Address.parse(text))
            config = config_address(address)
            if config not in graph.direct and not any(
                config_address(item) == config for item in known
            ):
                raise UserError(
                    f"-target names {text}, which is neither in the program nor in state.",
                    near_address(text, sorted({*graph.direct, *known}))
                    or "Check the address: `opsconsole state list` shows those in state.",
                )
            if config == address:
                self._resources.add(config)
            else:
                self._exact.add(address)
                self._of_exact.add(config)
            if destroy:
                self._resources |= _reached(config, held_by)
            elif config in graph.direct:
                self._resources.update(graph.ancestors(config))

    def __contains__(self, address: str) -> bool:
        return (
            self.all
            or instance_and_key(address)[0] in self._exact
            or config_address(address) in self._resources
        )

    def reach(self, config: str) -> bool:
        """Return whether the plan is about any instance of a configuration address."""
        return self.all or config in self._resources or config in self._of_exact

    def outputs(self, graph: Graph, *, destroy: bool) -> frozenset[str] | None:
        """Return the outputs that come along, those of targets alone; None: all.

        As in core: one that refers to no resource stays as it is, and so does every one of a
        targeted destruction.
        """
        if self.all:
            return None
        if destroy:
            return frozenset()
        wanted = self._resources | self._of_exact
        return frozenset(
            name for name, needed in graph.outputs.items() if needed and wanted.issuperset(needed)
        )


def replacing_nothing(requested: Iterable[str], declared: Collection[str]) -> Iterator[Diagnostic]:
    """Warn of each `-replace` that names no declared instance."""
    for address in requested:
        if address in declared:
            continue
        config = config_address(str(Address.parse(address)))
        like = [item for item in declared if config_address(item) == config]
        like.sort(key=lambda item: (len(item), item))
        remedy = "The program declares no such instance."
        if like:
            shown = "".join(f"\n  -replace='{item}'" for item in like[:_SHOWN])
            more = f"\n  and {len(like) - _SHOWN:,} more" if len(like) > _SHOWN else ""
            remedy = f"{remedy} It declares:{shown}{more}"
        yield warning(f"-replace={address} replaces nothing", remedy)


def _reached(start: str, edges: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    pending = [start]
    while pending:
        for item in edges.get(pending.pop(), ()):
            if item not in found:
                found.add(item)
                pending.append(item)
    return found
