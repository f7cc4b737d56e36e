"""Which program is the real Terraform: never the stand-in of this package. Starts nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

STANDIN = "opsconsole-terraform"
"""The console script that stands in for `terraform`."""
FALLBACK = "OPSCONSOLE_TERRAFORM_FALLBACK"
"""The variable that names the real one."""

_USUAL = ("terraform", "tofu")


def real_terraform(environ: Mapping[str, str], *further: str) -> str | None:
    """Return the path of the real Terraform or OpenTofu, or None where there is none.

    Args:
        further: Names that come before `terraform` and `tofu`. Where the variable
            OPSCONSOLE_TERRAFORM_FALLBACK is set, nothing but its program counts.
    """
    named = environ.get(FALLBACK)
    names: Iterable[str] = (named,) if named else (*further, *_USUAL)
    for name in names:
        found = shutil.which(name, path=environ.get("PATH")) if name else None
        if found is not None and not _is_standin(found):
            return found
    return None


def _is_standin(path: str) -> bool:
    """Return whether a program is the stand-in, also under another name by a link."""
    if Path(path).resolve().name == STANDIN:
        return True
    own = shutil.which(STANDIN)
    try:
        return own is not None and Path(path).samefile(own)
    except OSError:
        return False
