"""Saved plans: a plan, with its program and variables, as one file.

A saved plan is applied only if neither its state nor the console has changed since.

The file holds no provider credentials. Literal credentials are removed from the program's text.
Variables that carry a credential must be given again, like ephemeral variables.
"""

from __future__ import annotations

import base64
import functools
import json
import os
import stat
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final
from zipfile import BadZipFile, ZipFile

from opsconsole import resources
from opsconsole.definition import DataSourceDefinition, ResourceDefinition
from opsconsole.diagnostics import Diagnostic, error
from opsconsole.errors import UserError
from opsconsole.language import (
    Program,
    has_duplicate_keys,
    lasting_values,
    read_program,
    resolve_variables,
)
from opsconsole.lifecycle.private_state import is_sentinel
from opsconsole.reconcile.plan import UNKNOWN_KEY, Action, Plan
from opsconsole.reconcile.prior import PriorInstance, has_shape
from opsconsole.reconcile.providers import Watch, provider_in_state
from opsconsole.reconcile.stack import OpenedStack
from opsconsole.resources import DATA_SOURCES, RESOURCES
from opsconsole.state import (
    DEFAULT_WORKSPACE,
    InstanceObject,
    StateSession,
    decode,
    encode,
    lay_out,
    split_deposed,
)
from opsconsole.text import first_lines
from opsconsole.user_files import check_writable, read_named
from opsconsole.v1.provider_settings import PROVIDER
from opsconsole.values import UNKNOWN, Values, changed_fields

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MAX_BYTES: Final = 512 * 2**20
"""The maximum size of a plan, both compressed and decompressed."""
_MAGIC = b"opsconsole plan 3\n"
_BYTES_KEY = "\0bytes"
"""The member name in a JSON object that stands for bytes."""
_CREDENTIALS = PROVIDER.sensitive_names
_VALUES = "saved-values.json"
_OWNER_ONLY = 0o600
"""The mode of a plan file."""


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """The content of a plan file.

    Attributes:
        plan: The plan, without its diagnostics.
        files: Name to text of the program's files.
        root: The directory that the program's relative paths start at.
        variables: Values of the variables that are neither ephemeral nor a credential, as JSON with
            all digits.
        digest: Of the state that the plan was made from.
        state: The state file that the user named, or empty.
        place: The name of the place of the state.
    """

    # An error must not quote the input, which may hold secrets.
    __pydantic_config__: ClassVar = {"extra": "forbid", "hide_input_in_errors": True}

    plan: Plan
    files: Mapping[str, str]
    root: str
    stack: str
    variables: str
    digest: str
    state: str = ""
    workspace: str = DEFAULT_WORKSPACE
    place: str = ""


_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, RecursionError, zlib.error)


def check_plan_file(path: Path) -> None:
    """Refuse to write a plan over a file that is not a plan, such as the program.

    Raises:
        UserError: The file is not a plan, or cannot be written.
    """
    check_writable(path)
    # An empty file holds nothing that could be lost.
    if not path.is_file() or not path.stat().st_size:
        return
    try:
        with path.open("rb") as file:
            is_plan = file.read(len(_MAGIC)) == _MAGIC
        if not is_plan:
            with ZipFile(path) as archive:
                is_plan = "tfplan" in archive.namelist()  # Terraform's own
    except (OSError, BadZipFile):
        is_plan = False
    if not is_plan:
        raise UserError(
            f"{path} exists already and is not a plan, so it is not overwritten.",
            "Name another file, or remove that file first.",
        )


def write_plan(path: Path, saved: SavedPlan) -> None:
    """Write a plan file, readable by its owner alone.

    Raises:
        UserError: It cannot be written.
    """
    text = json.dumps(saved, default=_to_json, separators=(",", ":"))
    packed = zlib.compress(text.encode(), zlib.Z_BEST_SPEED)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY)
        with os.fdopen(descriptor, "wb") as file:
            # `open` sets the mode of a new file only. A device keeps its own.
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.fchmod(descriptor, _OWNER_ONLY)
            file.write(_MAGIC + packed)
    except OSError as problem:
        raise UserError(f"Cannot write the plan to {path}: {problem.strerror}.") from problem


