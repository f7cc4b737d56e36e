"""Reads the `*.tf.json` files of a directory, and refuses programs that only Terraform can run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from opsconsole.definition import Kind
from opsconsole.diagnostics import AttributePath, Mistakes, diagnostics_of
from opsconsole.errors import UserError
from opsconsole.language.constraints import parse_constraint
from opsconsole.language.conversion import to_wire
from opsconsole.language.failures import (
    ExpressionFailure,
    OnlyTerraform,
    only_terraform_error,
    unknown_name_error,
)
from opsconsole.language.graph import block_address, foreign_name_error, is_foreign
from opsconsole.language.json_body import (
    Body,
    labels_of,
    read_blocks,
    read_json,
)
from opsconsole.language.model import (
    NO_DEFINITION,
    REMOTE_STATE,
    REMOTE_STATE_ARGUMENTS,
    Block,
    BlockDefinition,
    Import,
    Json,
    LifecycleBlock,
    Moved,
    Output,
    Program,
    ProviderBlock,
    Removed,
    Schemas,
    Validation,
    Variable,
)
from opsconsole.language.nodes import Quoted
from opsconsole.language.parser import bare_reference
from opsconsole.language.values import PRIMITIVES
from opsconsole.local_terraform import OF_OPENTOFU, cli_of
from opsconsole.state import Address, ConfiguredBackend, is_name
from opsconsole.text import did_you_mean

_UNSUPPORTED: Final = ("module", "check", "ephemeral", "action")
_SETTINGS: Final = "terraform"
"""The name of the settings block in the list of unread parts."""
_TERRAFORM: Final = (
    "backend",
    "cloud",
    "required_version",
    "required_providers",
    "provider_meta",
)
_VARIABLE: Final = (
    "type",
    "default",
    "description",
    "sensitive",
    "ephemeral",
    "nullable",
    "validation",
)
_OUTPUT: Final = ("value", "description", "sensitive", "ephemeral", "depends_on")
_IMPORT: Final = ("to", "id", "for_each", "provider")
_LIFECYCLE: Final = (
    "create_before_destroy",
    "ignore_changes",
    "prevent_destroy",
    "replace_triggered_by",
)
_META: Final = frozenset(("count", "for_each", "depends_on", "provider", "lifecycle", "connection"))
_RESERVED_VARIABLES: Final = frozenset(
    ("count", "depends_on", "for_each", "lifecycle", "locals", "providers", "source", "version")
)
"""Names that a variable cannot have."""
_PROVIDER: Final = re.compile(r"([\w-]+)(?:\.([\w-]+))?")
_PROVIDER_NAME: Final = re.compile(r"[^\W_](?:(?:[^\W_]|-)*[^\W_])?")
_SOURCE: Final = re.compile(r"(?:[\w.-]+(?::\d+)?/)?(?:[\w-]+/)?[\w-]+")
_VERSION: Final = re.compile(
    r"\s*(?:=|!=|>=|<=|~>|>|<)?\s*\d+(?:\.\d+)*(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?\s*"
)


T = TypeVar("T", Block, Output, Variable)


class ProgramMistakes(Mistakes):
    """The mistakes of a program; `program` is its readable part."""

    def __init__(self, mistakes: Sequence[UserError], program: Program) -> None:
        super().__init__(item for mistake in mistakes for item in diagnostics_of(mistake))
        self.program = program


def load_directory(directory: Path, schemas: Schemas, stack: str = "") -> Program:
    """Return the program in the `*.tf.json` files of a directory.

    Raises:
        UserError: There are no such files, or there are files that only Terraform reads.
    """
    if not directory.is_dir():
        raise UserError(f"There is no directory {directory}.", "Check the path.")
    files = sorted(directory.glob("*.tf.json"))
    overriding = [path.name for path in files if path.name.endswith("override.tf.json")]
    # Checked first, to distinguish a directory of only *.tf files from one without a program.
    refuse_hcl(directory, overriding)
    if not files:
        raise UserError(
            f"{directory} holds no *.tf.json file.",
            "Synthesise the program, or name another directory.",
        )
    return read_program(files, directory.absolute(), schemas, stack)


def readable_part(load: Callable[[], Program]) -> Program | None:
    """Return the program that `load` loads, for commands that need only its state.

    Returns:
        The program, or its readable part if only Terraform or OpenTofu can run it. None if nothing
        could be read, because the files are only for Terraform or OpenTofu, whose note then names
        the place of the state.

    Raises:
        OnlyTerraform: Only Terraform or OpenTofu knows the place or the form of the state.
        UserError: The program has mistakes.
    """
    try:
        return load()
    except OnlyTerraform as refusal:
        # The settings name the backend. If they are unread, the place of the state is unknown.
        if refusal.program is not None and _SETTINGS in refusal.program.unread:
            raise
        # Terraform or OpenTofu may apply the program, using the same state.
        return refusal.program


def refuse_hcl(directory: Path, overriding: Sequence[str]) -> None:
    """Refuse a directory with files that this engine does not read, or that override others."""
    # OpenTofu reads `x.tofu.json` instead of `x.tf.json`: the program depends on the engine.
    native = sorted(
        path.name for path in directory.iterdir() if path.name.endswith((".tf", *OF_OPENTOFU))
    )
    if native or overriding:
        names = ", ".join([*native, *overriding])
        raise OnlyTerraform(
            f"{directory} holds {names}, which the native engine does not read.", names
        )


def read_program(files: list[Path], root: Path, schemas: Schemas, stack: str) -> Program:
    """Return the program in `files`.

    Raises:
        UserError: A file cannot be read.
        OnlyTerraform: The program has something that only Terraform can run or may know.
        ProgramMistakes: The program has a mistake.
    """
    program = Program(root, stack=stack, settings=schemas.PROVIDER, cli=cli_of(root))
    reader = _Reader(schemas, program)
    for path in files:
        for name, content in labels_of(read_json(path), str(path)):
            reader.attempt("", reader.read_member, name, content, str(path))
    # Done last, because any of the files may hold required_providers.
    for block in program.blocks.values():
        reader.attempt("", reader.check_provider, block)
    for problem in reader.problems:
        if isinstance(problem, OnlyTerraform):
            problem.program = program
            raise problem
    if reader.problems:
        raise ProgramMistakes(reader.problems, program)
    return program


@dataclass(slots=True)
class _Reader:
    schemas: Schemas
    program: Program
    problems: list[UserError] = field(default_factory=list)

    def attempt(self, name: str, read: Callable[..., None], *arguments: Any) -> None:
        """Read a part of the program, collecting its errors.

        Args:
            name: The name by which other parts refer to this part; may be empty.
        """
        try:
            read(*arguments)
        except UserError as problem:
            # A mistake in the settings may explain more than the other mistakes.
            self.problems.insert(0 if name == _SETTINGS else len(self.problems), problem)
            self.program.unread.add(name)

    def check_provider(self, block: Block) -> None:
        """Refuse a resource whose provider is neither the usual provider nor a required one."""
        name = block.provider_key.partition(".")[0]
        if name not in (block.type_name.partition("_")[0], *self.program.required_providers):
            raise UserError(
                f'{block.title}: there is no provider "{name}" in required_providers.',
                "Declare it there, or take out the argument `provider`.",
            )

    def read_member(self, kind: str, content: Json, file: str) -> None:
        """Read one member of a file's top level: the blocks of one type."""
        if kind in _UNSUPPORTED:
            raise only_terraform_error(file, f"{kind} blocks")
        if kind not in _BLOCKS:
            raise unknown_name_error("block type", kind, _BLOCKS, file)
        labels, read = _BLOCKS[kind]
        # Expressions name a variable `var.NAME`.
        name = "var" if kind == "variable" else kind
        for names, body in read_blocks(content, file, name, labels):
            self.attempt(body.name, read, self, *names, body)

    def _read_terraform(self, body: Body) -> None:
        for kind in body.arguments():
            self.attempt(_SETTINGS, self._read_setting, kind, body)

    def _read_setting(self, kind: str, body: Body) -> None:
        if kind in ("backend", "cloud"):
            labels = 1 if kind == "backend" else 0
            blocks = read_blocks(body.get(kind), body.origin.file, f"terraform.{kind}", labels)
            self._set_backend([*blocks], body)
        elif kind == "required_version":
            if body.get(kind) is not None:
                _check_versions(body.string(kind), f"{body.where}: {kind}")
        elif kind == "required_providers":
            for wanted in body.blocks(kind):
                self._require_providers(wanted)
        else:
            body.check_names(_TERRAFORM)

    def _set_backend(self, backends: Sequence[tuple[tuple[str, ...], Body]], body: Body) -> None:
        if len(backends) != 1 or self.program.backend is not None:
            raise body.mistake("there must be one backend.", "Keep one of them.")
        names, settings = backends[0]
        self.program.backend = ConfiguredBackend(
            names[0] if names else "cloud", to_wire(settings.arguments())
        )

    def _require_providers(self, body: Body) -> None:
        if self.program.required_providers:
            raise body.mistake("it is declared twice.", "Keep one of them.")
        for name, wanted in body.arguments().items():
            fields = {"version": wanted} if isinstance(wanted, str) else wanted
            if not isinstance(fields, dict):
                raise body.mistake(f"{name} must be an object.")
            _check_required_provider(name, Body(name, fields, f"{body.where}: {name}", body.origin))
            self.program.required_providers[name] = fields

    def _read_provider(self, name: str, body: Body) -> None:
        _check_name(name, body.where)
        key = name
        if "alias" in body:
            alias = body.string("alias")
            _check_name(alias, f"{body.where}: alias")
            key = f"{name}.{alias}"
        if key in self.program.providers:
            raise body.mistake(
                f"the configuration {key} is declared twice.",
                "Give one of them an alias.",
            )
        arguments = body.arguments(("alias", "version", "for_each"))
        # Stored before the refusal, so that a command that needs only the state can continue.
        self.program.providers[key] = ProviderBlock(
            key, arguments, body.origin, body.get("for_each")
        )
        if "for_each" in body:
            raise only_terraform_error(body.where, "for_each")

    def _read_block(self, type_name: str, name: str, body: Body, mode: str = "managed") -> None:
        block = _make_block(mode, type_name, name, body, self.schemas)
        declared = self.program.remote_states if block.is_remote_state else self.program.blocks
        _declare(declared, block.address, block, body)

    def _read_variable(self, name: str, body: Body) -> None:
        _check_name(name, body.where)
        _declare(self.program.variables, name, _make_variable(name, body), body)

    def _read_output(self, name: str, body: Body) -> None:
        _check_name(name, body.where)
        _declare(self.program.outputs, name, _make_output(name, body), body)

    def _read_locals(self, body: Body) -> None:
        for name in body.arguments():
            self.attempt(f"local.{name}", self._read_local, name, body)

    def _read_local(self, name: str, body: Body) -> None:
        _check_name(name, body.where)
        if name in self.program.locals:
            raise body.mistake(f"{name} is declared twice.", "Keep one of them.")
        self.program.locals[name] = body.get(name)

    def _read_import(self, body: Body) -> None:
        if "identity" in body:
            raise only_terraform_error(body.where, "the identity of an import block")
        body.check_names(_IMPORT)
        if body.get("id") is None:
            raise body.mistake("an id is required.")
        target = body.expression("to")
        if target.startswith("data."):
            raise body.mistake(f"{target} is a data source.", "Import resources only.")
        if "for_each" not in body and any(item.to == target for item in self.program.imports):
            raise body.mistake(f"{target} is imported twice.", "Keep one of them.")
        self.program.imports.append(
            Import(
                to=target,
                id=body.get("id"),
                origin=body.origin,
                provider_key=_read_provider_key(body),
                for_each=body.get("for_each"),
                repeated="for_each" in body,
            )
        )

    def _read_moved(self, body: Body) -> None:
        body.check_names(("from", "to"))
        source, target = _read_address(body, "from"), _read_address(body, "to")
        if (source.type, source.mode) != (target.type, target.mode):
            raise only_terraform_error(body.where, f"moving {source} to another type, {target}")
        self.program.moved.append(Moved(source, target, body.origin))

    def _read_removed(self, body: Body) -> None:
        if "provisioner" in body:
            raise only_terraform_error(body.where, "provisioner blocks")
        body.check_names(("from", "lifecycle"))
        lifecycle = body.block("lifecycle")
        lifecycle.check_names(("destroy",))
        destroy = lifecycle.bool("destroy", True)
        source = _read_address(body, "from")
        if source.mode == "data":
            raise body.mistake(f"{source} is a data source.", "Name a resource.")
        if source.key is not None:
            raise body.mistake(f"{source} names an instance.", "A removed block takes all of them.")
        self.program.removed.append(Removed(source, destroy, body.origin))


