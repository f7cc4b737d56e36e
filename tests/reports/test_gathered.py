"""What is said of many resources in the same words is said once."""

from __future__ import annotations

import pytest

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.reconcile.changes import Plan
from opsconsole.reports import diagnostics_text, plan_markdown
from opsconsole.reports.gathered import FEWEST, gathered
from opsconsole.reports.html import plan_page


def refused(number: int, *, path: tuple[str, ...] = ()) -> Diagnostic:
    detail = (
        f"no such thing (status 400, request id req_{number})\n  with opsconsole_host.h{number}"
    )
    return error(f"Cannot create the host h{number}", detail, path)


@pytest.mark.parametrize("count", [1, FEWEST - 1])
def test_few_are_told_one_by_one(count: int) -> None:
    told = [refused(number) for number in range(count)]
    assert gathered(told) == told


def test_many_are_told_once_and_named() -> None:
    [told] = gathered(refused(number) for number in range(25))
    assert told.summary == "Cannot create the host h0 (and 24 more like it)"
    lines = told.detail.splitlines()
    assert lines[0] == "no such thing (status 400, request id req_0)"
    assert lines[1] == "  with opsconsole_host.h0"
    assert lines[-1] == "  and 15 more"
    assert diagnostics_text.render([refused(number) for number in range(25)]).count("Error:") == 1


def test_pages_say_once_what_is_said_of_many() -> None:
    """What changes must not stand behind thousands of messages."""
    told = Plan((), diagnostics=tuple(refused(number) for number in range(4000)))
    assert len(plan_page.page_of(told).diagnostics) == 1
    assert plan_page.render(told).count("no such thing") == 1
    assert plan_markdown.render(told).count("no such thing") == 1


def test_what_differs_stays_apart() -> None:
    told = [
        *(refused(number) for number in range(5)),
        *(refused(number, path=("name",)) for number in range(5)),
        *(warning(f"w{number}", "Look.") for number in range(5)),
        warning("the same", "Look."),
    ]
    assert len(gathered(told)) == 1 + 1 + 5 + 1
