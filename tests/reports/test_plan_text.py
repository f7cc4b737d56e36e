"""A plan and the end of an apply as text."""

import re
from dataclasses import replace
from typing import Any

import pytest

from fleet_reports import make_creation
from opsconsole.diagnostics import warning
from opsconsole.reconcile.executor import ApplyResult
from opsconsole.reconcile.order import Step, StepKind
from opsconsole.reconcile.plan import Action, Change, ChangeCounts, OutputChange, Plan
from opsconsole.reports import plan_parts, plan_text
from opsconsole.state import StateOutput
from opsconsole.text import Pen, natural_order

COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def test_numbers_are_ordered_as_numbers_however_long():
    names = ["web[2]", "web[10]", f'web["{"9" * 5000}"]', "web[²]"]
    assert sorted({*names}, key=natural_order) == names


def test_summary_line_counts_as_terraform_does(plan):
    text = plan_text.render(plan)
    assert "Plan: 1 to import, 6 to add, 4 to change, 6 to destroy." in text
    assert "3 of them go with their host, without a call. 1 to leave management." in text
    along = [
        replace(item, deleted_with="opsconsole_agent.a")
        for item in plan.changes
        if item.deleted_with
    ]
    assert plan_parts.plan_summary(ChangeCounts(), along[:1]).endswith(
        "1 of them goes with its agent, without a call."
    )


def test_nothing_is_painted_unless_asked_and_colour_changes_no_letter(plan):
    text, painted = plan_text.render(plan), plan_text.render(plan, Pen(colour=True))
    assert "\x1b" not in text
    assert "\x1b[32m+\x1b[0m" in painted
    assert COLOURS.sub("", painted) == text


def test_what_a_host_takes_along_stands_under_it_and_nowhere_else(plan):
    text = plan_text.render(plan)
    host = text.index('# opsconsole_host.web["5"] will be destroyed')
    under = text.index('# archived by the deletion of opsconsole_host.web["5"], without a call:')
    assert host < under < text.index('- opsconsole_agent.ops["5"] "web-ams-0005-windows-server"')
    assert text.count('opsconsole_agent.ops["5"]') == 1
    assert '# opsconsole_agent.ops["6"] must be replaced' in text


def test_headings_say_why(plan):
    text = plan_text.render(plan)
    for line in (
        '# (because key "5" is no longer in for_each)',
        '# (imported from "blk_0")',
        "# opsconsole_blacklisted_command.row[1] has moved from opsconsole_blacklisted_command.old",
        "# opsconsole_blacklisted_command.row[2] will no longer be managed, but will not be destr",
        "# (this archives every agent of the host, unmanaged ones too)",
        "# (construct fleet/jump/900)",
        '+ mac        = "52:54:00:12:34:56" # forces replacement',
        ' <= data "opsconsole_specialties" "all" {',
    ):
        assert line in text


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("replace_because_tainted", "is tainted, so must be replaced"),
        ("replace_by_request", "will be replaced, as requested"),
        ("replace_by_triggers", "as replace_triggered_by asks"),
        ("replace_because_cannot_update", "must be replaced"),
    ],
)
def test_reasons_of_replacement(plan, reason, words):
    change = next(item for item in plan.changes if item.action is Action.REPLACE)
    text = plan_text.render(Plan((replace(change, reason=reason, create_first=True),)))
    assert words in text
    assert "+/- resource" in text
    assert "create replacement and then destroy" in text


def test_drift_outputs_and_warnings_have_their_sections(plan):
    text = plan_text.render(plan)
    assert "The console differs from state" in text
    assert '# opsconsole_agent_plugin.on["gone"] has been deleted' in text
    assert "~ target_port = 22022 -> 22" in text
    assert "+ token    = (sensitive value)" in text
    assert "hush-hush" not in text
    assert "same" not in text.partition("Changes to outputs:")[2].partition("╷")[0]
    assert "│ Warning: The row is adopted" in text


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("normal", "The console matches the program."),
        ("destroy", "There is nothing to destroy."),
        ("refresh-only", "State matches what was read of the console."),
    ],
)
def test_an_empty_plan_says_so(plan, mode, words):
    still = tuple(change for change in plan.changes if not change.acts)
    assert plan_text.render(Plan(still, mode=mode)).strip() == f"No changes. {words}"
    targeted = plan_text.render(Plan(still, mode=mode, targeted=True)).strip()
    assert targeted == f"No changes. For the targets, {words[0].lower()}{words[1:]}"
    moved = plan_text.render(Plan(still, mode=mode, moved=(("a.b", "a.c"),)))
    records = " An apply records that a.b has moved to a.c."
    assert moved.strip() == f"No changes. {words}{records * (mode == 'refresh-only')}"
    drift = plan_text.render(Plan((), drift=plan.drift, mode=mode))
    assert mode != "normal" or "only updates state" in drift
    assert mode != "refresh-only" or "No changes" not in drift


def test_a_failed_plan_does_not_look_like_one_that_can_be_applied(plan, failure):
    text = plan_text.render(replace(plan, diagnostics=(warning("w"), failure)))
    assert "Planning failed" in text
    assert text.index("Warning: w") < text.index("Error: The console refuses the key")
    assert "Planning failed." in plan_text.render(Plan((), diagnostics=(failure,)))