def _make_block(mode: str, type_name: str, name: str, body: Body, schemas: Schemas) -> Block:
    _check_name(name, body.where)
    if (mode, type_name) == ("data", REMOTE_STATE):
        definition: BlockDefinition = NO_DEFINITION
        if "lifecycle" in body:
            raise only_terraform_error(body.where, "lifecycle of terraform_remote_state")
        body.check_names(REMOTE_STATE_ARGUMENTS, _META)
        if not body.get("backend"):
            raise body.mistake("it has no backend.")
    else:
        definition = _find_definition(mode, type_name, body, schemas)
    for kind in ("provisioner", "connection"):
        if kind in body:
            raise only_terraform_error(body.where, f"{kind} blocks")
    if "count" in body and "for_each" in body:
        raise body.mistake("count and for_each exclude each other.")
    return Block(
        mode=mode,
        type_name=type_name,
        name=name,
        arguments=body.arguments(_META),
        origin=body.origin,
        provider_key=_read_provider_key(body) or type_name.partition("_")[0],
        definition=definition,
        depends_on=_read_depends_on(body),
        lifecycle_block=_make_lifecycle_block(body.block("lifecycle"), mode, definition),
        count=body.get("count"),
        for_each=body.get("for_each"),
        counted="count" in body,
        repeated="for_each" in body,
    )


