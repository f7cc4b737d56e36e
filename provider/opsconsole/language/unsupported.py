"""What Terraform can run and this engine cannot, and the one error for it."""

from __future__ import annotations

from typing import Final

from opsconsole.errors import UserError
from opsconsole.language.model import Origin

REMEDY = "Terraform can run it: use `terraform` or `cdktf` with this program, or leave it out."

TERRAFORM_FUNCTIONS: Final = frozenset(
    (
        "abspath",
        "base64gzip",
        "bcrypt",
        "convert",
        "ephemeralasnull",
        "fileset",
        "pathexpand",
        "rsadecrypt",
        "templatestring",
        "textdecodebase64",
        "textencodebase64",
        "type",
        "yamldecode",
        "yamlencode",
    )
)
"""Functions that Terraform has and this evaluator has not."""


class OnlyTerraform(UserError):
    """The program is one for Terraform. `construct` names what in it this engine cannot run."""

    def __init__(self, message: str, construct: str) -> None:
        super().__init__(message, REMEDY)
        self.construct = construct


def refused(what: str, origin: Origin, address: str = "") -> OnlyTerraform:
    """Return the error that says that `what`, at `origin`, is not supported here."""
    place = origin.path or origin.file
    named = f"{place} ({address})" if address else place
    return OnlyTerraform(
        f"{named}: {what}: not supported by the native engine.", f"{named}: {what}"
    )
