"""The one error for what Terraform can run and this engine cannot."""

from __future__ import annotations

from opsconsole.errors import UserError
from opsconsole.language.model import Origin

REMEDY = "Terraform can run it: use `terraform` or `cdktf` with this program, or leave it out."


def refused(what: str, origin: Origin, address: str = "") -> UserError:
    """Return the error that says that `what`, at `origin`, is not supported here."""
    place = origin.path or origin.file
    named = f"{place} ({address})" if address else place
    return UserError(f"{named}: {what}: not supported by the native engine.", REMEDY)
