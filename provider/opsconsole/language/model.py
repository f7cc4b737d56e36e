"""A program as it was read: its blocks, not yet evaluated; and the definitions of types, which a
caller gives, as the language knows none.

Values inside are JSON's, strings still templates. Reading is in `reading`, evaluating in
`evaluator`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from opsconsole.definition import DataSourceDefinition, ProviderDefinition, ResourceDefinition
from opsconsole.diagnostics import Path as AttributePath
from opsconsole.language.constraints import Constraint
from opsconsole.state import Address
from opsconsole.terraform_binary import TERRAFORM, Engine

BlockDefinition = ResourceDefinition | DataSourceDefinition


class Schemas(Protocol):
    """The definitions of one provider, such as the package `opsconsole.resources`.

    Attributes:
        RESOURCES, DATA_SOURCES: By type name, which begins with the provider's name and `_`.
        PROVIDER: Its settings.
    """

    @property
    def RESOURCES(self) -> Mapping[str, ResourceDefinition]: ...

    @property
    def DATA_SOURCES(self) -> Mapping[str, DataSourceDefinition]: ...

    @property
    def PROVIDER(self) -> ProviderDefinition: ...


NOTHING: Final = DataSourceDefinition((), "", "", "", "", ())
"""The definition of a block that no provider defines."""
NO_SETTINGS: Final = ProviderDefinition((), "")


Json = Any
"""A value of JSON, in which strings are templates unless said otherwise."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a block comes from, for messages and reports.

    Attributes:
        file: The file that holds it.
        path: The construct's path from the metadata, `stack/fleet/web`, or empty.
        trace: Where the construct was made, as `file:line` texts, where the metadata says so.
    """

    file: str
    path: str = ""
    trace: tuple[str, ...] = ()

    def title(self, address: str) -> str:
        """How messages call the block: the construct's path, if there is one, and the address."""
        return f"{self.path} ({address})" if self.path else address

    def place(self, folder: Path) -> str:
        """Return `FILE:LINE` as the metadata tells it, relative to `folder`; or nothing."""
        for entry in self.trace:
            text = entry.strip().rpartition("(")[2].rstrip(")")
            file, _, line = _without_column(text).rpartition(":")
            if file and line.isdigit():
                path = Path(file.removeprefix("file://"))
                if path.is_absolute() and path.is_relative_to(folder):
                    path = path.relative_to(folder)
                return f"{path}:{line}"
        # Synthesis leaves a stack trace in the metadata only on request.
        return ""


def _without_column(text: str) -> str:
    """Return `file:line` of `file:line:column`."""
    head, _, last = text.rpartition(":")
    return head if last.isdigit() and head.rpartition(":")[2].isdigit() else text


