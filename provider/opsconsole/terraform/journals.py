"""What the native engine left beside the state that Terraform is about to use."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from opsconsole.diagnostics import Diagnostic, error
from opsconsole.journal_files import unfolded_journals, unresolved_calls


def left_behind(directory: Path) -> list[Diagnostic]:
    """Return what stands against planning in `directory`, where Terraform runs.

    A journal holds changes that the console has and the state lacks: planning on that state would
    make them again. A call of unknown outcome may have created something that no state knows.
    """
    found = []
    journals = unfolded_journals(directory)
    if journals:
        found.append(
            error(
                "An interrupted run of opsconsole left changes that are not in the state yet",
                f"They are recorded in {_listed(journals)}. Run `opsconsole state fold` in this "
                "folder, then Terraform again.",
            )
        )
    calls = unresolved_calls(directory)
    if calls:
        found.append(
            error(
                "An interrupted run of opsconsole may have created what is not in the state",
                f"{_listed(calls)} names it, and Terraform would create it a second time. Run "
                "`opsconsole plan` in this folder, which asks the console and notes in the state "
                "what cannot be found out; then Terraform again.",
            )
        )
    return found


def _listed(files: Iterable[Path]) -> str:
    return ", ".join(map(str, files))
