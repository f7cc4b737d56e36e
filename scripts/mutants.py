"""Plants single faults in the product, one at a time, and names those that no test notices.

`make mutants` (SEED=0 MUTANTS=180). No file is changed: one process imports the product and
collects the tests, and is forked for each fault; in the fork the functions of one module get the
code with the fault. A run without a fault notes which functions each test calls, so that only tests
that reach a fault run, up to the first that fails. Processes that a test starts run without it.
Functions that run only while modules are imported get no fault. A survivor needs a better test, or
a reason in `scripts/survivors.txt`.
"""

import argparse
import ast
import functools
import gc
import hashlib
import importlib
import json
import os
import pkgutil
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from gc import freeze  # `tests/conftest.py` replaces it in the module
from itertools import chain
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, TextIO

import pytest
from scripts.mutations import Mutation, mutations

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ROOT / "provider" / "opsconsole"
LOG = ROOT / "build" / "mutants.log"
ROOMS = ("resources", "lifecycle", "state", "reconcile", "drift", "v1", "language")
FOLDERS = (
    *("resources", "settings", "v1", "state", "drift", "commands", "language", "simulation"),
    *("faults", "reports", "sixth"),
)
_ELSEWHERE = (
    *("commands/test_interrupt.py", "language/test_synthesis.py"),
    "simulation/test_process.py",
)
_WORLDS = "tests/simulation/test_worlds.py::test_no_rule_is_broken_and_no_log_changes"
FEWER = (
    *("-m", "not (cdktf or cdktn or real_client or parity or engine_terraform)"),
    *(f"--ignore=tests/{name}" for name in _ELSEWHERE),
    *(f"--deselect={_WORLDS}[{n}" for n in (1, 2, 3)),
)
"""Left out: tests of other processes, behaviour on Terraform, and all worlds but 70."""
SURVIVORS = ROOT / "scripts" / "survivors.txt"
"""A line for each fault that may survive: its name, a tab, the reason."""
PROCESSES = 2
_LONGEST = 600
"""The most seconds of one fault, after which it counts as caught."""
UNPLANTED = 100
"""The exit code of a child whose fault cannot be planted in functions that exist already."""
SURVIVING = (
    *(pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED),
    *(pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR),
)
"""Exit codes of pytest with which no test has failed."""


@dataclass(frozen=True)
class Mutant:
    """A module of the product with one fault; its text is kept as it was imported."""

    path: str
    text: str
    number: int
    mutation: Mutation

    @property
    def name(self) -> str:
        """The identity of the mutant, independent of its line."""
        return f"{self.path} {self.mutation.function}: {self.mutation.words}"

    def plant(self, functions: list[FunctionType]) -> None:
        """Give the functions of the module in this process the code with the fault."""
        tree = ast.parse(self.text)
        list(mutations(tree))[self.number].make()
        changed = compile(tree, self.path, "exec", dont_inherit=True)
        codes = {(code.co_qualname, code.co_firstlineno): code for code in nested(changed)}
        for function in functions:
            code = function.__code__
            other = codes[code.co_qualname, code.co_firstlineno]
            if other.co_freevars != code.co_freevars:
                # A name of an enclosing function is used no more: Python refuses such a change.
                os._exit(UNPLANTED)
            function.__code__ = other


