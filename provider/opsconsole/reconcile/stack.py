"""A program with its state, as the plans and applies of one run share it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from opsconsole.diagnostics import AttributePath
from opsconsole.language import Evaluator, Graph, PresentKeys, Program, build_graph
from opsconsole.lifecycle.private_state import is_sentinel
from opsconsole.reconcile.prior import values_from_state
from opsconsole.reconcile.providers import Providers
from opsconsole.resources import DATA_SOURCES, RESOURCES
from opsconsole.state import Address, State, StateSession
from opsconsole.values import Values


@dataclass
class OpenedStack:
    """A program with its opened state: the common inputs of the plans and applies of one run.

    Attributes:
        state_session: The session on the state. A plan changes it only to settle earlier writes.
        environ: The environment that provider settings fall back on.
        parallelism: As in `Providers`.

    Raises:
        UserError: The program has a reference to nothing, or a cycle of references.
    """

    program: Program
    variables: Mapping[str, Any]
    state_session: StateSession
    environ: Mapping[str, str]
    workspace: str = "default"
    parallelism: int | None = None
    graph: Graph = field(init=False)

    def __post_init__(self) -> None:
        self.graph = build_graph(self.program)

    @property
    def state(self) -> State:
        return self.state_session.state

    def sensitive_paths(self, address: str) -> Iterable[AttributePath]:
        stored = self.state.get(address)
        return stored.sensitive_paths if stored is not None else ()

    def evaluator(
        self,
        lookup: Callable[[str], Any] = lambda address: None,
        *,
        present: PresentKeys = lambda block: None,
        applying: bool = False,
        planned_at: datetime | None = None,
    ) -> Evaluator:
        """Return an evaluator of the program.

        Args:
            lookup: Returns the values of an instance, or None.
            present: Returns the keys of the instances that references to a block see.
        """
        return Evaluator(
            self.program,
            self.variables,
            lookup,
            sensitive=self.sensitive_paths,
            present=present,
            applying=applying,
            workspace=self.workspace,
            planned_at=planned_at,
        )

    def value_in_state(self, address: str) -> Values | None:
        """Return the values of an instance in state; None: there are none."""
        parsed = Address.parse(address)
        stored = self.state.get(parsed)
        if stored is None:
            return None
        kinds = DATA_SOURCES if parsed.mode == "data" else RESOURCES
        value = values_from_state(address, kinds[parsed.type], stored.attributes)
        # A sentinel stands for an id that nobody knows: no request may carry it.
        return None if is_sentinel(value.get("id")) else value

    def providers(
        self, evaluator: Evaluator | None = None, in_state: Evaluator | None = None
    ) -> Providers:
        """Return the program's providers; without `evaluator`, they know the values in state."""
        return Providers(
            self.program,
            evaluator or self.evaluator(self.value_in_state),
            self.environ,
            self.parallelism,
            in_state,
        )