def test_names_of_the_console_cannot_steer_the_terminal():
    address, kind = 'opsconsole_host.x["\x1b]0;owned\x07"]', "opsconsole_host"
    noted = {"notes": ("\x1b[31m",), "construct_path": "a\x1b[0m"}
    change = Change(address, kind, Action.CREATE, None, {"name": "\x1b[2J"}, **noted)
    assert "\x1b" not in plan_text.render(Plan((change,)))


@pytest.mark.unmeasured
def test_thousands_of_resources_take_a_moment():
    plan = make_creation(1000)
    assert plan_text.render(plan).count("will be created") == len(plan.changes)


def step(kind: StepKind, action: Action = Action.NO_OP, name: str = "x", **facts: Any) -> Step:
    return Step(Change(f"opsconsole_host.{name}", "opsconsole_host", action, {}, {}, **facts), kind)


def test_the_end_of_an_apply():
    done = [
        *(3 * [step(StepKind.CREATE)] + 2 * [step(StepKind.DELETE)]),
        step(StepKind.UPDATE),
        step(StepKind.KEEP, import_id="hst_1"),
        step(StepKind.KEEP, Action.FORGET),
    ]
    outputs = {"ids": StateOutput(["a"], ""), "token": StateOutput("hush", "", True)}
    text = plan_text.render_apply(ApplyResult(done), outputs)
    assert "Apply complete! Resources: 1 imported, 3 added, 1 changed, 2 destroyed." in text
    assert "1 left management." in text
    assert 'ids = [\n    "a",\n]' in text
    assert "hush" not in text
    ended = plan_parts.apply_summary(ChangeCounts(destroy=4), "destroy")
    assert ended == "Destroy complete! Resources: 4 destroyed."


def test_an_apply_that_stopped_names_what_failed_and_what_waited(failure):
    applied = ApplyResult(
        done=[step(StepKind.CREATE)],
        failed=[step(StepKind.UPDATE, name=name) for name in "ba"],
        skipped={"opsconsole_agent.x": "opsconsole_host.a"},
        diagnostics=[failure],
    )
    text = plan_text.render_apply(applied, {"ids": StateOutput(["a"], "")})
    assert "2 changes failed:\n  ✗ opsconsole_host.a\n  ✗ opsconsole_host.b" in text
    assert "opsconsole_agent.x (waited for opsconsole_host.a)" in text
    assert "Apply incomplete. Resources: 1 added" in text
    assert "complete!" not in text
    assert "ids" not in text


@pytest.mark.parametrize(
    ("address", "reason", "words"),
    [
        (
            "opsconsole_host.a",
            "delete_because_no_resource_config",
            "opsconsole_host.a is no longer",
        ),
        ("module.m.opsconsole_host.a", "delete_because_no_module", "because module.m is no longer"),
        ("opsconsole_host.a[3]", "delete_because_count_index", "because index 3 is beyond count"),
        ("opsconsole_host.a", "delete_because_wrong_repetition", "no longer repeats"),
    ],
)
def test_reasons_of_deletion(address, reason, words):
    change = Change(address, "opsconsole_host", Action.DELETE, {"id": "x"}, None, reason=reason)
    assert words in plan_text.render(Plan((change,)))


def test_replacing_what_is_imported_warns(plan):
    change = next(item for item in plan.changes if item.action is Action.REPLACE)
    old = "opsconsole_host.old"
    text = plan_text.render(Plan((replace(change, import_id="x", previous_address=old),)))
    assert "Warning: this destroys the imported object" in text
    assert f"(moved from {old})" in text


def test_a_sensitive_name_is_masked_under_its_host(plan):
    hidden = tuple(
        replace(change, sensitive=frozenset({"name"}), notes=("an orphan",))
        if change.deleted_with
        else change
        for change in plan.changes
    )
    text = plan_text.render(replace(plan, changes=hidden))
    assert '- opsconsole_agent.ops["5"] (sensitive value)' in text
    assert "web-ams-0005-windows-server" not in text
    assert "(an orphan)" in text


def test_outputs_that_go():
    outputs = (
        OutputChange("a", Action.DELETE, {"x": None, "y": 1}, None),
        OutputChange("b", Action.DELETE, "hush", None, sensitive=True),
        OutputChange("c", Action.CREATE, None, {"x": [True]}),
    )
    assert plan_text.render_outputs(outputs) == (
        "Changes to outputs:\n"
        "  - a = {\n      - y = 1\n    } -> null\n"
        "  - b = (sensitive value) -> null\n"
        "  + c = {\n      + x = [\n          + true,\n        ]\n    }\n"
    )


def test_sentences_of_a_plan_are_wrapped_to_the_terminal(plan):
    creation = replace(make_creation(1), drift=plan.drift)
    text = plan_text.render(creation, Pen(width=60))
    note = text[text.index("No request was sent") :].partition("\n\n")[0]
    intro = text[text.index("Objects were changed") :].partition("\n\n")[0]
    lines = [*note.splitlines(), *intro.splitlines()]
    assert len(lines) == 6
    assert max(map(len, lines)) <= 60
