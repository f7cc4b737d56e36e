"""Sessions under any order of changes, deaths and losses of power, on a file and on a shared place.

What a session noted is a history. After whatever ended it, the next one finds a beginning of that
history, and at least as much of it as was said to be durable.
"""

import asyncio
import contextlib
import itertools
import random
import secrets
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from opsconsole.errors import UserError
from opsconsole.state import journal
from opsconsole.state.backend import Backend, LocalBackend, RunOptions
from opsconsole.state.backends.base import LockLost
from opsconsole.state.model import State
from opsconsole.state.objects import InstanceObject
from opsconsole.state.opening import open_state, read_state
from opsconsole.state.session import StateSession
from sampling import EVERYTHING
from shared_place import InMemory, Place, ids_of
from simulated_disk import FOLDERS, Disk, Killed, Process
from virtual_time import VirtualLoop

PROVIDER = 'provider["registry.terraform.io/opsconsole/opsconsole"]'
ADDRESSES = [f"opsconsole_host.h{number}" for number in range(4)]
FOREIGN = "opsconsole_host.foreign"
STEPS = {
    "max_examples": 600 if EVERYTHING else 30,
    "stateful_step_count": 40,
    "derandomize": not EVERYTHING,
}
POINTS = st.integers(1, 30)
"""A checkpoint passes about twenty points."""


@dataclass
class Known:
    """What a history comes to: ids by address, and calls whose outcome is open."""

    ids: dict[str, str] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)


Event = Callable[[Known], None]


