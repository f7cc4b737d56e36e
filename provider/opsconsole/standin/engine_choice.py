"""Decides whether the native engine or the real Terraform or OpenTofu carries out a call.

The decision comes before any effect, by the first of these: OPSCONSOLE_ENGINE; the engine that
made the plan file; a verb or a flag that the native engine lacks; the program, whose part does not
depend on the verb.
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
from opsconsole.local_terraform import (
    FALLBACK,
    OF_OPENTOFU,
    OPENTOFU,
    STANDIN,
    cli_of,
    data_directory,
    real_terraform,
)
from opsconsole.standin.command_line import ProgramCall, for_terraform

ENGINE = "OPSCONSOLE_ENGINE"
"""The variable that forces one engine: `native` or `terraform`."""

_ARCHIVE = b"PK"
"""The first bytes of a Terraform plan file, which is a zip archive."""
_OWN_PLAN = b"opsconsole plan"

_HANDED_OVER = "OPSCONSOLE_HANDED_OVER_BY"
"""The variable with the id of the process that handed over. If the call leads back here, that
process is this one or its parent."""

_PROGRAM = (".tf", ".tf.json", *OF_OPENTOFU)
"""The extensions of a program's files."""

_NEED_PROVIDERS = frozenset(
    ("plan", "apply", "destroy", "refresh", "import", "console", "test", "validate", "graph")
)


def reason_for_terraform(call: ProgramCall, environ: Mapping[str, str], directory: Path) -> str:
    """Return why the real Terraform must carry a call out; empty if the native engine does.

    Raises:
        UserError: OPSCONSOLE_ENGINE has an invalid value.
    """
    forced = environ.get(ENGINE, "")
    if forced not in ("", "native", "terraform"):
        raise UserError(f"{ENGINE} is {forced!r}.", "Write `native`, `terraform`, or nothing.")
    foreign = call.foreign
    maker = _maker_of_plan(call, directory)
    if maker == "native" and (foreign or forced == "terraform"):
        raise UserError(
            f"{foreign or f'{ENGINE}=terraform'}, and the plan was made by the native engine.",
            "Plan again with it." if foreign else f"Unset {ENGINE}, or plan again.",
        )
    if forced == "terraform":
        return f"{ENGINE}=terraform"
    if forced == "native":
        if foreign:
            raise UserError(
                f"{ENGINE}=native, and the native engine lacks {foreign}.", f"Unset {ENGINE}."
            )
        return ""
    if maker == "terraform":
        return f"the plan {call.operands[0]}, which {cli_of(directory, environ).name} made"
    if maker == "native":
        return ""
    if call.verb is None or not call.verb.reads_program:
        return foreign
    return find_terraform_only(directory) or foreign


def _maker_of_plan(call: ProgramCall, directory: Path) -> str:
    if call.verb is None or not call.verb.plan_file:
        return ""
    # The first operand may be the value of an unknown flag.
    for operand in call.operands:
        try:
            with (directory / operand).open("rb") as file:
                start = file.read(len(_OWN_PLAN))
        except OSError:
            continue
        if start.startswith(_ARCHIVE):
            return "terraform"
        if start.startswith(_OWN_PLAN):
            return "native"
    return ""


def find_terraform_only(directory: Path) -> str:
    """Name the part of a directory's program that only Terraform can run, or return empty."""
    from opsconsole.language import OnlyTerraform, ProgramMistakes, check_support, load_directory
    from opsconsole.state import expression_in, is_native_backend, must_encrypt_states

    if not any(path.name.endswith(_PROGRAM) for path in directory.iterdir()):
        return ""
    if must_encrypt_states(os.environ):
        return "TF_ENCRYPTION, which has states encrypted"
    try:
        try:
            program = load_directory(directory, resources)
        except ProgramMistakes as unread:
            program = unread.program
        check_support(program)
    except OnlyTerraform as refusal:
        return refusal.construct
    except UserError:
        # The engine accepts a program with a mistake, and reports the mistake.
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
    if program.backend is not None and not is_native_backend(program.backend.kind):
        return f"the backend {program.backend.kind}"
    if program.backend is not None and (text := expression_in(program.backend.settings)):
        return f"an expression in the backend {program.backend.kind} ({text})"
    return ""


def hand_over(call: ProgramCall, reason: str, directory: Path) -> NoReturn:
    """Become the real Terraform or OpenTofu of a directory, without the flags that it lacks.

    Raises:
        UserError: There is none, or it leads back to this program.
    """
    cli = cli_of(directory)
    binary = real_terraform(os.environ, cli=cli)
    if binary is None:
        named = os.environ.get(FALLBACK)
        lacking = "neither terraform nor tofu is"
        if named:
            lacking = f"{FALLBACK} names {named}, which is not"
        elif cli is OPENTOFU:
            lacking = f"tofu, the CLI of {directory}, is not"
        raise UserError(
            f"The native engine cannot run this, because of {reason}, and {lacking} on PATH.",
            f"Install {cli.name}, name it in {FALLBACK}, or take that out.",
        )
    # `exec` keeps the id of this process. With a script in between, that process is the parent.
    if os.environ.get(_HANDED_OVER) in (str(os.getpid()), str(os.getppid())):
        raise UserError(
            f"{binary} is not {cli.name}: it runs {STANDIN} again.",
            f"Name the real one in {FALLBACK}.",
        )
    remark = _provider_remark(call, binary, directory)
    sys.stderr.write(f"{STANDIN}: handed over to {binary}, because of {reason}{remark}\n")
    # `exec` would lose the buffers of Python's streams.
    sys.stderr.flush()
    sys.stdout.flush()
    words, environment = for_terraform(call, os.environ)
    try:
        os.execve(binary, [binary, *words], {**environment, _HANDED_OVER: str(os.getpid())})
    except OSError as error:
        raise UserError(
            f"{binary} cannot be started: {error.strerror}.", f"Name another one in {FALLBACK}."
        ) from error


def _provider_remark(call: ProgramCall, binary: str, directory: Path) -> str:
    notes = data_directory(directory)
    if call.name in _NEED_PROVIDERS and notes.is_dir() and not (notes / "providers").exists():
        return f" (this directory was initialised without plugins: run `{binary} init` first)"
    return ""