def _find_definition(mode: str, type_name: str, body: Body, schemas: Schemas) -> BlockDefinition:
    known: Mapping[str, BlockDefinition]
    known = schemas.DATA_SOURCES if mode == "data" else schemas.RESOURCES
    if type_name in known:
        return known[type_name]
    kind = "data source" if mode == "data" else "resource"
    provider = type_name.partition("_")[0]
    if provider not in {name.partition("_")[0] for name in known}:
        raise only_terraform_error(body.where, f'a {kind} of the provider "{provider}"')
    raise body.mistake(f'there is no {kind} type "{type_name}".', did_you_mean(type_name, known))


def _make_lifecycle_block(body: Body, mode: str, definition: BlockDefinition) -> LifecycleBlock:
    if not body.fields:
        return LifecycleBlock()
    for kind in ("precondition", "postcondition", "action_trigger"):
        if kind in body:
            raise only_terraform_error(body.where, f"a {kind}")
    body.check_names(_LIFECYCLE)
    declared = [*body.arguments()]
    if declared and mode == "data":
        raise body.mistake(f"{declared[0]} has no meaning for a data source.", "Remove it.")
    ignore_all = body.get("ignore_changes") == "all"
    return LifecycleBlock(
        prevent_destroy=body.bool("prevent_destroy", False),
        create_before_destroy=body.bool("create_before_destroy", None)
        if "create_before_destroy" in body
        else None,
        ignore_changes=() if ignore_all else _read_ignore_changes(body, definition),
        ignore_all=ignore_all,
        replace_triggered_by=tuple(body.expressions("replace_triggered_by")),
    )


