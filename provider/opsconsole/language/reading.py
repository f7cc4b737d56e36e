"""Reads the `*.tf.json` files of a directory, and refuses what only Terraform can run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from opsconsole.errors import UserError
from opsconsole.language import remote_states
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
    reader = _Reader(schemas)
    for path in files:
        document = read_json(path)
        if not isinstance(document, dict | list):
            raise UserError(f"{path}: an object is required.", "Synthesise it again.")
        for name, content in iterate_labels(document, str(path)):
            reader.attempt("", reader.member, name, content, str(path))
    return reader.program(root, stack)


@dataclass(slots=True)
class _Reader:
    schemas: Schemas
    blocks: dict[str, Block] = field(default_factory=dict)
    providers: dict[str, ProviderBlock] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    locals: dict[str, Json] = field(default_factory=dict)
    outputs: dict[str, Output] = field(default_factory=dict)
    imports: list[Import] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    removed: list[Removed] = field(default_factory=list)
    backend: BackendBlock | None = None
    required_providers: dict[str, Mapping[str, Json]] = field(default_factory=dict)
    remote_states: dict[str, Block] = field(default_factory=dict)
    problems: list[UserError] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)

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
            self.unread.add(name)

    def program(self, root: Path, stack: str) -> Program:
        """Return the program.

        Raises:
            OnlyTerraform: A part of the program is for Terraform.
            UnreadProgram: The program has a mistake.
        """
        # Done last, because any of the files may hold required_providers.
        for block in self.blocks.values():
            self.attempt("", self._check_provider, block)
        program = self._program(root, stack)
        for problem in self.problems:
            if isinstance(problem, OnlyTerraform):
                problem.program = program
                raise problem
        if self.problems:
            raise UnreadProgram(self.problems, program)
        return program

    def _program(self, root: Path, stack: str) -> Program:
        return Program(
            root=root,
            blocks=self.blocks,
            providers=self.providers,
            variables=self.variables,
            locals=self.locals,
            outputs=self.outputs,
            imports=tuple(self.imports),
            moved=tuple(self.moved),
            removed=tuple(self.removed),
            backend=self.backend,
            required_providers=self.required_providers,
            stack=stack,
            settings=self.schemas.PROVIDER,
            remote_states=self.remote_states,
            engine=engine_of(root),
            unread=frozenset(self.unread),
        )

    def _check_provider(self, block: Block) -> None:
        """Refuse a resource whose provider is neither the usual provider nor a required one."""
        name = block.provider.partition(".")[0]
        if name not in (block.type_name.partition("_")[0], *self.required_providers):
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
            if self.required_providers:
                raise UserError(f"{where}: it is declared twice.", "Keep one of them.")
            for name, wanted in body.items():
                if name != COMMENT:
                    source = {"version": wanted} if isinstance(wanted, str) else wanted
                    if not isinstance(source, dict):
                        raise UserError(f"{where}: {name} must be an object.")
                    check_required_provider(name, source, where)
                    self.required_providers[name] = source

    def _set_backend(self, found: list[tuple[str, Json]], where: str) -> None:
        if len(found) != 1 or self.backend is not None:
            raise UserError(f"{where}: there must be one backend.", "Keep one of them.")
        kind, settings = found[0]
        kept = {key: value for key, value in single_body(settings, where).items() if key != COMMENT}
        self.backend = BackendBlock(kind, kept)

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
        if key in self.providers:
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
        self.providers[key] = ProviderBlock(key, arguments, origin, body.get("for_each"))
        if "for_each" in body:
            raise only_terraform_error("for_each of a provider", origin, name)

    def _blocks(self, content: Json, file: str, mode: str = "managed") -> None:
        where = f"{file}: {'data' if mode == 'data' else 'resource'}"
        for type_name, named in iterate_labels(content, where, required=True):
            for name, value in iterate_labels(named, f"{file}: {type_name}", required=True):
                address = f"{'data.' if mode == 'data' else ''}{type_name}.{name}"
                for body in iterate_bodies(value, f"{file}: {type_name}.{name}"):
                    if address.startswith(remote_states.PREFIX):
                        self.attempt(address, self._remote_state, name, body, file)
                    else:
                        self.attempt(address, self._block, mode, type_name, name, body, file)

    def _block(
        self, mode: str, type_name: str, name: str, body: Mapping[str, Json], file: str
    ) -> None:
        block = read_block(mode, type_name, name, body, file, self.schemas)
        if block.address in self.blocks:
            raise UserError(
                f"{file}: {block.address} is declared twice.",
                f"It is in {self.blocks[block.address].origin.file} already.",
            )
        self.blocks[block.address] = block

    def _remote_state(self, name: str, body: Mapping[str, Json], file: str) -> None:
        if name in self.remote_states:
            raise UserError(f"{file}: {remote_states.PREFIX}{name} is declared twice.")
        self.remote_states[name] = remote_states.read_block(name, body, file)

    def _variable(self, name: str, value: Json, file: str) -> None:
        check_name(name, f"{file}: variable")
        if name in RESERVED_VARIABLES:
            raise UserError(
                f"{file}: variable: {name!r} is reserved, so no variable can have this name.",
                "Rename it.",
            )
        if name in self.variables:
            raise UserError(f"{file}: the variable {name} is declared twice.")
        self.variables[name] = _read_variable(name, value, file)

    def _local(self, name: str, value: Json, file: str) -> None:
        check_name(name, f"{file}: locals")
        if name in self.locals:
            raise UserError(f"{file}: the local value {name} is declared twice.")
        self.locals[name] = value

    def _output(self, name: str, value: Json, file: str) -> None:
        if value is None:
            return
        where = f"{file}: output.{name}"
        check_name(name, f"{file}: output")
        body = single_body(value, where)
        if name in self.outputs:
            raise UserError(f"{where} is declared twice.")
        origin = read_origin(body, file)
        if "precondition" in body:
            raise only_terraform_error("precondition", origin, f"output.{name}")
        check_arguments(body, _OUTPUT, where)
        if "value" not in body:
            raise UserError(f"{where}: it has no value.")
        if read_bool(body.get("ephemeral", False), f"{where}.ephemeral"):
            raise UserError(f"{where}: an output of the root cannot be ephemeral.")
        self.outputs[name] = Output(
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
        if "for_each" not in body and any(item.to == target for item in self.imports):
            raise UserError(f"{where}: {target} is imported twice.", "Keep one of them.")
        self.imports.append(
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
        self.moved.append(Moved(source, target, origin))

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
        self.removed.append(Removed(source, destroy, origin))


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
