"""The declarations of one App, shared by its constructs, which hold them.

The index from an App to its tree holds the tree weakly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias
from weakref import WeakValueDictionary

import cdktf
import constructs
import jsii
from constructs import Construct

_HELD_BY_SCOPE: Final = "_opsconsole_tree"


Check: TypeAlias = "Callable[[Tree, cdktf.TerraformStack], list[str]]"
"""Looks at the constructs of one stack, and returns the problems, a line each."""

CHECKS: Final[list[Check]] = []
"""The checks of every stack; `_checks` adds to them."""


@jsii.implements(constructs.IValidation)
class _Validation:
    def __init__(self, tree: Tree, stack: cdktf.TerraformStack) -> None:
        self._tree = tree
        self._stack = stack

    def validate(self) -> list[str]:
        return [problem for check in CHECKS for problem in check(self._tree, self._stack)]


class Tree:
    """The declarations of one App.

    Attributes:
        token_owners: The construct and the attribute of each string token that was handed out.
        declared: The resources, in the order in which they were made.
        carriers: The agents, in the order in which they were made.
        revision: Counts declarations, which shows whether `dependency_map` is out of date.
        warned: The warnings that were added, with the construct of each.
        ordered: The stacks with an element for the dependencies of their hosts, see `_ordering`.
        dependency_map: The last result of `_ordering`.
        searching: Whether a stack is being synthesised to be searched.
    """

    def __init__(self) -> None:
        self.declared: list[Any] = []
        self.warned: set[tuple[Any, str]] = set()
        self._watched: set[cdktf.TerraformStack] = set()
        self.token_owners: dict[str, tuple[Any, str]] = {}
        self.carriers: list[Any] = []
        self.ordered: set[cdktf.TerraformStack] = set()
        self.revision = 0
        self.dependency_map: Any = None
        self.searching = False
        self._stacks: dict[Construct, cdktf.TerraformStack] = {}

    def add(self, resource: Any, scope: Construct) -> None:
        """Note a resource, so that its stack is checked."""
        self.declared.append(resource)
        stack = self.stack_around(scope)
        if stack not in self._watched:
            self._watched.add(stack)
            stack.node.add_validation(_Validation(self, stack))

    def stack_around(self, scope: Construct) -> cdktf.TerraformStack:
        """Return the stack that `scope` is or belongs to."""
        if isinstance(scope, cdktf.TerraformStack):
            return scope
        if scope not in self._stacks:
            self._stacks[scope] = cdktf.TerraformStack.of(scope)
        return self._stacks[scope]


_BY_ROOT: WeakValueDictionary[str, Tree] = WeakValueDictionary()
"""jsii's name of an App's root to its tree: the root itself may be another Python object each time
that jsii is asked for it."""


def tree_of(scope: Construct) -> Tree:
    """Return the tree of the App of `scope`; a new scope costs two jsii calls."""
    held = vars(scope).get(_HELD_BY_SCOPE)
    if isinstance(held, Tree):
        return held
    name: str = scope.node.root.__jsii_ref__.ref  # type: ignore[attr-defined]  # set by jsii
    tree = _BY_ROOT.get(name)
    if tree is None:
        tree = _BY_ROOT[name] = Tree()
    # The next construct in this scope costs no call to Node.
    vars(scope)[_HELD_BY_SCOPE] = tree
    return tree
