"""Reads the `*.tf.json` files of a directory, and refuses what only Terraform can run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from opsconsole.errors import UserError
from opsconsole.language.block_reading import (
    RESERVED_VARIABLES,
    bare_text,
    check_arguments,
    check_name,
    check_required_provider,
    check_versions,
    iterate_bodies,
    iterate_labels,
    provider_key,
    read_block,
    read_bool,
    read_depends_on,
    read_origin,
    read_string,
    single_body,
)
from opsconsole.language.constraints import parse_constraint
from opsconsole.language.failures import EvaluationError, UnsupportedExpression
from opsconsole.language.json_values import (
    COMMENT,
    OnlyTerraform,
    UnreadProgram,
    only_terraform_error,
    read_json,
    unknown_name_error,
)
from opsconsole.language.model import (
    BackendBlock,
    Block,
    Import,
    Json,
    Moved,
    Origin,
    Output,
    Program,
    ProviderBlock,
    Removed,
    Schemas,
    Validation,
    Variable,
)
from opsconsole.language.values import PRIMITIVES
from opsconsole.state import Address
from opsconsole.terraform_binary import OF_OPENTOFU, engine_of

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
    """Return the readable part of a program, for commands that need only its state.

    Args:
        load: Loads the program.

    Returns:
        The program, or its readable part if only Terraform or OpenTofu can run it. None if nothing
        could be read, because the files are only for Terraform or OpenTofu, whose note then names
        the place of the state.

    Raises:
        OnlyTerraform: Only Terraform or OpenTofu knows where the state is, or how it is kept.
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
    # OpenTofu reads `x.tofu.json` instead of `x.tf.json`, Terraform does not. So the program
    # depends on the engine.
    native = sorted(
        path.name for path in directory.iterdir() if path.name.endswith((".tf", *OF_OPENTOFU))
    )
    if native or overriding:
        names = ", ".join([*native, *overriding])
        raise OnlyTerraform(
            f"{directory} holds {names}, which the native engine does not read.", names
        )