class Sessions(RuleBasedStateMachine):
    """One state, one session after the other. `history` begins with the last one that was found.

    Attributes:
        kept: How much of the history is durable.
        kept_elsewhere: How much of it a machine finds that does not have the journal's file.
    """

    embeds_journal: bool | None = None
    """None: a local file."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = contextlib.ExitStack()
        self.root = Path(tempfile.mkdtemp(dir=FOLDERS))
        self.stack.callback(shutil.rmtree, self.root)
        self.process: Process | None = None
        self.disk = Disk(lambda: self.process)
        self.stack.enter_context(self.disk.watched())
        patch = self.stack.enter_context(pytest.MonkeyPatch.context())
        runs = itertools.count(1)
        # The ids of calls begin with that of their run: the same steps give the same ids.
        patch.setattr(secrets, "token_hex", lambda size: f"{next(runs):0{2 * size}x}")
        self.disk.forget(remember=True)
        self.place = Place()
        self.place.point = lambda name: self.process and self.process.point(name)
        self.folder = self.root
        self.begun, self.history, self.kept, self.kept_elsewhere = Known(), list[Event](), 0, 0
        self.numbers = iter(range(1, 10_000))
        self.chance = random.Random(0)
        self.serial = 0
        self.unsent: set[str] = set()
        self.loop: VirtualLoop
        self.session: StateSession | None = None

    @property
    def state_file(self) -> Path:
        return self.folder / "terraform.tfstate"

    def backend(self, folder: Path | None = None) -> Backend:
        if self.embeds_journal is None:
            return LocalBackend(self.state_file)
        options = RunOptions(folder or self.folder)
        return InMemory(self.place, options, embeds_journal=self.embeds_journal)

    def stored(self) -> bytes:
        if self.embeds_journal is not None:
            return self.place.state
        return self.state_file.read_bytes() if self.state_file.exists() else b""

    # What a session does.

    @initialize()
    def begin(self) -> None:
        self.open(0, power=False)

    @rule(address=st.sampled_from(ADDRESSES), size=st.sampled_from([0, 0, 3000]))
    def put(self, address: str, size: int) -> None:
        self.change(address, f"hst_{next(self.numbers)}", size)
        self.live.record()

    @rule(address=st.sampled_from(ADDRESSES))
    def remove(self, address: str) -> None:
        self.change(address, None)
        self.live.record()

    @rule(address=st.sampled_from(ADDRESSES))
    def intend(self, address: str) -> None:
        """Note a create. It may be sent once `flush` has returned."""
        call = self.live.intend(address, "POST /api/v1/hosts/batch", {})
        self.unsent.add(call)
        self.history.append(lambda known: known.calls.update({call: address}))

    @precondition(lambda self: self.known().calls)
    @rule(data=st.data(), made=st.booleans())
    def settle(self, data: Any, made: bool) -> None:
        """Learn the outcome of a call: what it made, or a refusal."""
        call, address = data.draw(st.sampled_from(sorted(self.known().calls.items())))
        if call in {intent.id for intent in self.live.open_intents}:
            self.history.append(lambda known: known.calls.pop(call, None) and None)
            self.run(lambda: self.live.mark_settled([call]), 0, power=False)
            return
        known = f"hst_{next(self.numbers)}" if made else ""
        if made:
            self.live.state.put(address, InstanceObject(PROVIDER, {"id": known}))
        self.live.record([call])

        def learn(to: Known) -> None:
            if made:
                to.ids[address] = known
            to.calls.pop(call, None)

        self.history.append(learn)

    def change(self, address: str, object_id: str | None, size: int = 0) -> None:
        state = self.live.state
        if object_id is None:
            state.remove(address)
            self.history.append(lambda known: known.ids.pop(address, None) and None)
            return
        state.put(address, InstanceObject(PROVIDER, {"id": object_id, "knowledge": "x" * size}))
        self.history.append(lambda known: known.ids.update({address: object_id}))

    @rule(dies_at=st.just(0) | POINTS, power=st.booleans())
    def flush(self, dies_at: int, power: bool) -> None:
        calls = (
            self.embeds_journal is not True
            or self.known().calls.keys() - self.known(self.kept).calls.keys()
        )
        session = self.live
        self.run(session.flush, dies_at, power=power, elsewhere=bool(calls))
        if self.session is session:
            self.unsent.clear()

    @rule(dies_at=st.just(0) | POINTS, power=st.booleans())
    def checkpoint(self, dies_at: int, power: bool) -> None:
        session, serial = self.live, self.live.state.serial
        before = self.kept, self.kept_elsewhere
        self.run(session.checkpoint, dies_at, power=power, elsewhere=self.embeds_journal is True)
        if self.session is session and session.state.serial == serial:
            # Nothing was to be written, so nothing was made durable.
            self.kept, self.kept_elsewhere = before

    @rule(dies_at=st.just(0) | POINTS, power=st.booleans(), again=POINTS)
    def close(self, dies_at: int, power: bool, again: int) -> None:
        """End a run, and begin the next, which may die while it takes the journal in."""
        session = self.live
        self.run(session.close, dies_at, power=power, elsewhere=True)
        if self.session is session:
            self.session = None
            self.end()
            self.open(again if again < 8 else 0, power=power)

    @rule()
    def abandon(self) -> None:
        self.live.abandon()
        self.kept = len(self.history)
        self.end()
        self.open(0, power=False)

    @rule(dies_at=POINTS, power=st.booleans())
    def be_followed_by_another_engine(self, dies_at: int, power: bool) -> None:
        """Die, and let another engine write the state before the next run."""
        self.run(self.live.checkpoint, dies_at, power=power, reopens=False)
        if self.session is not None:
            self.live.abandon()
            self.kept = len(self.history)
            self.end()
        copy = self.state_file.with_name("terraform.tfstate.opsconsole-copy")
        if self.stored() and not copy.exists():
            with contextlib.suppress(UserError):
                self.write_as_another()
        self.open(0, power=False)

    def write_as_another(self) -> None:
        state = State.parse(self.stored())
        made = f"hst_{next(self.numbers)}"
        state.put(FOREIGN, InstanceObject(PROVIDER, {"id": made}))
        state.serial += 1
        self.begun.ids[FOREIGN] = made
        if self.embeds_journal is None:
            self.state_file.write_bytes(state.to_bytes())
        else:
            self.place.state = state.to_bytes()
            if self.embeds_journal:
                self.place.journal = b""

    @precondition(lambda self: self.embeds_journal is not None)
    @rule()
    def go_on_elsewhere(self) -> None:
        """This machine is gone with its journal; its lock is released by hand."""
        self.place.lock = ""
        with contextlib.suppress(UserError):
            self.live.abandon()
        self.end()
        self.folder = self.root / f"machine{next(self.numbers)}"
        self.folder.mkdir()
        self.kept = self.kept_elsewhere
        self.open(0, power=False)

    @precondition(lambda self: self.embeds_journal is not None)
    @rule()
    def lose_the_lock(self) -> None:
        """Nothing is stored any more; the journal of this machine keeps what was done."""
        self.place.lock = "another"
        before = self.place.state, self.place.journal
        self.live.intend("opsconsole_host.late", "POST", {})
        for call in self.unsent:
            self.history.append(lambda known, call=call: known.calls.pop(call, None) and None)
        with pytest.raises(LockLost):
            self.loop.run_until_complete(self.live.flush())
        with contextlib.suppress(UserError):
            self.live.close()
        assert (self.place.state, self.place.journal) == before
        self.place.lock = ""
        self.end()
        self.open(0, power=False)

    # How it is done, and judged.

    @property
    def live(self) -> StateSession:
        assert self.session is not None
        return self.session

    def known(self, count: int | None = None) -> Known:
        """Return what the first `count` events of the history come to."""
        known = Known(dict(self.begun.ids), dict(self.begun.calls))
        for event in self.history[:count]:
            event(known)
        return known

    def run(
        self,
        act: Callable[[], Any],
        dies_at: int,
        *,
        power: bool,
        elsewhere: bool = False,
        reopens: bool = True,
    ) -> None:
        """Do something; where it dies, lose what was not synced, and let the next run begin."""
        assert self.process is not None
        self.process.dies_at = self.process.points + dies_at if dies_at else 0
        try:
            doing = act()
            if asyncio.iscoroutine(doing):
                self.loop.run_until_complete(doing)
        except Killed:
            self.session = None
            self.end()
            if power:
                self.disk.lose_power(self.chance, self.folder)
                self.disk.forget(remember=True)
            if reopens:
                self.open(0, power=False)
            return
        self.process.dies_at = 0
        self.kept = len(self.history)
        if elsewhere or self.embeds_journal is False:
            self.kept_elsewhere = self.kept

    def end(self) -> None:
        """End the process, and all that waits in it."""
        assert self.process is not None
        self.process.dead = True
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            with contextlib.suppress(Killed, RuntimeError):
                self.loop.run_until_complete(asyncio.wait(tasks))
        self.loop.close()
        self.disk.bury(self.process)
        self.process, self.session = None, None

    def open(self, dies_at: int, *, power: bool) -> None:
        """Open the next session, which may die once; look at what it finds."""
        self.process = Process(("apply",), dies_at)
        self.loop = VirtualLoop()
        self.loop.set_exception_handler(lambda *_: None)
        self.place.lock = ""
        try:
            self.session = open_state(self.backend())
            self.process.dies_at = 0
        except Killed:
            self.end()
            if power:
                self.disk.lose_power(self.chance, self.folder)
                self.disk.forget(remember=True)
            self.open(0, power=False)
            return
        calls = {intent.id: intent.address for intent in self.session.open_intents}
        found = Known(ids_of(self.session.state), calls)
        possible = [self.known(count) for count in range(self.kept, len(self.history) + 1)]
        assert any(self.may_be(found, known) for known in possible), f"{found} of {possible}"
        assert self.session.state.serial >= self.serial
        self.serial = self.session.state.serial
        self.begun, self.history, self.kept, self.kept_elsewhere = found, [], 0, 0
        self.unsent.clear()

    def may_be(self, found: Known, known: Known) -> bool:
        """Return whether a history was found. A call that was never sent need not be listed."""
        durable = self.known(self.kept).calls.items() & known.calls.items()
        return found.ids == known.ids and durable <= found.calls.items() <= known.calls.items()

    @invariant()
    def the_state_can_be_read_beside_a_run(self) -> None:
        readers = [(self.backend(), self.kept)]
        if self.embeds_journal is not None:
            readers.append((self.backend(self.root / "reader"), self.kept_elsewhere))
        for backend, kept in readers if self.session is not None else ():
            possible = [self.known(count).ids for count in range(kept, len(self.history) + 1)]
            assert ids_of(read_state(backend)) in possible

    def teardown(self) -> None:
        if self.session is not None:
            self.run(self.live.close, 0, power=False, elsewhere=True)
            names = [path.name for path in self.folder.glob("*opsconsole-*")]
            left = [name for name in names if not name.endswith(".new")]
            assert bool(left) == bool(self.known().calls), left
        if self.process is not None:
            self.end()
        self.stack.close()


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "embeds_journal", [None, False, True], ids=["a file", "two objects", "one document"]
)
def test_a_session_loses_nothing(embeds_journal, monkeypatch):
    # To read and to hash the usual room takes a quarter of the time.
    monkeypatch.setattr(journal, "_ROOM_AHEAD", 1 << 17)
    monkeypatch.setattr(journal, "_MIN_ROOM", 1 << 16)
    machine = type("Machine", (Sessions,), {"embeds_journal": embeds_journal})
    run_state_machine_as_test(machine, settings=settings(**STEPS))
