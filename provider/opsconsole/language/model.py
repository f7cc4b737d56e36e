"""A program as read, not yet evaluated, and the interface of type definitions.

Strings in its JSON values are still templates. `reading` reads programs, and `evaluator` evaluates
them. The caller passes the definitions of types, because the language has none of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol

from opsconsole.definition import DataSourceDefinition, ProviderDefinition, ResourceDefinition
from opsconsole.diagnostics import AttributePath
from opsconsole.language.constraints import Constraint
from opsconsole.local_terraform import TERRAFORM, TerraformCli
from opsconsole.state import Address, ConfiguredBackend

BlockDefinition = ResourceDefinition | DataSourceDefinition


class Schemas(Protocol):
    """The definitions of one provider, such as the package `opsconsole.resources`.

    The names of its types begin with the provider's name and `_`.
    """

    @property
    def RESOURCES(self) -> Mapping[str, ResourceDefinition]: ...

    @property
    def DATA_SOURCES(self) -> Mapping[str, DataSourceDefinition]: ...

    @property
    def PROVIDER(self) -> ProviderDefinition: ...


NO_DEFINITION: Final = DataSourceDefinition(
    attributes=(), name="", description="", resource="", operations=()
)
"""The definition of a block that no provider defines."""
NO_SETTINGS: Final = ProviderDefinition((), "")
REMOTE_STATE: Final = "terraform_remote_state"
"""The type of data sources that read the state of another stack."""
REMOTE_STATE_ARGUMENTS: Final = ("backend", "config", "workspace", "defaults")

_PLACE: Final = re.compile(r"(?:file://)?(.+?):(\d+)(?::\d+)?")

Json = Any
"""A value of JSON, in which strings are templates unless said otherwise."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The place of a block, for messages and reports.

    Attributes:
        path: The construct's path from the metadata, such as `stack/fleet/web`; may be empty.
        trace: The stack of the construct's creation, as `file:line` texts, if the metadata has it.
    """

    file: str
    path: str = ""
    trace: tuple[str, ...] = ()

    def title(self, address: str) -> str:
        """Return the block's name in messages: the construct's path, if any, and the address."""
        return f"{self.path} ({address})" if self.path else address

    def place(self, name: str) -> str:
        """Return the name and the place of a block: the construct's path, or else the file."""
        return f"{self.path} ({name})" if self.path else f"{self.file}: {name}"

    def location(self, folder: Path) -> str:
        """Return `FILE:LINE` from the metadata, relative to `folder`; empty if not known."""
        for entry in self.trace:
            if match := _PLACE.fullmatch(entry.strip().rpartition("(")[2].rstrip(")")):
                return location_in(folder, match[1], int(match[2]))
        # Synthesis writes a stack trace into the metadata only on request.
        return ""


def location_in(folder: Path, file: str, line: int) -> str:
    """Return `FILE:LINE`, relative to `folder` if the file is in it."""
    path = Path(file)
    return f"{path.relative_to(folder) if path.is_relative_to(folder) else path}:{line}"


@dataclass(frozen=True, slots=True)
class LifecycleBlock:
    """The `lifecycle` block of a resource.

    Attributes:
        replace_triggered_by: References, as written.
        create_before_destroy: None if not set.
    """

    prevent_destroy: bool = False
    create_before_destroy: bool | None = None
    ignore_changes: tuple[AttributePath, ...] = ()
    ignore_all: bool = False
    replace_triggered_by: tuple[str, ...] = ()

    @property
    def ignores(self) -> bool:
        """Whether changes of any part of the declaration are ignored."""
        return self.ignore_all or bool(self.ignore_changes)


