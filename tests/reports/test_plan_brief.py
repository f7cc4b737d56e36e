"""The shorter forms of a plan: what is named, what is shown in full, and when each is used."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fleet_reports import make_creation
from opsconsole.reconcile.plan import Action, Change, Plan
from opsconsole.reports import plan_text
from opsconsole.reports.plan_text import Detail

HOST = "opsconsole_host"


def creations(names: Sequence[str]) -> Plan:
    return Plan(
        changes=tuple(
            Change(f"{HOST}.{name}", HOST, Action.CREATE, None, {"name": name}) for name in names
        )
    )


def short(plan: Plan) -> str:
    return plan_text.render(plan, detail=Detail.NAMES)


def test_creations_are_counted_and_named_without_attributes():
    text = short(creations(["db", "web"]))
    assert f"  + 2 {HOST} will be created\n      {HOST}.db, {HOST}.web\n" in text
    assert " = " not in text
    assert "Run with --full to see every attribute" in text
    assert "--full" not in plan_text.render(creations(["db", "web"]))


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ([f"web[{n}]" for n in range(700)], "@web[0] … @web[699]"),
        (["web[0]", "web[1]", "web[2]"], "@web[0], @web[1], @web[2]"),
        (["a-08", "a-09", "a-10", "a-11", "b-12"], "@a-08 … @a-11, @b-12"),
        (["a-1", "a-2", "a-4", "a-5"], "@a-1, @a-2, @a-4, @a-5"),
        ([f"r{n}x" for n in (1, 2, 3, 4, 6)], "@r1x … @r4x, @r6x"),
    ],
)
def test_names_that_count_up_are_a_run(names, shown):
    text = short(creations(names)).replace(f"{HOST}.", "@")
    assert f"\n      {shown}\n" in text.replace(",\n      ", ", ")


def test_changes_are_shown_attribute_by_attribute(plan):
    text = short(plan)
    full = plan_text.render(plan)
    for change in plan.acting():
        if change.action in (Action.UPDATE, Action.REPLACE):
            assert full[full.index(f"# {change.address} ") :].partition("\n\n")[0] in text


def test_what_moves_or_is_imported_says_where_from(plan):
    text = short(plan)
    moved = "fleet/row/1[1] (from opsconsole_blacklisted_command.old)"
    assert f"\n  opsconsole_blacklisted_command will move\n      {moved}\n" in text
    assert "archived with them, without a call" in text


def test_notes_are_reported_once_for_all_that_share_them():
    plan = creations(["a", "b"])
    noted = tuple(replace(change, notes=("it stays unread",)) for change in plan.changes)
    assert f"      {HOST}.a, {HOST}.b\n      (it stays unread)\n" in short(
        replace(plan, changes=noted)
    )


def test_it_is_shorter_and_has_the_same_summary(plan):
    text, full = short(plan), plan_text.render(plan)
    assert text.count("\n") < full.count("\n")
    assert text[text.index("Plan: ") :] == full[full.index("Plan: ") :]


def test_a_small_plan_shows_its_values_on_a_small_screen():
    small = make_creation(1)
    lines = plan_text.render(small).count("\n")
    assert plan_text.choose_detail(small, lines) is Detail.FULL
    assert plan_text.choose_detail(small, lines - 1) is Detail.KNOWN
    assert plan_text.choose_detail(make_creation(500), 100) is Detail.NAMES
    text = plan_text.render(small, detail=Detail.KNOWN)
    for change in small.acting():
        assert f"# {change.address} will be created" in text
    assert "= (known after apply)" not in text
    assert "attributes known after apply)" in text
    assert "Run with --full" in text
    assert "Run with --full" not in plan_text.render(Plan(()), detail=Detail.KNOWN)