def read_program(files: list[Path], root: Path, schemas: Schemas, stack: str = "") -> Program:
    """Return the program in `files`.

    Raises:
        UserError: A file cannot be read.
        OnlyTerraform: The program has something that only Terraform can run or may know.
        UnreadProgram: The program has a mistake.
    """
    program = Program(root, stack=stack, settings=schemas.PROVIDER, engine=engine_of(root))
    reader = _Reader(schemas, program)
    for path in files:
        document = read_json(path)
        if not isinstance(document, dict | list):
            raise UserError(f"{path}: an object is required.", "Synthesise it again.")
        for name, content in iterate_labels(document, str(path)):
            reader.attempt("", reader.member, name, content, str(path))
    # Done last, because any of the files may hold required_providers.
    for block in program.blocks.values():
        reader.attempt("", reader.check_provider, block)
    for problem in reader.problems:
        if isinstance(problem, OnlyTerraform):
            problem.program = program
            raise problem
    if reader.problems:
        raise UnreadProgram(reader.problems, program)
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
        name = block.provider.partition(".")[0]
        if name not in (block.type_name.partition("_")[0], *self.program.required_providers):
            raise UserError(
                f'{block.title}: there is no provider "{name}" in required_providers.',
                "Declare it there, or take out the argument `provider`.",
            )

    def member(self, kind: str, content: Json, file: str) -> None:
        """Read one member of a file's top level."""
        if kind in _UNSUPPORTED:
            raise only_terraform_error(f"{kind} blocks", Origin(file))
        if kind in _UNLABELLED:
            where = f"{file}: {kind}"
            for body in iterate_bodies(content, where):
                read = _UNLABELLED[kind]
                self.attempt("", read, self, body, where, read_origin(body, file))
        elif kind in _NAMED:
            prefix, read_named = _NAMED[kind]
            required = kind != "locals"
            for name, value in iterate_labels(content, f"{file}: {kind}", required=required):
                self.attempt(f"{prefix}.{name}", read_named, self, name, value, file)
        elif kind in _KINDS:
            _KINDS[kind](self, content, file)
        else:
            known = (*_KINDS, *_NAMED, *_UNLABELLED)
            raise unknown_name_error("block type", kind, known, file)

    def _terraform(self, content: Json, file: str) -> None:
        where = f"{file}: terraform"
        for body in iterate_bodies(content, where):
            for kind, value in body.items():
                self.attempt(_SETTINGS, self._setting, kind, value, where)

    def _setting(self, kind: str, value: Json, where: str) -> None:
        if kind == "backend":
            self._set_backend(list(iterate_labels(value, f"{where}.backend")), where)
        elif kind == "cloud":
            self._set_backend([("cloud", value)], where)
        elif kind == "required_version":
            if value is not None:
                place = f"{where}.required_version"
                check_versions(read_string(value, place), place)
        elif kind == "required_providers":
            self._required_providers(value, f"{where}.required_providers")
        else:
            check_arguments({kind: value}, _TERRAFORM, where)

    def _required_providers(self, content: Json, where: str) -> None:
        for body in iterate_bodies(content, where):
            if self.program.required_providers:
                raise UserError(f"{where}: it is declared twice.", "Keep one of them.")
            for name, wanted in body.items():
                if name != COMMENT:
                    source = {"version": wanted} if isinstance(wanted, str) else wanted
                    if not isinstance(source, dict):
                        raise UserError(f"{where}: {name} must be an object.")
                    check_required_provider(name, source, where)
                    self.program.required_providers[name] = source

    def _set_backend(self, found: list[tuple[str, Json]], where: str) -> None:
        if len(found) != 1 or self.program.backend is not None:
            raise UserError(f"{where}: there must be one backend.", "Keep one of them.")
        kind, settings = found[0]
        kept = {key: value for key, value in single_body(settings, where).items() if key != COMMENT}
        self.program.backend = BackendBlock(kind, kept)

    def _provider(self, content: Json, file: str) -> None:
        for name, value in iterate_labels(content, f"{file}: provider", required=True):
            where = f"{file}: provider.{name}"
            check_name(name, where)
            for body in iterate_bodies(value, where):
                self.attempt("", self._provider_block, name, body, file, where)

    def _provider_block(self, name: str, body: dict[str, Json], file: str, where: str) -> None:
        key = name
        if "alias" in body:
            alias = read_string(body["alias"], f"{where}.alias")
            check_name(alias, f"{where}.alias")
            key = f"{name}.{alias}"
        if key in self.program.providers:
            raise UserError(
                f"{where}: the configuration {key} is declared twice.",
                "Give one of them an alias.",
            )
        arguments = {
            argument: item
            for argument, item in body.items()
            if argument not in (COMMENT, "alias", "version", "for_each")
        }
        origin = read_origin(body, file)
        # Stored before the refusal, so that a command that needs only the state can continue.
        self.program.providers[key] = ProviderBlock(key, arguments, origin, body.get("for_each"))
        if "for_each" in body:
            raise only_terraform_error("for_each of a provider", origin, name)

    def _blocks(self, content: Json, file: str, mode: str = "managed") -> None:
        where = f"{file}: {'data' if mode == 'data' else 'resource'}"
        for type_name, named in iterate_labels(content, where, required=True):
            for name, value in iterate_labels(named, f"{file}: {type_name}", required=True):
                address = f"{'data.' if mode == 'data' else ''}{type_name}.{name}"
                for body in iterate_bodies(value, f"{file}: {type_name}.{name}"):
                    self.attempt(address, self._block, mode, type_name, name, body, file)

    def _block(
        self, mode: str, type_name: str, name: str, body: Mapping[str, Json], file: str
    ) -> None:
        block = read_block(mode, type_name, name, body, file, self.schemas)
        read_already = self.program.remote_states if block.is_remote_state else self.program.blocks
        if block.address in read_already:
            raise UserError(
                f"{file}: {block.address} is declared twice.",
                f"It is in {read_already[block.address].origin.file} already.",
            )
        read_already[block.address] = block

    def _variable(self, name: str, value: Json, file: str) -> None:
        check_name(name, f"{file}: variable")
        if name in RESERVED_VARIABLES:
            raise UserError(
                f"{file}: variable: {name!r} is reserved, so no variable can have this name.",
                "Rename it.",
            )
        if name in self.program.variables:
            raise UserError(f"{file}: the variable {name} is declared twice.")
        self.program.variables[name] = _read_variable(name, value, file)

    def _local(self, name: str, value: Json, file: str) -> None:
        check_name(name, f"{file}: locals")
        if name in self.program.locals:
            raise UserError(f"{file}: the local value {name} is declared twice.")
        self.program.locals[name] = value

    def _output(self, name: str, value: Json, file: str) -> None:
        if value is None:
            return
        where = f"{file}: output.{name}"
        check_name(name, f"{file}: output")
        body = single_body(value, where)
        if name in self.program.outputs:
            raise UserError(f"{where} is declared twice.")
        origin = read_origin(body, file)
        if "precondition" in body:
            raise only_terraform_error("precondition", origin, f"output.{name}")
        check_arguments(body, _OUTPUT, where)
        if "value" not in body:
            raise UserError(f"{where}: it has no value.")
        if read_bool(body.get("ephemeral", False), f"{where}.ephemeral"):
            raise UserError(f"{where}: an output of the root cannot be ephemeral.")
        self.program.outputs[name] = Output(
            name=name,
            value=body["value"],
            origin=origin,
            sensitive=read_bool(body.get("sensitive", False), f"{where}.sensitive"),
            description=_description(body, where),
            depends_on=read_depends_on(body.get("depends_on", []), where),
        )

    def _import(self, body: dict[str, Json], where: str, origin: Origin) -> None:
        if "identity" in body:
            raise only_terraform_error("the identity of an import block", origin)
        check_arguments(body, _IMPORT, where)
        if body.get("id") is None:
            raise UserError(f"{where}: an id is required.")
        target = bare_text(body.get("to"), f"{where}.to")
        if target.startswith("data."):
            raise UserError(f"{where}: {target} is a data source.", "Import resources only.")
        if "for_each" not in body and any(item.to == target for item in self.program.imports):
            raise UserError(f"{where}: {target} is imported twice.", "Keep one of them.")
        self.program.imports.append(
            Import(
                to=target,
                id=body["id"],
                origin=origin,
                provider=provider_key(body, where),
                for_each=body.get("for_each"),
                repeated="for_each" in body,
            )
        )

    def _read_moved(self, body: dict[str, Json], where: str, origin: Origin) -> None:
        check_arguments(body, ("from", "to"), where)
        source = _address(body.get("from"), f"{where}.from", origin)
        target = _address(body.get("to"), f"{where}.to", origin)
        if (source.type, source.mode) != (target.type, target.mode):
            raise only_terraform_error(f"moving {source} to another type, {target},", origin)
        self.program.moved.append(Moved(source, target, origin))

    def _read_removed(self, body: dict[str, Json], where: str, origin: Origin) -> None:
        if "provisioner" in body:
            raise only_terraform_error("provisioner blocks", origin)
        check_arguments(body, ("from", "lifecycle"), where)
        lifecycle = single_body(body.get("lifecycle"), f"{where}.lifecycle")
        check_arguments(lifecycle, ("destroy",), f"{where}.lifecycle")
        destroy = read_bool(lifecycle.get("destroy", True), f"{where}.lifecycle.destroy")
        source = _address(body.get("from"), f"{where}.from", origin)
        if source.mode == "data":
            raise UserError(f"{where}: {source} is a data source.", "Name a resource.")
        if source.key is not None:
            raise UserError(
                f"{where}: {source} names an instance.", "A removed block takes all of them."
            )
        self.program.removed.append(Removed(source, destroy, origin))