def read_plan(path: Path) -> SavedPlan:
    """Read a plan file.

    Raises:
        UserError: It cannot be read, or is not a plan of this release.
    """
    try:
        data = read_named(path)
    except OSError as problem:
        raise UserError(f"Cannot read the plan {path}: {problem.strerror}.") from problem
    if not data.startswith(_MAGIC):
        raise UserError(
            f"{path} is not a plan of this release of opsconsole.",
            "A plan file is written by `opsconsole plan --out FILE`; Terraform's are not read.",
        )
    try:
        content = json.loads(_unpack(data[len(_MAGIC) :]), object_hook=_from_json)
        saved = _saved_plan_type().validate_python(content)
        _check(saved)
    except _DAMAGE as problem:
        raise UserError(f"The plan {path} is damaged.", "Plan again.") from problem
    return saved


@functools.cache
def _saved_plan_type() -> TypeAdapter[SavedPlan]:
    # Only commands with a saved plan need it, and its import takes longer than a plan.
    from pydantic import TypeAdapter

    return TypeAdapter(SavedPlan)


def _unpack(data: bytes) -> bytes:
    """Decompress up to `MAX_BYTES`; raise ValueError or zlib.error for more, or for damage."""
    packed = zlib.decompressobj()
    # A few bytes may stand for gigabytes.
    text = packed.decompress(data, MAX_BYTES)
    if not packed.eof or packed.unused_data:
        raise ValueError(f"it is cut off, or has more than {MAX_BYTES:,} bytes")
    return text


def _check(saved: SavedPlan) -> None:
    """Raise ValueError if a value has a wrong type."""
    plan = saved.plan
    for read in plan.data:
        _check_shape(read.values, DATA_SOURCES[read.type_name])
    for change in plan.changes:
        values = (change.before, change.after, change.config)
        kinds = DATA_SOURCES if change.address.startswith("data.") else RESOURCES
        for value in values:
            _check_shape(value, kinds[change.type_name])
    for drift in plan.drift:
        _check_shape(drift.before, RESOURCES[drift.type_name])
        _check_shape(drift.after, RESOURCES[drift.type_name])
    if not isinstance(decode(saved.variables), dict):
        raise ValueError("the values of the variables are not an object")
    for name in saved.files:
        # `program_of` writes files of these names: none may lead out of its folder.
        if Path(name).name != name or not name.endswith(".tf.json"):
            raise ValueError(f"{name!r} is not a file of a program")


def _check_shape(
    value: Values | None, definition: ResourceDefinition | DataSourceDefinition
) -> None:
    if value is not None and not all(
        item.name in value and has_shape(value[item.name], item) for item in definition
    ):
        raise ValueError(f"a value of {definition.type_name} is of another shape")


def _to_json(value: Any) -> Any:
    """Return the JSON form of a value that JSON does not know; its parts are converted next."""
    if value is UNKNOWN:
        return {UNKNOWN_KEY: True}
    if isinstance(value, Action):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return {_BYTES_KEY: base64.b64encode(value).decode()}
    if isinstance(value, frozenset):
        return sorted(value, key=str)
    names = (field.name for field in fields(value) if field.name != "diagnostics")
    return {name: getattr(value, name) for name in names}


def _from_json(value: dict[str, Any]) -> Any:
    if UNKNOWN_KEY in value:
        return UNKNOWN
    return base64.b64decode(value[_BYTES_KEY]) if _BYTES_KEY in value else value