def nested(code: CodeType) -> Iterator[CodeType]:
    """Return a code object, and those of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested(constant)


def functions_of_product() -> dict[Path, list[FunctionType]]:
    """Return the functions that each module of the product has defined, by its file."""
    functions = defaultdict(list)
    for function in gc.get_objects():
        if isinstance(function, FunctionType):
            functions[Path(function.__code__.co_filename)].append(function)
    return {path: each for path, each in functions.items() if path.is_relative_to(PRODUCT)}


def choose(room: str, seed: str, count: int) -> list[Mutant]:
    """Choose faults in a room; a change of the code changes little of the choice."""
    found = [
        Mutant(str(path.relative_to(PRODUCT)), text, number, mutation)
        for path in sorted((PRODUCT / room).rglob("*.py"))
        # Storage is judged by `make backends`, on real servers.
        if path.parent.name != "backends"
        for text in [path.read_text()]
        for number, mutation in enumerate(mutations(ast.parse(text)))
    ]
    found.sort(key=lambda mutant: hashlib.sha256(f"{seed} {mutant.name}".encode()).digest())
    return found[:count]


class Planter:
    """A plugin of pytest that takes the place of its loop."""

    def __init__(self, mutants: list[Mutant], report: TextIO) -> None:
        self.mutants, self.report = mutants, report
        self.survivors: list[Mutant] = []
        self._ends: dict[int, Callable[[int], None]] = {}
        """What is called with the exit code of a child, by its process id."""
        self._notes: dict[str, tuple[float, list[str]]] = {}
        """The seconds of each test that passes, and the functions that it calls."""
        self._functions: dict[int, str] = {}
        """By the ids of their code; empty but in a child that takes notes."""
        self._caches: list[functools._lru_cache_wrapper[Any]] = []
        self._imported: set[str] = set()
        """The functions that ran while modules were imported."""
        self._failed = False
        sys.setprofile(lambda frame, *_: self._imported.add(name_of(frame.f_code)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Fork a child for each fault; in a child, go on with pytest's own loop."""
        if session.testsfailed:
            return None
        # What is imported only when it is needed must exist before the first fork.
        for room in ROOMS:
            package = importlib.import_module(f"opsconsole.{room}")
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                importlib.import_module(module.name)
        sys.setprofile(None)
        # `tests/conftest.py` froze all objects after the collection of the tests, and
        # `gc.get_objects` leaves frozen objects out.
        gc.unfreeze()
        functions = functions_of_product()
        # A test that finds an answer in a cache depends on the function all the same.
        caches = [
            item for item in gc.get_objects() if isinstance(item, functools._lru_cache_wrapper)
        ]
        self._caches = [item for item in caches if item.__module__.startswith("opsconsole")]
        # A collection would copy the memory that a child shares with this process.
        freeze()
        modules = list(dict.fromkeys(item.path for item in session.items))
        for part in range(PROCESSES):
            place = Path(tempfile.gettempdir()) / f"notes-{part}.json"
            if self._fork(functools.partial(self._read, place)):
                chosen = {*modules[part::PROCESSES]}
                session.items[:] = [item for item in session.items if item.path in chosen]
                self._functions = {
                    id(code): name_of(function.__code__)
                    for function in chain(*functions.values())
                    for code in nested(function.__code__)
                }
                session.config.add_cleanup(functools.partial(self._write, place))
                return None
        self._wait(0)
        print(f"{len(self._notes)} of {len(session.items)} tests pass.", file=self.report)
        tests: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in session.items:
            for function in self._notes.get(item.nodeid, (0, []))[1]:
                tests[function].append(item)
        for mutant in [*self.mutants]:
            name = f"{PRODUCT / mutant.path}:{mutant.mutation.function}"
            reaching = tests[name]
            if not reaching and name in self._imported:
                self.mutants.remove(mutant)
            elif self._fork(
                functools.partial(self._judge, mutant, len(reaching), time.monotonic())
            ):
                seconds = defaultdict(list)
                for item in reaching:
                    seconds[item.path].append(self._notes[item.nodeid][0])
                # Fast modules first; the tests of one stay together, as they share fixtures.
                order = {path: (sum(each) / len(each), path) for path, each in seconds.items()}
                session.items[:] = sorted(reaching, key=lambda item: order[item.path])
                # A fault may make the whole process wait, beyond the limit of a test.
                limit = threading.Timer(_LONGEST, os._exit, (1,))
                limit.daemon = True
                limit.start()
                session.config.option.maxfail = 1
                mutant.plant(functions[PRODUCT / mutant.path])
                return None
        return self._wait(0)

    def _judge(self, mutant: Mutant, tests: int, since: float, code: int) -> None:
        if code == UNPLANTED:
            self.mutants.remove(mutant)
            return
        survives = code in SURVIVING
        self.survivors += [mutant] * survives
        line = getattr(mutant.mutation.node, "lineno", 0)
        print(
            "SURVIVES" if survives else "caught  ",
            f"{time.monotonic() - since:5.1f} s, {tests:4} tests",
            f" provider/opsconsole/{mutant.path}:{line} {mutant.name.partition(' ')[2]}",
            file=self.report,
        )

    def _read(self, place: Path, code: int) -> None:
        self._notes |= json.loads(place.read_text())

    def _write(self, place: Path) -> None:
        place.write_text(json.dumps(self._notes))

    def _fork(self, ended: Callable[[int], None]) -> bool:
        """Fork a process as soon as one may begin; return whether this is the child."""
        self._wait(PROCESSES - 1)
        child = os.fork()
        self._ends[child] = ended
        return not child

    def _wait(self, count: int) -> bool:
        """Wait until at most `count` children are left."""
        while len(self._ends) > count:
            child, status = os.wait()
            self._ends.pop(child)(os.waitstatus_to_exitcode(status))
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Note which functions a test calls, and its seconds."""
        if not self._functions:
            return (yield)
        for cached in self._caches:
            cached.cache_clear()
        functions, called, since = self._functions, set(), time.monotonic()

        def trace(frame: FrameType, event: str, argument: object) -> None:
            name = functions.get(id(frame.f_code))
            if name is not None:
                called.add(name)

        self._failed = False
        threading.settrace(trace)
        sys.settrace(trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            if not self._failed:
                self._notes[item.nodeid] = time.monotonic() - since, sorted(called)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Leave out what fails without a fault."""
        self._failed = self._failed or report.failed


