"""A pytest plugin: programs that import cdktf and its constructs get those of cdktn instead.

With it the tests of the constructs run on the other fork as they stand: `-p other_fork`.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

_TWINS = {"cdktf": "cdktn", "opsconsole_cdktf": "opsconsole_cdktn"}


class _Twins(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a module of cdktn under the name of its twin."""

    def __init__(self) -> None:
        self._specs: dict[str, importlib.machinery.ModuleSpec | None] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return where a module is found, if it has a twin."""
        if name.partition(".")[0] not in _TWINS:
            return None
        return importlib.util.spec_from_loader(name, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return the twin itself: classes are the same under both names."""
        first, dot, rest = spec.name.partition(".")
        module = importlib.import_module(f"{_TWINS[first]}{dot}{rest}")
        self._specs[module.__name__] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing but give it its own spec back: it has run under its own name."""
        module.__spec__ = self._specs[module.__name__]


sys.meta_path.insert(0, _Twins())