def save_plan(path: Path, stack: OpenedStack, plan: Plan, state_path: Path | None) -> None:
    """Write a plan with its program to a file.

    Args:
        state_path: The state file that the user named, which apply is to use again.

    Raises:
        UserError: It cannot be written, or would hold the provider's credentials.
    """
    program = stack.program
    secrets = _secrets(stack)
    files = {
        file.name: _without_credentials(file.read_text("utf-8"))
        for file in sorted(program.root.glob("*.tf.json"))
    }
    values = encode(_kept_variables(stack.variables, secrets)).decode()
    saved = SavedPlan(
        plan,
        files,
        str(program.root),
        program.stack,
        values,
        stack.state.digest(),
        str(state_path.absolute()) if state_path is not None else "",
        stack.workspace,
        stack.state_session.place,
    )
    # A literal outside of the provider blocks, such as one in `locals`, was not taken out.
    if any(secret in text for secret in secrets for text in files.values()):
        raise UserError(
            "The plan cannot be saved: the program holds a credential of the provider as a "
            "literal, and the file would hold it too.",
            "Take it from the environment (OPSCONSOLE_API_KEY) or from an ephemeral variable.",
        )
    write_plan(path, saved)


def program_of(saved: SavedPlan) -> Program:
    """Return the program of a saved plan.

    Raises:
        UserError: It cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="opsconsole-plan-") as folder:
        for name, text in saved.files.items():
            Path(folder, name).write_text(text, "utf-8")
        files = [Path(folder, name) for name in saved.files]
        return read_program(files, Path(saved.root), resources, saved.stack)


def reopen(
    saved: SavedPlan, arguments: Sequence[tuple[str, str]], environ: Mapping[str, str]
) -> tuple[Program, dict[str, Any]]:
    """Return the program of a saved plan and the values of its variables.

    Args:
        arguments: `("var", …)` and `("var-file", …)` of this command line: values of the
            variables that the plan does not hold.

    Raises:
        UserError: A variable of the plan is given another value, or another variable is missing.
    """
    program = program_of(saved)
    with tempfile.TemporaryDirectory(prefix="opsconsole-plan-") as folder:
        values = Path(folder, _VALUES)
        values.write_text(saved.variables, "utf-8")
        held = ("var-file", str(values))

        def resolve(*arguments: tuple[str, str]) -> dict[str, Any]:
            return resolve_variables(
                program, directory=Path(saved.root), environment=environ, arguments=arguments
            )

        variables = resolve(*arguments, held)
        given = lasting_values(resolve(held, *arguments))
    for name, value in lasting_values(variables).items():
        if value != given[name]:
            raise UserError(
                f"The plan holds another value of the variable {name}.",
                "The value cannot change when the plan is applied; plan again to change it.",
            )
    return program, variables


def shown_variables(stack: OpenedStack) -> dict[str, Any]:
    """Return the variables that a file may hold: neither ephemeral nor a credential."""
    return _kept_variables(stack.variables, _secrets(stack))


def _secrets(stack: OpenedStack) -> set[str]:
    evaluator = stack.evaluator()
    secrets = set()
    for key in stack.program.providers:
        values = evaluator.provider_config(key).values
        secrets |= {values[name] for name in _CREDENTIALS if isinstance(values[name], str)}
    return {secret for secret in secrets if secret}


def _kept_variables(variables: Mapping[str, Any], secrets: set[str]) -> dict[str, Any]:
    kept = {}
    for name, plain in lasting_values(variables).items():
        text = json.dumps(plain)
        # A secret is looked for as JSON spells it: some characters are escaped there.
        if not any(json.dumps(secret)[1:-1] in text for secret in secrets):
            kept[name] = plain
    return kept


def _without_credentials(text: str) -> str:
    """Remove literal credentials from the provider blocks of a file's text."""
    document = decode(text)
    removed = False
    for root in _bodies(document):
        for body in _bodies(root.get("provider")):
            for block in body.values():
                for settings in _bodies(block):
                    for name in _CREDENTIALS:
                        value = settings.get(name)
                        if isinstance(value, str) and "${" not in value:
                            del settings[name]
                            removed = True
    # If an object has a member twice, writing the file again would drop one of the two.
    return lay_out(encode(document)).decode() if removed and not has_duplicate_keys(text) else text


