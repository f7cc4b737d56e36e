"""Puts the parts of one emulator together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from opsconsole.emulator.application import Application
from opsconsole.emulator.archive import SqliteArchive
from opsconsole.emulator.console import Console
from opsconsole.emulator.control import Control
from opsconsole.emulator.door import Door
from opsconsole.emulator.faults import Faults
from opsconsole.emulator.profile import Profile
from opsconsole.emulator.seed import API_KEY, sow
from opsconsole.emulator.store import Store
from opsconsole.emulator.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Assembly:
    """One emulator, not yet served."""

    application: Application
    console: Console
    store: Store
    faults: Faults
    traffic: Traffic
    door: Door


def assemble(
    profile: Profile,
    *,
    data: Path | None = None,
    seed: str = "starter",
    api_key: str = API_KEY,
    latency: float = 0.0,
) -> Assembly:
    """Make an emulator; a file that holds rows already is not seeded.

    Raises:
        NotAnArchive, BadSeed: `data` or `seed` cannot be used.
    """
    archive = SqliteArchive(data) if data is not None else None
    store = Store(archive)
    plant = partial(sow, store, seed, api_key)
    try:
        if not store.loaded:
            plant()
        elif not store.keys.find("secret", api_key):
            sow(store, "empty", api_key)
        store.commit()
    except BaseException:
        store.close()
        raise
    console, faults, traffic = Console(store, profile), Faults(), Traffic()
    door = Door()
    control = Control(console, faults, traffic, door, plant).application()
    application = Application(console, faults, traffic, door, control, latency)
    return Assembly(application, console, store, faults, traffic, door)
