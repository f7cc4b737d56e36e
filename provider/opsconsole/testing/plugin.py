"""The plugin for pytest: an emulated console as a fixture, loaded on first use."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from opsconsole.text import did_you_mean

if TYPE_CHECKING:
    from opsconsole.emulator import Emulator

_MARKER = "opsconsole_profile"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and let tests import cdktf's `Testing`, which contains no tests."""
    config.addinivalue_line(
        "markers", f"{_MARKER}(name): the profile of the emulated console; `default` without it"
    )
    config.addinivalue_line(
        "filterwarnings",
        "ignore:cannot collect test class 'Testing':pytest.PytestCollectionWarning",
    )


@pytest.fixture(scope="session")
def _opsconsole_running() -> Iterator[Callable[[str], Emulator]]:
    """Consoles by profile, started on first use and kept."""
    # pytest loads this plugin in every run, and most tests use no emulator.
    from opsconsole.emulator import profiles, serve

    with contextlib.ExitStack() as stack:

        @functools.cache
        def running(profile: str) -> Emulator:
            if profile not in profiles():
                hint = did_you_mean(profile, profiles())
                pytest.fail(f"{_MARKER}: there is no profile {profile!r}. {hint}", pytrace=False)
            return stack.enter_context(serve(profile))

        yield running


@pytest.fixture
def opsconsole_emulator(
    request: pytest.FixtureRequest, _opsconsole_running: Callable[[str], Emulator]
) -> Emulator:
    """An emulated console with its starter rows alone.

    `@pytest.mark.opsconsole_profile("strict")` chooses another profile.
    """
    marker = request.node.get_closest_marker(_MARKER)
    names = marker.args if marker else ("default",)
    if len(names) != 1:
        pytest.fail(f'{_MARKER} takes one name: {_MARKER}("strict")', pytrace=False)
    console = _opsconsole_running(names[0])
    # The tests of a session share a console, and the previous test may have left objects.
    console.reset()
    return console
