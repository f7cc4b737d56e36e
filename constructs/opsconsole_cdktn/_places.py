"""Where in a program a construct is declared. cdktn leaves no stack trace for Python programs."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path
from types import FrameType

_OURS = Path(__file__).parent


def place() -> str | None:
    """Return FILE:LINE of the innermost caller that lies under the working directory.

    Files of this package and of installed ones do not count. The file is told relative to the
    working directory, which is that of `cdktf.json` while the cdktn command synthesises, so that
    what is synthesised is the same on every machine. None if there is no such caller.
    """
    folder = str(Path.cwd())
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        relative = _relative(frame.f_code.co_filename, folder)
        if relative is not None:
            return f"{relative}:{frame.f_lineno}"
        frame = frame.f_back
    return None


@lru_cache(maxsize=256)
def _relative(file: str, folder: str) -> str | None:
    path = Path(folder, file)
    if (
        "site-packages" in path.parts
        or path.is_relative_to(_OURS)
        or not path.is_relative_to(folder)
    ):
        return None
    return path.relative_to(folder).as_posix()