@dataclass(frozen=True)
class Block:
    """A resource or a data source.

    Attributes:
        mode: `managed` or `data`.
        arguments: The declared arguments, without meta-arguments.
        provider_key: The key of its provider block: `opsconsole` or `opsconsole.alias`.
        depends_on: Addresses of blocks, without keys.
        counted, repeated: Whether `count` is set, or `for_each`.
    """

    mode: str
    type_name: str
    name: str
    arguments: Mapping[str, Json]
    origin: Origin
    provider_key: str
    definition: BlockDefinition = field(default=NO_DEFINITION, repr=False)
    depends_on: tuple[str, ...] = ()
    lifecycle_block: LifecycleBlock = LifecycleBlock()
    count: Json = None
    for_each: Json = None
    counted: bool = False
    repeated: bool = False

    @cached_property
    def address(self) -> str:
        """Such as `opsconsole_host.web` or `data.opsconsole_specialty.s`."""
        prefix = "data." if self.mode == "data" else ""
        return f"{prefix}{self.type_name}.{self.name}"

    @property
    def is_remote_state(self) -> bool:
        return self.type_name == REMOTE_STATE

    @property
    def has_keys(self) -> bool:
        """Whether its instances have keys, because of `count` or `for_each`."""
        return self.counted or self.repeated

    @property
    def expressions(self) -> Mapping[str, Json]:
        """The arguments, and the value of `count` or `for_each`, by name."""
        if not self.has_keys:
            return self.arguments
        return {**self.arguments, "count": self.count, "for_each": self.for_each}

    @property
    def title(self) -> str:
        return self.origin.title(self.address)


@dataclass(frozen=True, slots=True)
class ProviderBlock:
    """A provider configuration; `key` is `opsconsole` or `opsconsole.alias`.

    `for_each`, which only OpenTofu has, makes several configurations. None: not set.
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
        default: The value if none is given; applies only if `optional`.
        textual: Whether a text on the command line is the value itself, not an expression.
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
    provider_key: str = ""
    for_each: Json = None
    repeated: bool = False

    @property
    def title(self) -> str:
        return self.origin.place(f"import of {self.to}")


@dataclass(frozen=True, slots=True)
class Moved:
    """A `moved` block: addresses of resources or of instances."""

    source: Address
    target: Address
    origin: Origin

    @property
    def whole(self) -> bool:
        """Whether a whole resource is moved and not one instance."""
        return self.source.key is None and self.target.key is None


@dataclass(frozen=True, slots=True)
class Removed:
    """A `removed` block. If `destroy` is false, the object is only removed from the state."""

    source: Address
    destroy: bool
    origin: Origin


@dataclass(slots=True)
class Program:
    """One program (one stack, one directory of files).

    Attributes:
        root: The base directory of relative paths.
        blocks: Resources and data sources by address, in the order of reading.
        providers: Provider blocks by key. A key that a block uses without a provider block is
            missing.
        remote_states: The `terraform_remote_state` blocks, by address.
        remote_outputs: The outputs of remote states, so that each is read once.
        literals: The configurations without an expression, by the block's address, so that each is
            evaluated once: they are the same in every phase.
        references: The dependencies, and the references that lead nowhere, so that they are found
            once.
        warnings: Construct path and text of each warning from synthesis.
        undeclared: Names of undeclared variables to the files that give them values.
        unread: Names of declarations that could not be read, such as `opsconsole_host.web` or
            `var.v`.
    """

    root: Path
    blocks: dict[str, Block] = field(default_factory=dict)
    providers: dict[str, ProviderBlock] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    locals: dict[str, Json] = field(default_factory=dict)
    outputs: dict[str, Output] = field(default_factory=dict)
    imports: list[Import] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    removed: list[Removed] = field(default_factory=list)
    backend: ConfiguredBackend | None = None
    required_providers: dict[str, Mapping[str, Json]] = field(default_factory=dict)
    stack: str = ""
    settings: ProviderDefinition = field(default=NO_SETTINGS, repr=False)
    warnings: tuple[tuple[str, str], ...] = ()
    undeclared: dict[str, str] = field(default_factory=dict)
    remote_states: dict[str, Block] = field(default_factory=dict)
    cli: TerraformCli = TERRAFORM
    unread: set[str] = field(default_factory=set)
    remote_outputs: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    literals: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    references: Any = field(default=None, compare=False, repr=False)

    @property
    def declared(self) -> Mapping[str, Block]:
        """All blocks by address: resources, data sources and remote states."""
        return {**self.blocks, **self.remote_states}

    @property
    def resources(self) -> tuple[Block, ...]:
        return tuple(block for block in self.blocks.values() if block.mode == "managed")
