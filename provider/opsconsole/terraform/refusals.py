"""The provider's answers to calls that it does not serve."""

from __future__ import annotations

import pathlib

from opsconsole.diagnostics import Diagnostic, error
from opsconsole.journal_files import unfolded_journals
from opsconsole.lifecycle.interface import Outcome
from opsconsole.resources import RESOURCES
from opsconsole.terraform_binary import engine_of


class NotServedError(Exception):
    """A call cannot be served; its diagnostics say why."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(*(diagnostic.summary for diagnostic in diagnostics))
        self.diagnostics = diagnostics


def diagnostics_of(outcome: Outcome) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of an outcome, with an error if the stop of the run prevented it."""
    if outcome.begun:
        return outcome.diagnostics
    not_begun = error("Not begun: the run was told to stop", "Nothing was sent for it; run again.")
    return (*outcome.diagnostics, not_begun)


def held_twice(type_name: str, object_id: str) -> Diagnostic:
    title, command = RESOURCES[type_name].title, engine_of().command
    return error(
        f"Two addresses in state hold the {title} {object_id}",
        "One object has one address: removing either would delete what the other manages. Find "
        f"both with `{command} state list` and `{command} state show`, and forget one of them with "
        f"`{command} state rm ADDRESS`; the console is not touched by that.",
        ("id",),
    )


def settings_not_known(names: list[str]) -> Diagnostic:
    listed = ", ".join(names)
    return error(
        f"The provider's {listed} will be known only after apply",
        "Nothing can be read or planned before the provider's settings are known. Apply what they "
        "depend on first, with -target, or set them from variables or the environment.",
    )


def left_behind(directory: pathlib.Path) -> list[Diagnostic]:
    """Return why Terraform must not plan in `directory`, its working directory."""
    # A journal has changes that the console has and the state lacks. A plan on that state would
    # make the changes again. A journal also names open intents, which may have created objects.
    journals = unfolded_journals(directory)
    if not journals:
        return []
    return [
        error(
            "An interrupted run of opsconsole left a journal",
            f"{', '.join(map(str, journals))} may hold changes that are not in the state yet, and "
            "writes whose outcome is not known: Terraform would make them a second time. Run "
            "`opsconsole state fold` in this folder, then Terraform again.",
        )
    ]
