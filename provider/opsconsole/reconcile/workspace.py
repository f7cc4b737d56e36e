"""The workspace of one run: the program, its variables and its state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from opsconsole.diagnostics import Path as AttributePath
from opsconsole.language import Evaluator, Graph, Program, build_graph
from opsconsole.reconcile.providers import MakeProvider, Providers
from opsconsole.resources.lifecycles import ConfiguredProvider
from opsconsole.state import State


@dataclass
class Workspace:
    """The common inputs of the plans and applies of one run.

    Attributes:
        program, graph: The program and its dependencies.
        variables: The values of its variables.
        state: The state, which planning leaves as it is.
        environ: The environment that provider settings fall back on.
        name: Terraform's workspace.
        make: Makes a provider of its settings.

    Raises:
        UserError: The program has a reference to nothing, or a cycle of references.
    """

    program: Program
    variables: Mapping[str, Any]
    state: State
    environ: Mapping[str, str]
    name: str = "default"
    make: MakeProvider = ConfiguredProvider
    graph: Graph = field(init=False)

    def __post_init__(self) -> None:
        self.graph = build_graph(self.program)

    def sensitive_paths(self, address: str) -> Iterable[AttributePath]:
        """Return the sensitive paths of an object in state."""
        found = self.state.get(address)
        return found.sensitive_paths if found is not None else ()

    def evaluator(
        self,
        lookup: Callable[[str], Any] = lambda address: None,
        *,
        applying: bool = False,
        planned_at: datetime | None = None,
    ) -> Evaluator:
        """Return an evaluator of the program in this workspace; see `Evaluator`."""
        return Evaluator(
            self.program,
            self.variables,
            lookup,
            sensitive=self.sensitive_paths,
            applying=applying,
            workspace=self.name,
            planned_at=planned_at,
        )

    def providers(self, evaluator: Evaluator | None = None) -> Providers:
        """Return the provider configurations; without `evaluator`, no instance is known to them."""
        return Providers(self.program, evaluator or self.evaluator(), self.environ, self.make)
