"""Plans the instances of a program in the order of their dependencies.

Each level is evaluated with the decisions of the level before. All instances of one level, type and
provider are planned by one request to the lifecycle.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from opsconsole.diagnostics import Diagnostic, has_error, leading_names
from opsconsole.language import Block, Evaluated, Evaluator, Graph, Instance, named_resources
from opsconsole.reconcile.decisions import PlanInput, decide_changes, is_triggered
from opsconsole.reconcile.plan import Action, Change, DataRead
from opsconsole.reconcile.prior import Cascade, PriorInstance
from opsconsole.reconcile.providers import Providers
from opsconsole.resources import RESOURCES, owners_above, top_owner_types
from opsconsole.state import Address, config_address, instance_of, split_deposed
from opsconsole.values import UNKNOWN, Values, unknown_names

if TYPE_CHECKING:
    from opsconsole.reconcile.targets import Targets


def levels(graph: Graph, blocks: Mapping[str, Block]) -> Iterator[list[str]]:
    """Yield the addresses of a graph in levels: each depends on earlier levels only."""
    rank = {address: number for number, address in enumerate(graph.order)}
    sorter = TopologicalSorter(graph.direct)
    sorter.prepare()
    waiting: dict[int, list[str]] = {}
    while sorter.is_active():
        for address in sorter.get_ready():
            block = blocks[address]
            owners = () if block.mode == "data" else owners_above(RESOURCES[block.type_name])
            waiting.setdefault(len(owners), []).append(address)
        # An owned instance comes as late as possible. Its plan depends on the plan of its owner,
        # even if it is to leave that owner.
        level = waiting.pop(min(waiting))
        sorter.done(*level)
        yield sorted(level, key=rank.__getitem__)


@dataclass
class Walk:
    """One walk through a program.

    Attributes:
        targets: The addresses that the plan covers; None: all.
        values: Present or planned values of instances, by address. The walk adds to them.
        data_for_imports: Values of the data sources that `import` blocks needed, by address; None
            for a failed read.
        requested: Addresses of `--replace`.
        declared: Addresses that the program declares.
    """

    evaluator: Evaluator
    graph: Graph
    providers: Providers
    _: KW_ONLY
    targets: Targets | None
    prior: Mapping[str, PriorInstance]
    values: dict[str, Values]
    data_for_imports: Mapping[str, Values | None]
    requested: Collection[str] = ()
    changes: dict[str, Change] = field(default_factory=dict)
    declared: set[str] = field(default_factory=set)
    data: list[DataRead] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    _of_block: dict[str, list[Change]] = field(default_factory=dict)
    _create_before_destroy: frozenset[str] = frozenset()
    _failed: set[str] = field(default_factory=set)
    """Configuration addresses of the blocks that could not be planned or read."""

    async def run(self) -> None:
        """Plan the whole program.

        Raises:
            UserError: It cannot be evaluated.
        """
        blocks = self.evaluator.program.blocks
        # As in Terraform, the dependencies of such a block are created first, too. Otherwise the
        # two replacements would wait for each other.
        own = [a for a, block in blocks.items() if block.lifecycle_block.create_before_destroy]
        self._create_before_destroy = frozenset(own).union(*map(self.graph.ancestors, own))
        for level in levels(self.graph, blocks):
            groups: dict[tuple[str, str], list[PlanInput]] = {}
            for address in level:
                block = blocks[address]
                if self.targets is not None and not self.targets.reaches(address):
                    # The number of its instances may not be known yet.
                    prior = self._prior_of_block.get(address, ())
                    self.declared.update(item.address for item in prior)
                    continue
                if not self._failed.isdisjoint(self.graph.direct[address]):
                    self._skip(address)
                    continue
                for instance in self.evaluator.instances(block).values():
                    self.declared.add(instance.address)
                    if not self.covers(instance.address):
                        self._keep_value_in_state(instance.address)
                    elif block.mode == "data":
                        await self._read(instance)
                    else:
                        plan_input = self._plan_input(instance)
                        if plan_input is not None:
                            key = block.provider_key, block.type_name
                            groups.setdefault(key, []).append(plan_input)
            for (provider_key, type_name), inputs in groups.items():
                lifecycle = self.providers.of(provider_key).lifecycles[type_name]
                if any(item.prior is not None for item in inputs):
                    cascade = self.cascade()
                    inputs = [self._with_removal(item, cascade) for item in inputs]
                for change, diagnostics in await decide_changes(lifecycle, inputs):
                    self.add_change(change, diagnostics)

    def covers(self, address: str) -> bool:
        return self.targets is None or address in self.targets

    def is_skipped(self, address: str) -> bool:
        """Return whether an instance has no plan because something that it needs has none."""
        return config_address(address) in self._failed and address not in self.changes

    def _skip(self, address: str) -> None:
        """Plan nothing for a block that depends on one without a plan, as in Terraform."""
        self._failed.add(address)
        for item in self._prior_of_block.get(address, ()):
            self.declared.add(item.address)
            self._keep_value_in_state(item.address)

    def _keep_value_in_state(self, address: str) -> None:
        item = self.prior.get(address)
        if item is not None and item.values is not None:
            self.values[address] = item.values

    def _plan_input(self, instance: Instance) -> PlanInput | None:
        address = instance.address
        item = self.prior.get(address)
        # A plan for it might create the object a second time.
        if item is not None and item.unsettled:
            return None
        block = instance.block
        reason = "replace_by_request" if address in self.requested else ""
        evaluated = self.evaluator.config(instance)
        if block.lifecycle_block.replace_triggered_by and is_triggered(
            instance, self.evaluator, self._of_block
        ):
            reason = "replace_by_triggers"
        return PlanInput(
            address,
            block,
            evaluated.values,
            evaluated.declaration_problems,
            sensitive_paths=frozenset(path for path in evaluated.sensitive_paths if path),
            prior=item if item is not None and item.values is not None else None,
            dependencies=self.graph.ancestors(block.address),
            create_before_destroy=block.address in self._create_before_destroy,
            reason=reason,
        )

    def _with_removal(self, item: PlanInput, cascade: Cascade) -> PlanInput:
        """Return an instance to plan with the effects of a cascade on its object."""
        if item.prior is None:
            return item
        removal = cascade.removal_of(item.prior)
        goes_first = self._may_lose_owner_first(item, cascade.owner_of(item.prior))
        if removal is item.removal and not goes_first:
            return item
        return item._replace(removal=removal, owner_is_deleted_first=goes_first)

    def _may_lose_owner_first(self, item: PlanInput, owner: str) -> bool:
        """Return whether the owner of an instance may be deleted before its update can begin."""
        change = self.changes.get(owner)
        if not owner or (change is not None and change.create_first):
            return False
        # The update waits for such a replacement, which may wait for the owner's deletion.
        return any(
            other.action is Action.REPLACE and not other.create_first
            for needed in item.dependencies
            for other in self._of_block.get(needed, ())
        )

    def cascade(self, also: Iterable[PriorInstance] = ()) -> Cascade:
        """Return the cascade of the owners planned for deletion so far, and of `also`."""
        going = [self.prior[c.address] for c in self.changes.values() if c.deletes_top_owner]
        owners = (item for item in also if item.type_name in top_owner_types())
        moving = {change.address for change in self.changes.values() if change.moves_to_other_owner}
        # Owners that are no longer declared are removed after the walk. The objects that they own
        # are planned during the walk.
        blocks = self.evaluator.program.blocks
        orphaned = [
            item
            for item in self.prior.values()
            if item.type_name in top_owner_types()
            and self.covers(item.address)
            and (split_deposed(item.address)[1] or config_address(item.address) not in blocks)
            and not self.is_forgotten(item)
        ]
        console_holding = self.providers.console_holding
        leaving = [*going, *orphaned, *owners]
        return Cascade(leaving, self.prior.values(), console_holding, moving)

    def is_forgotten(self, item: PriorInstance) -> bool:
        """Return whether an instance that leaves the program stays on the console.

        A `removed` block decides, else `lifecycle { destroy = false }` as OpenTofu noted it in
        state.
        """
        # This runs for every owner in state, and most programs need no address parsed.
        if not self._destroys and not item.stored.skip_destroy:
            return False
        own = instance_of(item.address)
        destroys = self._destroys.get(own, self._destroys.get(own.resource))
        return item.stored.skip_destroy if destroys is None else not destroys

    @cached_property
    def _destroys(self) -> dict[Address, bool]:
        """The address in each `removed` block, and whether its objects are destroyed."""
        return {block.source: block.destroy for block in self.evaluator.program.removed}

    def add_change(self, change: Change, diagnostics: Sequence[Diagnostic]) -> None:
        self.changes[change.address] = change
        self._of_block.setdefault(change.address.partition("[")[0], []).append(change)
        if change.after is not None:
            self.values[change.address] = change.after
        self.evaluator.mark(change.address, change.sensitive_paths)
        if has_error(diagnostics):
            self._failed.add(config_address(change.address))
        self.diagnostics += (item.about(change.address) for item in diagnostics)

    async def _read(self, instance: Instance) -> None:
        """Read a data source, or defer the read until its inputs are known."""
        block, address = instance.block, instance.address
        evaluated = self.evaluator.config(instance)
        values = evaluated.values
        if unknown_names(values):
            self._defer_read(block, address, evaluated, "read_because_config_unknown")
            return
        # As in Terraform: a change in this plan may change the answer of the data source.
        if any(map(self._is_pending, named_resources(block))):
            self._defer_read(block, address, evaluated, "read_because_dependency_pending")
            return
        if address in self.data_for_imports:
            value = self.data_for_imports[address]
        else:
            outcome = await self.providers.of(block.provider_key).read_data(block.type_name, values)
            self.diagnostics += (item.about(address) for item in outcome.diagnostics)
            value = outcome.state
        if value is None:
            self._failed.add(block.address)
        else:
            self.values[address] = value
            self.data.append(
                DataRead(
                    address,
                    block.type_name,
                    block.provider_key,
                    value,
                    frozenset(evaluated.sensitive_paths),
                )
            )

    def _is_pending(self, resource: str) -> bool:
        if any(change.action is not Action.NO_OP for change in self._of_block.get(resource, ())):
            return True
        # An instance that is no longer declared is removed, which is decided after the walk.
        return any(
            item.values is not None
            and self.covers(item.address)
            and item.address not in self.declared
            for item in self._prior_of_block.get(resource, ())
        )

    @cached_property
    def _prior_of_block(self) -> dict[str, list[PriorInstance]]:
        prior: dict[str, list[PriorInstance]] = {}
        for item in self.prior.values():
            prior.setdefault(config_address(item.address), []).append(item)
        return prior

    def _defer_read(self, block: Block, address: str, evaluated: Evaluated, reason: str) -> None:
        values = evaluated.values
        after = {
            attribute.name: UNKNOWN
            if attribute.computed and values[attribute.name] is None
            else values[attribute.name]
            for attribute in block.definition.attributes
        }
        self.values[address] = after
        self.changes[address] = Change(
            address,
            block.type_name,
            Action.READ,
            None,
            after,
            config=values,
            reason=reason,
            sensitive=leading_names(evaluated.sensitive_paths),
            sensitive_paths=frozenset(evaluated.sensitive_paths),
            construct_path=block.origin.path,
            provider_key=block.provider_key,
            dependencies=self.graph.ancestors(block.address),
        )