_KINDS: Final[Mapping[str, Callable[[_Reader, Json, str], None]]] = {
    "terraform": _Reader._terraform,
    "provider": _Reader._provider,
    "resource": _Reader._blocks,
    "data": partial(_Reader._blocks, mode="data"),
}
_NAMED: Final[Mapping[str, tuple[str, Callable[[_Reader, str, Json, str], None]]]] = {
    "variable": ("var", _Reader._variable),
    "locals": ("local", _Reader._local),
    "output": ("output", _Reader._output),
}
"""The kinds with one label, or none, and how expressions name what they declare."""
_UNLABELLED: Final[Mapping[str, Callable[[_Reader, dict[str, Json], str, Origin], None]]] = {
    "import": _Reader._import,
    "moved": _Reader._read_moved,
    "removed": _Reader._read_removed,
}


def _address(value: Json, where: str, origin: Origin) -> Address:
    text = bare_text(value, where)
    try:
        address = Address.parse(text)
    except UserError as error:
        raise UserError(f"{where}: {error.message}", error.remedy) from error
    if address.module:
        raise only_terraform_error(f"the module in {address}", origin)
    return address


def _description(body: dict[str, Json], where: str) -> str:
    value = body.get("description", "")
    plain = isinstance(value, str | int) and not isinstance(value, bool)
    return read_string(str(value) if plain else value, f"{where}.description")


def _read_variable(name: str, value: Json, file: str) -> Variable:
    where = f"{file}: variable.{name}"
    body = single_body(value, where)
    check_arguments(body, _VARIABLE, where)
    origin = read_origin(body, file)
    wanted = body.get("type", "any")
    try:
        constraint = parse_constraint(bare_text(wanted, f"{where}.type"))
    except (EvaluationError, UnsupportedExpression) as error:
        raise UserError(f"{where}.type: {error}.", "Write a type constraint.") from error
    return Variable(
        name=name,
        constraint=constraint,
        origin=origin,
        default=body.get("default"),
        optional="default" in body,
        sensitive=read_bool(body.get("sensitive", False), f"{where}.sensitive"),
        ephemeral=read_bool(body.get("ephemeral", False), f"{where}.ephemeral"),
        nullable=read_bool(body.get("nullable", True), f"{where}.nullable"),
        # Without a type, Terraform takes a text literally; with type `any`, it parses an
        # expression.
        textual="type" not in body or constraint.type in PRIMITIVES,
        description=_description(body, where),
        validations=tuple(
            _read_validation(rule, f"{where}.validation")
            for rule in iterate_bodies(body.get("validation"), f"{where}.validation")
        ),
    )


def _read_validation(body: dict[str, Json], where: str) -> Validation:
    check_arguments(body, ("condition", "error_message"), where)
    for name in ("condition", "error_message"):
        if name not in body:
            raise UserError(f"{where}: {name} is required.", "Declare it.")
    return Validation(body["condition"], body["error_message"])
