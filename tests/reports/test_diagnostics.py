"""Diagnostics as text: what is said of many in the same words is said once, in lines that fit."""

import pytest

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import BadRequest, ErrorAnswer, Unauthorized
from opsconsole.lifecycle.translate import diagnose
from opsconsole.reconcile.plan import Plan
from opsconsole.reports import markdown, plan_view, terminal
from opsconsole.reports.html import page
from opsconsole.reports.terminal import FEWEST, body_of, dedupe_diagnostics
from opsconsole.text import Pen


def refused(number: int, *, path: tuple[str, ...] = ()) -> Diagnostic:
    problem = BadRequest(ErrorAnswer(400, "BAD", "no such thing", f"req_{number}"), "POST /hosts")
    told = error(f"Cannot create the host h{number}", path=path, cause=problem.cause)
    return told.about(f"opsconsole_host.h{number}")


@pytest.mark.parametrize("count", [1, FEWEST - 1])
def test_few_are_reported_one_by_one(count):
    told = [refused(number) for number in range(count)]
    assert dedupe_diagnostics(told) == told


def test_many_are_reported_once_and_named():
    [told] = dedupe_diagnostics(refused(number) for number in range(25))
    assert told.summary == "Cannot create the host h0 (and 24 more like it)"
    lines = body_of(told).splitlines()
    assert lines[0] == "POST /hosts: no such thing (status 400, code BAD, request id req_0)"
    assert lines[1] == "  with opsconsole_host.h0"
    assert lines[-1] == "  and 15 more"
    assert terminal.render_diagnostics(map(refused, range(25))).count("Error:") == 1


def test_pages_say_once_what_holds_for_many():
    """What changes must not stand behind thousands of messages."""
    told = Plan((), diagnostics=tuple(refused(number) for number in range(4000)))
    assert len(plan_view.make_view(told).diagnostics) == 1
    assert page.render(plan_view.make_view(told)).count("no such thing") == 1
    assert markdown.render(plan_view.make_view(told)).count("no such thing") == 1


def test_what_differs_stays_apart():
    told = [
        *(refused(number) for number in range(5)),
        *(refused(number, path=("name",)) for number in range(5)),
        *(warning(f"w{number}", "Look.") for number in range(5)),
        warning("the same", "Look."),
    ]
    assert len(dedupe_diagnostics(told)) == 1 + 1 + 5 + 1


def test_one_answer_to_two_questions_is_two_messages():
    """A create and a deletion may be refused in the same words."""
    told = []
    for number in range(FEWEST):
        for operation in ("POST /hosts", "DELETE /hosts/{id}"):
            problem = BadRequest(ErrorAnswer(400, "BAD", "no such thing"), operation)
            told.append(error("Cannot", cause=problem.cause).about(f"host.h{number}"))
    assert len(dedupe_diagnostics(told)) == 2


def test_what_the_user_is_told_beside_the_answer_keeps_messages_apart():
    cause = BadRequest(ErrorAnswer(400, "BAD", "no"), "POST /hosts").cause
    told = [error("Cannot", f"agent {n}", cause=cause).about(f"host.h{n}") for n in range(FEWEST)]
    assert dedupe_diagnostics(told) == told


def test_refused_credentials_are_explained_once():
    told = []
    for number, kind in enumerate(("host", "agent", "specialty", "agent")):
        problem = Unauthorized(ErrorAnswer(401, "UNAUTHORIZED", "no such key"), f"GET /{kind}s")
        problem.already_reported = number != 2
        told += [item.about(f"{kind}.x{number}") for item in diagnose(problem, f"read {kind}")]
    [shown] = dedupe_diagnostics(told)
    assert shown.summary == "Cannot read specialty (and 3 more like it)"
    assert "no such key" in shown.text and len(shown.addresses) == 4


TOLD = error(
    "The host that was asked for is there already, and nobody knows why",
    "It is there under another name, which is a longer story.\n"
    "  opsconsole_host.web: private_ip, public_ip, tags\n"
    "  " + "x" * 50,
)


def test_no_line_is_longer_than_the_terminal_is_wide_and_no_word_is_cut():
    text = terminal.render_diagnostics([TOLD], Pen(width=40))
    body = text.splitlines()[1:-1]
    assert all(line.startswith("│") for line in body)
    # What is indented stays so.
    assert body[body.index("│   opsconsole_host.web: private_ip,") + 1] == "│   public_ip, tags"
    assert [line for line in body if len(line) > 40] == [f"│   {'x' * 50}"]
    assert " ".join(text.replace("│", "").split()) == " ".join(
        terminal.render_diagnostics([TOLD]).replace("│", "").split()
    )


@pytest.mark.parametrize("width", [0, 1, 20])
def test_where_there_is_no_terminal_or_hardly_one_lines_stay_whole(width):
    assert terminal.render_diagnostics([TOLD], Pen(width=width)) == terminal.render_diagnostics(
        [TOLD]
    )