def _read_ignore_changes(body: Body, definition: BlockDefinition) -> tuple[AttributePath, ...]:
    where = f"{body.where}: ignore_changes"
    paths: list[AttributePath] = []
    for text in body.expressions("ignore_changes"):
        reference = bare_reference(text)
        if reference is None:
            raise UserError(f"{where}: {text!r} names no attribute.")
        name, *rest = reference.steps
        attribute = definition.by_name.get(str(name))
        if attribute is None:
            raise UserError(f'{where}: there is no attribute "{name}".')
        if attribute.kind is Kind.STRING_SET and rest:
            raise UserError(
                f"{where}: {name} is a set, whose elements have no index.", f"Ignore all of {name}."
            )
        paths.append(reference.steps)
    return tuple(paths)


def _read_depends_on(body: Body) -> tuple[str, ...]:
    where = f"{body.where}: depends_on"
    addresses = []
    for text in body.expressions("depends_on"):
        reference = bare_reference(text)
        if reference is not None and is_foreign(reference):
            raise foreign_name_error(reference, where)
        address = None if reference is None else block_address(reference.steps)
        if reference is None or address is None:
            raise UserError(f"{where}: {text!r} is not a reference.")
        rest = reference.steps[address.count(".") + 1 :]
        keyed = len(rest) == 1 and isinstance(rest[0], int | Quoted)
        if reference.steps[0] in ("each", "count", "self") or (rest and not keyed):
            raise UserError(f"{where}: {text!r} names more than a block.", "Name the block.")
        addresses.append(address)
    return tuple(dict.fromkeys(addresses))


def _read_provider_key(body: Body) -> str:
    """Return the meta-argument `provider`, `NAME` or `NAME.ALIAS`; empty if not set."""
    if "provider" not in body:
        return ""
    text = body.expression("provider")
    if not _PROVIDER.fullmatch(text):
        # OpenTofu also accepts `opsconsole.by["key"]`.
        where = f"{body.where}: provider"
        raise OnlyTerraform(
            f"{where}: the native engine reads NAME or NAME.ALIAS, not {text!r}.",
            f"{where}: {text}",
        )
    return text


