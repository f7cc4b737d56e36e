"""Diagnostics on a terminal of some width."""

import pytest

from opsconsole.diagnostics import error
from opsconsole.reports import terminal
from opsconsole.text import Pen

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
