"""Handing a call over to the real Terraform: by exec, with one line that says why."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from opsconsole.errors import UserError
from opsconsole.standin.command_line import Invocation
from opsconsole.terraform_binary import FALLBACK, STANDIN, real_terraform

_HANDED_OVER = "OPSCONSOLE_HANDED_OVER_BY"
"""Holds the id of the process that handed over: it is this one, or its parent, in a circle."""

_NEED_PROVIDERS = frozenset(
    ("plan", "apply", "destroy", "refresh", "import", "console", "test", "validate", "graph")
)


def hand_over(call: Invocation, reason: str) -> NoReturn:
    """Become the real Terraform, with the same words in the same directory.

    Raises:
        UserError: There is none, or it leads back to this program.
    """
    found = real_terraform(os.environ)
    if found is None:
        named = os.environ.get(FALLBACK)
        lacking = f"{FALLBACK} names {named}, which" if named else "neither terraform nor tofu"
        raise UserError(
            f"The native engine cannot run this, because of {reason}; and {lacking} "
            f"is {'not ' if named else ''}on PATH.",
            f"Install Terraform, name it by {FALLBACK}, or take that out of the program.",
        )
    if os.environ.get(_HANDED_OVER) in (str(os.getpid()), str(os.getppid())):
        raise UserError(
            f"{found} is not Terraform: it runs {STANDIN} again.",
            f"Name the real one by {FALLBACK}.",
        )
    sys.stderr.write(
        f"{STANDIN}: handed over to {found}, because of {reason}{_remark(call, found)}\n"
    )
    sys.stderr.flush()
    sys.stdout.flush()
    environment = {**os.environ, _HANDED_OVER: str(os.getpid())}
    try:
        os.execve(found, [found, *call.given], environment)
    except OSError as error:
        raise UserError(
            f"{found} cannot be started: {error.strerror}.", f"Name another one by {FALLBACK}."
        ) from error


def _remark(call: Invocation, found: str) -> str:
    notes = Path(call.directory or ".") / (os.environ.get("TF_DATA_DIR") or ".terraform")
    if call.verb in _NEED_PROVIDERS and notes.is_dir() and not (notes / "providers").exists():
        return f" (this directory was initialised without plugins: run `{found} init` first)"
    return ""
