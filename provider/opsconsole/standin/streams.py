"""Standard streams of a program that runs inside another one's terminal.

That terminal may go away while changes are in progress: output is then dropped, and the changes
are completed. stderr is for errors only: no bar and no spinner is drawn.
"""

from __future__ import annotations

import sys

from opsconsole.cli.standard_streams import OutputStream, open_descriptors, text_stream


def take_streams() -> None:
    """Put such streams in place of stdout and stderr of this process."""
    open_descriptors()
    sys.stdout = text_stream(OutputStream(1))
    sys.stderr = text_stream(OutputStream(2, drawn_on=False))