def _read_address(body: Body, name: str) -> Address:
    text = body.expression(name)
    try:
        address = Address.parse(text)
    except UserError as problem:
        raise body.mistake(f"{name}: {problem.message}", problem.remedy) from problem
    if address.module:
        raise only_terraform_error(body.where, f"the module in {address}")
    return address


def _make_variable(name: str, body: Body) -> Variable:
    if name in _RESERVED_VARIABLES:
        raise body.mistake(
            f"{name!r} is reserved, so no variable can have this name.", "Rename it."
        )
    body.check_names(_VARIABLE)
    try:
        constraint = parse_constraint(body.expression("type", "any"))
    except ExpressionFailure as problem:
        raise body.mistake(f"type: {problem}.", "Write a type constraint.") from problem
    return Variable(
        name=name,
        constraint=constraint,
        origin=body.origin,
        default=body.get("default"),
        optional="default" in body,
        sensitive=body.bool("sensitive", False),
        ephemeral=body.bool("ephemeral", False),
        nullable=body.bool("nullable", True),
        # Terraform takes a text literally without a type, and as an expression with `any`.
        textual="type" not in body or constraint.type in PRIMITIVES,
        description=_read_description(body),
        validations=tuple(map(_make_validation, body.blocks("validation"))),
    )


def _read_description(body: Body) -> str:
    value = body.fields.get("description", "")
    # Terraform converts a number to its text.
    return str(value) if type(value) is int else body.string("description", "")


def _make_validation(body: Body) -> Validation:
    body.check_names(("condition", "error_message"))
    for name in ("condition", "error_message"):
        if name not in body:
            raise body.mistake(f"{name} is required.", "Declare it.")
    return Validation(body.get("condition"), body.get("error_message"))


def _make_output(name: str, body: Body) -> Output:
    if "precondition" in body:
        raise only_terraform_error(body.where, "a precondition")
    body.check_names(_OUTPUT)
    if "value" not in body:
        raise body.mistake("it has no value.")
    if body.bool("ephemeral", False):
        raise body.mistake("an output of the root cannot be ephemeral.")
    return Output(
        name=name,
        value=body.get("value"),
        origin=body.origin,
        sensitive=body.bool("sensitive", False),
        description=_read_description(body),
        depends_on=_read_depends_on(body),
    )


_BLOCKS: Final[Mapping[str, tuple[int, Callable[..., None]]]] = {
    "terraform": (0, _Reader._read_terraform),
    "provider": (1, _Reader._read_provider),
    "resource": (2, _Reader._read_block),
    "data": (2, partial(_Reader._read_block, mode="data")),
    "variable": (1, _Reader._read_variable),
    "locals": (0, _Reader._read_locals),
    "output": (1, _Reader._read_output),
    "import": (0, _Reader._read_import),
    "moved": (0, _Reader._read_moved),
    "removed": (0, _Reader._read_removed),
}
"""The types of blocks, each with the number of labels and the method that reads one block."""


def _declare(declared: dict[str, T], name: str, declaration: T, body: Body) -> None:
    if name in declared:
        raise UserError(
            f"{body.where} is declared twice.", f"It is in {declared[name].origin.file} already."
        )
    declared[name] = declaration


def _check_name(name: str, where: str) -> None:
    if not is_name(name):
        raise UserError(
            f"{where}: {name!r} is not a valid name.",
            "A name starts with a letter or an underscore and holds letters, digits, underscores "
            "and dashes only.",
        )


def _check_versions(text: str, where: str) -> None:
    if not all(_VERSION.fullmatch(part) for part in text.split(",")):
        raise UserError(
            f"{where}: {text!r} is not a version constraint.", 'Write one, such as ">= 1.5, < 2".'
        )


def _check_required_provider(name: str, body: Body) -> None:
    """Refuse an entry of `required_providers` that Terraform cannot read."""
    if not _PROVIDER_NAME.fullmatch(name) or name != name.lower():
        raise body.mistake(f"{name!r} is not a valid provider name.", "Use a-z, 0-9 and -.")
    body.check_names(("source", "version", "configuration_aliases"))
    # Missing arguments get a value that passes the check.
    source = body.fields.get("source", "x/y")
    if not isinstance(source, str) or not _SOURCE.fullmatch(source):
        raise body.mistake(
            f"{source!r} is not the source of a provider.",
            "Write it as [HOSTNAME/]NAMESPACE/TYPE.",
        )
    version = body.fields.get("version", "> 0")
    if not isinstance(version, str):
        raise body.mistake("its version must be a string.", 'Such as "1.0".')
    _check_versions(version, body.where)