def name_of(code: CodeType) -> str:
    """Return file and qualified name of a function, of a nested one those of the outermost."""
    return f"{code.co_filename}:{code.co_qualname.partition('.<locals>')[0]}"


def main() -> int:
    """Run the command line; return 1 if a fault survives for no known reason."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", default="0", help="chooses the faults")
    parser.add_argument("--mutants", type=int, default=180, help="how many, in all rooms together")
    parser.add_argument("--only", default="", help="every fault with this text in its name")
    parser.add_argument("tests", nargs="*", help="the tests that are to notice them")
    arguments = parser.parse_args()
    count = sys.maxsize if arguments.only else arguments.mutants // len(ROOMS)
    mutants = [mutant for room in ROOMS for mutant in choose(room, arguments.seed, count)]
    mutants = [mutant for mutant in mutants if arguments.only in mutant.name]
    tests = arguments.tests or [f"tests/{name}" for name in FOLDERS]
    LOG.parent.mkdir(exist_ok=True)
    main_process = os.getpid()
    with (
        os.fdopen(os.dup(1), "w", buffering=1) as report,
        LOG.open("w") as log,
        tempfile.TemporaryDirectory() as folder,
    ):
        os.environ |= {"TMPDIR": folder, "HYPOTHESIS_STORAGE_DIRECTORY": folder}
        os.environ.setdefault("OPSCONSOLE_SEED", "0")
        tempfile.tempdir = folder
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        planter = Planter(mutants, report)
        options = (
            *("-q", "--tb=short", "--hypothesis-seed=0", "-p", "no:cacheprovider"),
            # A fault that makes a test hang is found sooner.
            "--timeout=60",
        )
        code: int = pytest.ExitCode.TESTS_FAILED
        try:
            code = pytest.main([*options, *FEWER, *tests], [planter])
        finally:
            if os.getpid() != main_process:
                # An exception that goes on from here would remove the folder of all processes.
                sys.stdout.flush()
                os._exit(code)
        known = {line.split("\t")[0] for line in SURVIVORS.read_text().splitlines()}
        new = [mutant for mutant in planter.survivors if mutant.name not in known]
        print(
            f"{len(planter.mutants)} faults, {len(planter.survivors)} survive, "
            f"{len(new)} unexplained.",
            f"What the tests wrote: {LOG.relative_to(ROOT)}",
            file=report,
        )
    return 1 if new or code else 0


if __name__ == "__main__":
    sys.exit(main())