@dataclass(frozen=True, slots=True)
class LifecycleBlock:
    """The `lifecycle` block of a resource.

    Attributes:
        ignore_changes: Paths of attributes whose changes are ignored.
        ignore_all: All changes are.
        replace_triggered_by: References, as written.
        create_before_destroy: None where nothing is said.
    """

    prevent_destroy: bool = False
    create_before_destroy: bool | None = None
    ignore_changes: tuple[AttributePath, ...] = ()
    ignore_all: bool = False
    replace_triggered_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A resource or a data source.

    Attributes:
        mode: `managed` or `data`.
        arguments: The declared arguments, without meta-arguments.
        provider: Key of its provider block: `opsconsole` or `opsconsole.alias`.
        depends_on: Addresses of blocks, keys left out.
        definition: What its type has.
        counted: Whether `count` is set; `repeated`: whether `for_each` is.
    """

    mode: str
    type_name: str
    name: str
    arguments: Mapping[str, Json]
    origin: Origin
    provider: str
    definition: BlockDefinition = field(default=NOTHING, repr=False)
    depends_on: tuple[str, ...] = ()
    lifecycle: LifecycleBlock = LifecycleBlock()
    count: Json = None
    for_each: Json = None
    counted: bool = False
    repeated: bool = False

    @property
    def address(self) -> str:
        """The address of the block: `opsconsole_host.web` or `data.opsconsole_specialty.s`."""
        prefix = "data." if self.mode == "data" else ""
        return f"{prefix}{self.type_name}.{self.name}"

    @property
    def title(self) -> str:
        """How messages call it."""
        return self.origin.title(self.address)


@dataclass(frozen=True, slots=True)
class ProviderBlock:
    """A provider configuration; `key` is `opsconsole` or `opsconsole.alias`.

    `for_each`, which OpenTofu has, makes several of it: None where there is none.
    """

    key: str
    arguments: Mapping[str, Json]
    origin: Origin
    for_each: Json = None


@dataclass(frozen=True, slots=True)
class Validation:
    """A `validation` block of a variable; neither template is evaluated."""

    condition: Json
    error_message: Json


@dataclass(frozen=True, slots=True)
class Variable:
    """An input variable.

    Attributes:
        default: What it is where nothing is given; it counts only if `optional`.
        textual: Whether a text on the command line is the value itself, not an expression.
        validations: What its value must fulfil.
    """

    name: str
    constraint: Constraint
    origin: Origin
    default: Json = None
    optional: bool = False
    sensitive: bool = False
    ephemeral: bool = False
    nullable: bool = True
    textual: bool = False
    description: str = ""
    validations: tuple[Validation, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """An output. `value` is not evaluated."""

    name: str
    value: Json
    origin: Origin
    sensitive: bool = False
    description: str = ""
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Import:
    """An `import` block: `to` is an address that may hold expressions, `id` a template."""

    to: str
    id: Json
    origin: Origin
    provider: str = ""
    for_each: Json = None
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Moved:
    """A `moved` block: addresses of resources or of instances."""

    source: Address
    target: Address
    origin: Origin


@dataclass(frozen=True, slots=True)
class Removed:
    """A `removed` block; `destroy` false: the object leaves the state and stays."""

    source: Address
    destroy: bool
    origin: Origin


@dataclass(frozen=True, slots=True)
class BackendBlock:
    """Where state is kept: the type of the backend and its settings."""

    type: str
    settings: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Program:
    """One program (one stack, one directory of files).

    Attributes:
        root: The directory that relative paths start at.
        blocks: Resources and data sources by address, in the order of reading.
        providers: Provider blocks by key; a key that a block names without one is left out.
        remote_states: The states of other stacks that this one refers to, by name.
        readings: Their states, so that each is read once.
        required_providers: Local name to requirements.
        settings: The provider's settings.
        warnings: Construct path and text of the warnings that constructs gave at synthesis.
        engine: The real engine of the directory.
        unread: Names of declarations that could not be read: `opsconsole_host.web`, `var.v`.
    """

    root: Path
    blocks: Mapping[str, Block] = field(default_factory=dict)
    providers: Mapping[str, ProviderBlock] = field(default_factory=dict)
    variables: Mapping[str, Variable] = field(default_factory=dict)
    locals: Mapping[str, Json] = field(default_factory=dict)
    outputs: Mapping[str, Output] = field(default_factory=dict)
    imports: tuple[Import, ...] = ()
    moved: tuple[Moved, ...] = ()
    removed: tuple[Removed, ...] = ()
    backend: BackendBlock | None = None
    required_providers: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    stack: str = ""
    settings: ProviderDefinition = field(default=NO_SETTINGS, repr=False)
    warnings: tuple[tuple[str, str], ...] = ()
    remote_states: Mapping[str, Block] = field(default_factory=dict)
    engine: Engine = TERRAFORM
    unread: frozenset[str] = frozenset()
    readings: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def reads_state(self, address: Address) -> bool:
        """Return whether an address is of a `terraform_remote_state` that the program has."""
        found = address.mode == "data" and address.type == "terraform_remote_state"
        return found and address.name in self.remote_states

    @property
    def resources(self) -> tuple[Block, ...]:
        """The blocks that are resources, in the order of reading."""
        return tuple(block for block in self.blocks.values() if block.mode == "managed")
