"""What the constructs of one App know together. It lives as long as that App, and knows no other.

Constructs hold their App's tree; the index from an App to its tree holds it weakly.
"""

from __future__ import annotations

from typing import Any, Final
from weakref import WeakValueDictionary

import cdktn
from constructs import Construct

_HELD_BY_SCOPE: Final = "_opsconsole_tree"


class Tree:
    """One App's part of what is declared.

    Attributes:
        handed_out: The string tokens that were handed out: whose attribute each is.
        carriers: The agents, in the order in which they were made.
        revision: Counts what is declared, so that a conclusion drawn from it can age.
        conclusions: What was concluded last about the order of destruction.
        searching: Whether a stack is being synthesised to be searched.
    """

    def __init__(self) -> None:
        self.handed_out: dict[str, tuple[Any, str]] = {}
        self.carriers: list[Any] = []
        self.revision = 0
        self.conclusions: Any = None
        self.searching = False
        self._stacks: dict[Construct, cdktn.TerraformStack] = {}

    def stack_around(self, scope: Construct) -> cdktn.TerraformStack:
        """Return the stack that `scope` is or belongs to."""
        if isinstance(scope, cdktn.TerraformStack):
            return scope
        if scope not in self._stacks:
            self._stacks[scope] = cdktn.TerraformStack.of(scope)
        return self._stacks[scope]


_BY_ROOT: WeakValueDictionary[str, Tree] = WeakValueDictionary()
"""jsii's name of an App's root to its tree: the root itself may be another Python object each time
that jsii is asked for it."""


def tree_of(scope: Construct) -> Tree:
    """Return the tree of the App that `scope` belongs to; two jsii calls for a scope never seen."""
    held = vars(scope).get(_HELD_BY_SCOPE)
    if isinstance(held, Tree):
        return held
    name: str = scope.node.root.__jsii_ref__.ref  # type: ignore[attr-defined]  # set by jsii
    tree = _BY_ROOT.get(name)
    if tree is None:
        tree = _BY_ROOT[name] = Tree()
    vars(scope)[_HELD_BY_SCOPE] = tree
    return tree
