"""Values that the console stores otherwise than asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from opsconsole.diagnostics import Severity


@pytest.mark.parametrize("profile", ["tidying"], indirect=True)
async def test_a_creation_that_the_console_keeps_otherwise_is_one_warning(
    steps_of: Callable[..., Any],
) -> None:
    created = await steps_of("host").create(name="web", knowledge=" a ")

    [told] = created.diagnostics
    assert told.severity is Severity.WARNING
    assert told.path == ("knowledge",)
    assert created.state["knowledge"] == " a "


@pytest.mark.parametrize("profile", ["tidying"], indirect=True)
async def test_an_update_that_the_console_keeps_otherwise_is_one_error(
    steps_of: Callable[..., Any],
) -> None:
    hosts = steps_of("host")
    created = await hosts.create(name="web")

    updated = await hosts.change(created, name="web", knowledge=" b ")

    [told] = updated.diagnostics
    assert told.severity is Severity.ERROR
    assert told.path == ("knowledge",)
    assert "' b '" in told.detail
    assert "'b'" in told.detail
    assert updated.state["knowledge"] == "b"
