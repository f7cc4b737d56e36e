"""The instances that `--target` and `--replace` name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import UserError
from opsconsole.language import Graph
from opsconsole.reconcile.prior import PriorInstance
from opsconsole.state import Address, config_address, split_deposed
from opsconsole.text import first_lines, suggest_address


class Targets:
    """Decides whether a plan with `--target` covers an address."""

    def __init__(
        self,
        wanted: Iterable[str],
        graph: Graph,
        prior: Mapping[str, PriorInstance],
        *,
        destroy: bool,
        unknown: bool = False,
    ) -> None:
        """Collect the targets, with their dependencies or dependants.

        Args:
            wanted: Addresses of resources or instances.
            prior: All instances in state, by address.
            destroy: Whether dependants are covered instead of dependencies.
            unknown: Whether a target may name nothing; a warning in `diagnostics` says so.

        Raises:
            UserError: A target is not an address, or names nothing and may not.
        """
        self.diagnostics: list[Diagnostic] = []
        self._exact: set[str] = set()
        self._of_exact: set[str] = set()
        self._resources: set[str] = set()
        # A target may name the former address of a move: `split_move_errors` asks for both.
        former = {item.previous_address for item in prior.values()} - {""}
        addresses = {*graph.direct, *prior, *former}
        configured = set(map(config_address, addresses))
        dependents = _dependents(prior) if destroy else {}
        whole: set[str] = set()
        for text in wanted:
            address = _read_target(text)
            config = config_address(address)
            if config not in configured:
                problem = f"--target names {text}, which is neither in the program nor in state."
                remedy = suggest_address(text, sorted(addresses))
                remedy = remedy or (
                    "Check the address: `opsconsole state list` shows those in state."
                )
                if not unknown:
                    raise UserError(problem, remedy)
                self.diagnostics.append(warning(problem.removesuffix("."), remedy))
                continue
            if config == address:
                whole.add(config)
            else:
                self._exact.add(address)
                self._of_exact.add(config)
            if destroy:
                self._resources |= _reachable(config, dependents)
            elif config in graph.direct:
                self._resources.update(graph.ancestors(config))
        if not destroy:
            # As in Terraform: if a target names instances of a resource, only these are covered,
            # even if another target needs all of the resource.
            self._resources -= self._of_exact
        self._resources |= whole

    def __contains__(self, address: str) -> bool:
        # A deposed object goes with its instance.
        instance, _ = split_deposed(address)
        return instance in self._exact or config_address(address) in self._resources

    def reaches(self, config: str) -> bool:
        """Return whether the plan covers any instance of a configuration address."""
        return config in self._resources or config in self._of_exact

    def outputs(self, graph: Graph, *, destroy: bool) -> frozenset[str]:
        """Return the outputs that depend on targets alone."""
        if destroy:
            # As in Terraform, a targeted destruction leaves every output as it is.
            return frozenset()
        wanted = self._resources | self._of_exact
        # As in Terraform, an output that refers to no resource stays as it is.
        return frozenset(
            name for name, needed in graph.outputs.items() if needed and wanted.issuperset(needed)
        )


def _read_target(text: str) -> str:
    try:
        return str(Address.parse(text))
    except UserError:
        # Only Terraform plans programs with modules: here a module is empty. Any resource in it
        # stands for it.
        with suppress(UserError):
            if text.startswith("module."):
                return str(Address.parse(f"{text}.any.resource"))
        raise


def _dependents(prior: Mapping[str, PriorInstance]) -> dict[str, set[str]]:
    """Return, by configuration address, the resources in state that depend on it."""
    dependents: dict[str, set[str]] = {}
    for address, item in prior.items():
        for dependency in item.stored.dependencies:
            dependents.setdefault(dependency, set()).add(config_address(address))
    return dependents


def _reachable(start: str, edges: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    pending = [start]
    while pending:
        following = edges.get(pending.pop(), set()) - reached
        reached |= following
        pending += following
    return reached


def split_move_errors(
    prior: Iterable[PriorInstance], targets: Sequence[str]
) -> Iterator[Diagnostic]:
    """Refuse a `--target` that names one end of a move and not the other."""
    wanted = {_read_target(text) for text in targets}
    missing = sorted(
        address
        for item in prior
        if item.previous_address
        for address in (item.previous_address, item.address)
        if wanted.isdisjoint((address, config_address(address)))
    )
    if missing:
        yield error(
            "--target leaves out a resource that moves",
            "A plan needs every move in it. Add "
            + " ".join(f"--target='{address}'" for address in missing)
            + ", or leave --target out.",
        )


def undeclared_replacement_warnings(
    requested: Iterable[str], declared: Collection[str], targets: Targets | None
) -> Iterator[Diagnostic]:
    for address in requested:
        config = config_address(str(Address.parse(address)))
        # As in Terraform, nothing is said of what the targets leave out.
        if address in declared or (targets is not None and not targets.reaches(config)):
            continue
        like = [item for item in declared if config_address(item) == config]
        like.sort(key=lambda item: (len(item), item))
        remedy = "The program declares no such instance."
        if like:
            shown = first_lines([f"  --replace='{item}'" for item in like], 10)
            remedy = "\n".join([f"{remedy} It declares:", *shown])
        yield warning(f"--replace={address} replaces nothing", remedy)