def _bodies(value: Any) -> list[dict[str, Any]]:
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, dict)]


def check_workspace(saved: SavedPlan, workspace: str) -> None:
    """Refuse a plan of another workspace.

    Raises:
        UserError: The plan was made in another workspace.
    """
    # Two states that do not exist yet differ in nothing else.
    if workspace != saved.workspace:
        raise UserError(
            f'The plan was made in the workspace "{saved.workspace}", and "{workspace}" is '
            "selected.",
            "Select the workspace of the plan, or plan again.",
        )


def check_state(saved: SavedPlan, session: StateSession) -> None:
    """Refuse a plan of another state.

    Raises:
        UserError: Lineage, serial or content differ, or the place of a state that does not exist
            yet.
    """
    plan, state = saved.plan, session.state
    if not plan.serial and not saved.state and session.place != saved.place:
        raise UserError(
            f"The plan was made for the state {saved.place}, and this one is {session.place}.",
            "Give --backend-config as for the plan, or plan again.",
        )
    # A state that does not exist yet gets a new lineage each time.
    if plan.serial and state.lineage != plan.lineage:
        raise UserError(
            "The plan was made from another state: the lineage differs.",
            "Check that this is the directory, the stack and the workspace it was made in.",
        )
    if state.serial != plan.serial or state.digest() != saved.digest:
        raise UserError(
            f"The plan is stale: it was made from serial {plan.serial} of the state, which has "
            f"changed since (serial {state.serial}).",
            "Plan again.",
        )


async def compare_with_console(stack: OpenedStack, plan: Plan, watch: Watch) -> list[Diagnostic]:
    """Read the plan's instances again; return their differences from the plan as diagnostics.

    Volatile values are ignored: any write may change them.

    Raises:
        Stopped: The run was told to stop.
    """
    # The facts that the plan's reads added reach state only when the plan is applied.
    private = {item.address: item.private for item in plan.refreshed}
    instances = []
    for change in plan.acting():
        if change.before is None or change.type_name not in RESOURCES:
            continue
        # An object that is deleted with its host is not read, as the host is.
        if change.deleted_with or is_sentinel(change.before.get("id")):
            continue
        stored = stack.state.get(*split_deposed(change.previous_address or change.address))
        remembered = private.get(change.address, stored.private if stored else b"")
        provider = provider_in_state(stack.program, change.provider_key)
        item = InstanceObject(provider, change.before, private=remembered)
        instances.append(PriorInstance(change.address, change.type_name, item, change.before))
    if not instances:
        return []
    async with stack.providers() as providers:
        watch(providers)
        refreshed = await providers.refresh(instances)
        providers.check_stopped()
    failed = [
        diagnostic
        for item in refreshed.values()
        if item.read is not None
        for diagnostic in item.read.diagnostics
        if diagnostic.is_error
    ]
    moved = [text for item in refreshed.values() if (text := _difference(item))]
    if moved:
        shown = "\n".join(first_lines([f"  {text}" for text in sorted(moved)]))
        summary = "The console has changed since the plan was made"
        differing = f"These differ from what the plan read:\n{shown}"
        failed.append(error(summary, f"{differing}\nNothing was changed. Plan again."))
    return failed


def _difference(item: PriorInstance) -> str:
    if item.values is None:
        return f"{item.address} is gone"
    definition = RESOURCES[item.type_name]
    # Any write may change volatile values, and local ones are not on the console.
    names = [a.name for a in definition if not a.volatile and not a.local]
    changed = changed_fields(item.stored_values, item.values, names)
    return f"{item.address}: {', '.join(changed)}" if changed else ""
