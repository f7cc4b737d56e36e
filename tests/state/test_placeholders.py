from __future__ import annotations

import pytest

from opsconsole.state import records
from opsconsole.state.objects import InstanceObject
from opsconsole.state.records import Placeholder, Placeholders


def test_the_longer_a_write_takes_the_more_creates_share_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(records.time, "monotonic", lambda: now)
    shown = Placeholders()
    assert shown.worth(1.0) == 0
    for number in range(50):
        item = InstanceObject("p", {"id": f"outcome-unknown/{number}"})
        shown.add(str(number), Placeholder(f"opsconsole_agent.a{number}", item))
    now += 1.0
    assert shown.worth(0.1) == 20
    assert shown.worth(0.5) == 100
    assert shown.worth(60.0) == 256
