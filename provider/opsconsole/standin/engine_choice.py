"""Decides whether the native engine or the real Terraform carries out a call.

Decided before any effect. The rule: OPSCONSOLE_ENGINE, where it is set; a verb that the engine
lacks; the engine that made the plan file; else the program alone, the same way for every verb.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from opsconsole import resources
from opsconsole.address import SOURCE
from opsconsole.errors import UserError
from opsconsole.standin.command_line import Arguments, Invocation
from opsconsole.standin.verbs import Verb
from opsconsole.terraform_binary import FALLBACK, STANDIN, real_terraform

ENGINE = "OPSCONSOLE_ENGINE"
"""The variable that forces one engine: `native` or `terraform`."""

_ARCHIVE = b"PK"
"""How a plan file of Terraform begins: it is a zip archive."""
_OWN_PLAN = b"opsconsole plan"

_HANDED_OVER = "OPSCONSOLE_HANDED_OVER_BY"
"""Holds the id of the process that handed over: where the call leads back here, it is this process
or its parent."""

_PROGRAM = (".tf", ".tf.json", ".tofu", ".tofu.json")
"""How the names of files of programs end."""

_NEED_PROVIDERS = frozenset(
    ("plan", "apply", "destroy", "refresh", "import", "console", "test", "validate", "graph")
)


def reason_for_terraform(
    call: Invocation,
    verb: Verb | None,
    given: Arguments,
    environ: Mapping[str, str],
    directory: Path,
) -> str:
    """Return why the real Terraform is to carry a call out; empty: it is not.

    Raises:
        UserError: OPSCONSOLE_ENGINE has a value that is not possible.
    """
    forced = environ.get(ENGINE, "")
    if forced not in ("", "native", "terraform"):
        raise UserError(f"{ENGINE} is {forced!r}.", "Write `native`, `terraform`, or nothing.")
    if verb is not None and not verb.reads_program:
        return ""
    maker = _maker_of_plan(verb, given, directory)
    if forced == "terraform":
        if maker == "native":
            raise UserError(
                f"{ENGINE}=terraform, and the plan was made by the native engine.",
                f"Unset {ENGINE}, or plan again.",
            )
        return f"{ENGINE}=terraform"
    if forced == "native":
        if verb is None:
            raise UserError(
                f"{ENGINE}=native, and the native engine has no verb `{call.verb}`.",
                f"Unset {ENGINE}.",
            )
        return ""
    if verb is None:
        return f"the verb `{call.verb}`"
    if maker:
        return "" if maker == "native" else f"the plan {given.operands[0]} was made by Terraform"
    return only_terraform(directory)


def _maker_of_plan(verb: Verb | None, given: Arguments, directory: Path) -> str:
    if verb is None or not verb.plan_file or not given.operands:
        return ""
    try:
        with (directory / given.operands[0]).open("rb") as file:
            start = file.read(len(_OWN_PLAN))
    except OSError:
        return ""
    if start.startswith(_ARCHIVE):
        return "terraform"
    return "native" if start.startswith(_OWN_PLAN) else ""


def only_terraform(directory: Path) -> str:
    """Name the part of a directory's program that only Terraform can run; empty: there is none.

    The engine takes a program with a mistake in it, and reports the mistake.
    """
    from opsconsole.language import OnlyTerraform, check_support, load_directory

    if not any(path.name.endswith(_PROGRAM) for path in directory.iterdir()):
        return ""
    try:
        program = load_directory(directory, resources)
        check_support(program)
    except OnlyTerraform as refusal:
        return refusal.construct
    except UserError:
        return ""
    for name, wanted in program.required_providers.items():
        source = str(wanted.get("source") or f"hashicorp/{name}")
        if not f"/{source}".endswith(f"/{SOURCE}"):
            return f"the provider {name} ({source})"
    for key in program.providers:
        if key.partition(".")[0] not in program.required_providers and not key.startswith(
            "opsconsole"
        ):
            return f"the provider {key}"
    if program.backend is not None and not supports_backend(program.backend.type):
        return f"the backend {program.backend.type}"
    return ""


def supports_backend(kind: str) -> bool:
    """Return whether the engine reads and writes the state of a kind of backend itself."""
    from opsconsole.state import is_native

    return kind == "local" or is_native(kind)


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
            f"The native engine cannot run this, because of {reason}, and {lacking} "
            f"is {'not ' if named else ''}on PATH.",
            f"Install Terraform, name it in {FALLBACK}, or take that out of the program.",
        )
    if os.environ.get(_HANDED_OVER) in (str(os.getpid()), str(os.getppid())):
        raise UserError(
            f"{found} is not Terraform: it runs {STANDIN} again.",
            f"Name the real one in {FALLBACK}.",
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
            f"{found} cannot be started: {error.strerror}.", f"Name another one in {FALLBACK}."
        ) from error


def _remark(call: Invocation, found: str) -> str:
    notes = Path(call.directory or ".") / (os.environ.get("TF_DATA_DIR") or ".terraform")
    if call.verb in _NEED_PROVIDERS and notes.is_dir() and not (notes / "providers").exists():
        return f" (this directory was initialised without plugins: run `{found} init` first)"
    return ""
