"""Definitions of attributes, resources and data sources, and their checks of declarations.

A definition is data about a resource. The Terraform schema, request bodies, both engines' diffs,
the order of apply, the constructs and the reference pages are all read from it. This module does no
I/O and defines no resource; the resources are in `resources`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Final

from opsconsole.address import LOCAL_NAME
from opsconsole.bounds import UNBOUNDED, Bounds, describe_range
from opsconsole.diagnostics import AttributePath, Diagnostic, error, warning
from opsconsole.text import capitalise_first
from opsconsole.values import UNKNOWN, Value, Values, normalise_set

SCHEMA_VERSION: Final = 0
"""Version of every resource's stored state; a later version must upgrade older states."""


class Kind(Enum):
    """The type of an attribute's value: in words, and as Terraform writes it in JSON.

    `terraform_type` is a name, or a collection and the type of its elements. Of objects, it is
    their nesting mode.
    """

    STRING = "string", "string"
    INTEGER = "integer", "number"
    NUMBER = "number", "number"
    BOOLEAN = "boolean", "bool"
    STRING_SET = "set of strings", ("set", "string")
    STRING_LIST = "list of strings", ("list", "string")
    STRING_MAP = "map of strings", ("map", "string")
    OBJECT = "object", "single"
    OBJECT_LIST = "list of objects", "list"

    terraform_type: str | tuple[str, str]

    # Each value of each instance is looked up by its kind, and Enum's own hash runs Python code.
    __hash__ = object.__hash__

    def __new__(cls, words: str, terraform_type: str | tuple[str, str]) -> Kind:
        kind = object.__new__(cls)
        kind._value_ = words
        kind.terraform_type = terraform_type
        return kind

    @property
    def is_nested(self) -> bool:
        return self in (Kind.OBJECT, Kind.OBJECT_LIST)


class Notation(Enum):
    """The expected notation of a text. The document sets no bound, so another text is a warning."""

    ADDRESS = "an IP address"
    SUBNET = "a subnet"

    def fits(self, text: str) -> bool:
        try:
            if self is Notation.ADDRESS:
                ipaddress.ip_address(text)
            else:
                ipaddress.ip_network(text, strict=False)
        except ValueError:
            return False
        return True


class ChangeRule(Enum):
    """The effect of a changed declaration of an attribute."""

    UPDATE = "update"
    """The update operation takes it."""
    REPLACE = "replace"
    """No operation changes it: the object is deleted and created again."""
    REFUSE = "refuse"
    """No operation changes it, and no new object may be created for it: an error at plan time."""
    LOCAL = "local"
    """It is kept by the provider only: no call is made."""


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """One attribute of a resource, a data source, a nested object or the provider.

    Attributes:
        name: The API's field name, unchanged.
        shown_description: The description for a data source; empty: `description`.
        needed_to_create: Must be set for an object to be created. The schema does not demand it:
            an object that is imported may lack it.
        computed: The console may supply it. With `optional`, it does so if the user sets none.
        sensitive: Never shown in plans.
        change: The effect of a changed declaration.
        lifted_by: The operation that turns `change` into `ChangeRule.UPDATE`; empty: none does.
        local: Known to the provider only: never sent to the console, and never in an answer.
        creatable: Part of the create body (for a host: of an import row).
        volatile: The console may change it on any write. A refresh that finds only such changes
            shows no difference. Every planned update makes it unknown.
        follows: Names of attributes whose change may make the console change this one too.
        notation: The expected notation of its texts. Another text is sent with a warning.
        nullable: Null is a value of the API here, other than "absent".
        refers_to: Name of the resource whose `id` this holds.
        blocks_deletion: Whether the console refuses to delete the object that this refers to.
        bounds: Bounds of one literal value or element, as far as the document states them.
    """

    name: str
    description: str
    kind: Kind = Kind.STRING
    required: bool = False
    needed_to_create: bool = False
    optional: bool = False
    computed: bool = False
    sensitive: bool = False
    change: ChangeRule = ChangeRule.UPDATE
    lifted_by: str = ""
    local: bool = False
    creatable: bool = True
    volatile: bool = False
    follows: tuple[str, ...] = ()
    bounds: Bounds = UNBOUNDED
    notation: Notation | None = None
    nullable: bool = False
    refers_to: str | None = None
    blocks_deletion: bool = False
    attributes: tuple[Attribute, ...] = ()
    shown_description: str = ""

    @property
    def settable(self) -> bool:
        """Whether a configuration may set it."""
        return self.required or self.optional

    @property
    def full_description(self) -> str:
        return " ".join(filter(None, (self.description, self.bounds_in_words)))

    @property
    def bounds_in_words(self) -> str:
        """The bounds of a declared value, as far as the description does not state them."""
        bounds, parts = self.bounds, []
        values = [f"`{value}`" for value in bounds.allowed]
        if not all(value in self.description for value in values):
            parts.append(f"One of {', '.join(values)}.")
        for low, high, what in (
            (bounds.minimum, bounds.maximum, ""),
            (bounds.min_length, bounds.max_length, " characters"),
        ):
            if low is not None or high is not None:
                parts.append(f"{describe_range(low, high).capitalize()}{what}.")
        return " ".join(part for part in parts if part not in self.description)

    @property
    def read_only(self) -> bool:
        return self.computed and not self.settable

    def normalise(self, value: Value) -> Value:
        """Return a value in normal form for comparison; a set is sorted."""
        if self.kind is Kind.STRING_SET and isinstance(value, list):
            return normalise_set(value)
        return value

    def problems(self, value: Value, path: AttributePath = ()) -> Iterator[Diagnostic]:
        """Yield the problems of its value in a declaration.

        A null or unknown value passes; a null element of a list or a set is an error. Of the rest,
        only bounds that the document attributes to a field are errors, and a probable slip is a
        warning.

        Args:
            path: The path of the object that holds the attribute.
        """
        if value is None or value is UNKNOWN:
            return
        here = (*path, self.name)
        if self.attributes:
            for index, entry in enumerate(value if isinstance(value, list) else [value]):
                if entry is None:
                    yield error(f"{self.name} holds a null element", "Remove it.", here)
                elif isinstance(entry, dict):
                    at = (*here, index) if self.kind is Kind.OBJECT_LIST else here
                    for nested in self.attributes:
                        yield from nested.problems(entry.get(nested.name), at)
            return
        for item in value if isinstance(value, list) else [value]:
            if item is None:
                yield error(f"{self.name} holds a null element", "Remove it.", here)
            elif item is not UNKNOWN:
                yield from self._item_problems(item, here)

    def _item_problems(self, item: Value, path: AttributePath) -> Iterator[Diagnostic]:
        bounds = self.bounds._replace(integer=True) if self.kind is Kind.INTEGER else self.bounds
        violation = bounds.check(item)
        if violation is not None:
            yield error(
                f"{self.name} {violation.problem}",
                f"{capitalise_first(violation.expected)}.",
                path,
            )
        elif self.notation and isinstance(item, str) and not self.notation.fits(item):
            yield warning(
                f"{self.name}: {item!r} is not {self.notation.value}",
                "It is sent as it is: the API document gives no bound, so the console decides.",
                path,
            )


@dataclass(frozen=True, eq=False)
class _Attributed:
    """Attributes, and their lookup by name."""

    attributes: tuple[Attribute, ...]

    @cached_property
    def by_name(self) -> Mapping[str, Attribute]:
        return {attribute.name: attribute for attribute in self.attributes}

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        return {attribute.name: attribute.kind for attribute in self.attributes}

    @cached_property
    def sensitive_names(self) -> frozenset[str]:
        return frozenset(attribute.name for attribute in self.attributes if attribute.sensitive)

    @cached_property
    def required(self) -> tuple[Attribute, ...]:
        return tuple(attribute for attribute in self.attributes if attribute.required)

    @cached_property
    def read_only(self) -> tuple[Attribute, ...]:
        return tuple(attribute for attribute in self.attributes if attribute.read_only)

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __getitem__(self, name: str) -> Attribute:
        return self.by_name[name]

    def empty(self) -> dict[str, Any]:
        """Return a value in which every attribute is null."""
        return dict.fromkeys(self.names)

    def read_only_errors(self, config: Values) -> list[Diagnostic]:
        """Refuse a declaration of attributes that only the console supplies."""
        return [
            error(
                f"{item.name} is read only", "Leave it out: the console supplies it.", (item.name,)
            )
            for item in self.read_only
            if config.get(item.name) is not None
        ]


@dataclass(frozen=True, slots=True)
class NodeStyle:
    """The form of a resource in the graph of a program.

    Attributes:
        brackets: The brackets around its label in Mermaid.
        shape: Its shape in Graphviz's DOT.
        fill: Its colour, as CSS writes it.
    """

    brackets: tuple[str, str] = ("[(", ")]")
    shape: str = "cylinder"
    fill: str = "#f1f5f9"


LIFECYCLE_STEPS = ("create", "read", "update", "delete", "list")
"""The steps of a resource; `list` shows unmanaged objects too."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to take a step; available if its operation is documented or named by the operator.

    Attributes:
        operation: The name of the operation (`v1.operations`); empty if no call is made.
        note: Its effect, or the substitute for it.
        complete: Whether it does all of the step.
        setting: The name and the value of the setting that allows it; empty: it is always allowed.
    """

    operation: str
    note: str = ""
    complete: bool = True
    setting: tuple[str, str] | tuple[()] = ()


@dataclass(frozen=True, eq=False)
class ResourceDefinition(_Attributed):
    """One resource.

    Attributes:
        name: `host`.
        title, plural: Its names in messages: `host`, `hosts`.
        label: The attribute whose value names one of them to a reader.
        reported_as: Attributes for reports, which show the first one with a value; empty: `label`.
        import_forms: The forms of its import id, for messages and pages.
        ways: Each of `LIFECYCLE_STEPS` to the ways to take it, best first.
            `BaseLifecycle` takes each step by the first way. The lifecycle of a resource overrides
            a step that the console takes otherwise, and has the code for the other ways.
        gone_reason: Why a read may find an object gone.
        owner: The attribute that refers to the owner, whose deletion deletes this resource too. The
            owner is read first. Empty if there is no owner.
        owner_deletion: The effect of the owner's deletion: `delete` or `archive`.
        recognised_by: The attribute by which a console may recognise an existing object in a
            creation; empty if there is none.
        rules: Yields the problems of a declaration beyond the bounds of its attributes.
        node_style: Its form in the graph of a program.
    """

    name: str
    title: str
    plural: str
    description: str
    label: str
    import_forms: tuple[str, ...]
    ways: Mapping[str, tuple[Way, ...]]
    gone_reason: str
    owner: str = ""
    owner_deletion: str = "delete"
    reported_as: tuple[str, ...] = ()
    recognised_by: str = ""
    rules: Callable[[Values], Iterable[Diagnostic]] = lambda config: ()
    node_style: NodeStyle = NodeStyle()

    @cached_property
    def type_name(self) -> str:
        """Terraform's name for it: `opsconsole_host`."""
        return f"{LOCAL_NAME}_{self.name}"

    @cached_property
    def owner_type(self) -> str:
        """Terraform's type name of its owner; empty if it has none."""
        return f"{LOCAL_NAME}_{self[self.owner].refers_to}" if self.owner else ""

    @property
    def class_name(self) -> str:
        """Its name in the names of classes: `AgentPlugin`."""
        return self.name.title().replace("_", "")

    @cached_property
    def answer_fields(self) -> tuple[Attribute, ...]:
        return tuple(attribute for attribute in self.attributes if not attribute.local)

    @cached_property
    def settable(self) -> tuple[Attribute, ...]:
        return tuple(attribute for attribute in self.attributes if attribute.settable)

    @cached_property
    def constrained(self) -> tuple[Attribute, ...]:
        """The settable attributes whose values can have problems beyond a wrong type."""
        free = (Kind.STRING, Kind.BOOLEAN, Kind.NUMBER, Kind.STRING_MAP)
        return tuple(
            attribute
            for attribute in self.settable
            if attribute.kind not in free or attribute.bounds != UNBOUNDED or attribute.notation
        )

    @cached_property
    def references(self) -> tuple[Attribute, ...]:
        """The attributes that hold ids of other resources."""
        return tuple(attribute for attribute in self.attributes if attribute.refers_to)

    def deletion_policy(self, values: Values) -> str:
        """Return the deletion policy of an object; empty if the resource has none."""
        policy = self.by_name.get("deletion_policy")
        # The first of the policies is the default.
        return "" if policy is None else values.get(policy.name) or policy.bounds.allowed[0]

    def is_abandoned(self, values: Values) -> bool:
        """Return whether a removal leaves an object on the console."""
        return self.deletion_policy(values) == "abandon"

    def problems(self, config: Values) -> list[Diagnostic]:
        """Return the problems of a declaration, by its attributes and by its own rules."""
        of_attributes = [
            problem
            for item in self.constrained
            if (value := config.get(item.name)) is not None
            for problem in item.problems(value)
        ]
        return [*self.read_only_errors(config), *of_attributes, *self.rules(config)]

    def find_undeclared(self, config: Values) -> list[Diagnostic]:
        """Return an error for each attribute that a creation needs and a declaration lacks."""
        article = "an" if self.title[0] in "aeiou" else "a"
        return [
            error(
                f"{item.name} is needed to create {article} {self.title}",
                f"Declare {item.name}, or import {article} {self.title} that exists.",
                (item.name,),
            )
            for item in self.attributes
            if item.needed_to_create and config.get(item.name) is None
        ]


@dataclass(frozen=True, eq=False)
class DataSourceDefinition(_Attributed):
    """One data source.

    Attributes:
        resource: The name of the resource that it shows.
        operations: The names of the operations that may show it, the best first.
    """

    name: str
    description: str
    resource: str
    operations: tuple[str, ...]

    @cached_property
    def type_name(self) -> str:
        return f"{LOCAL_NAME}_{self.name}"

    @property
    def is_list(self) -> bool:
        """Whether it shows a list, and not one object."""
        return "complete" in self.by_name


@dataclass(frozen=True, eq=False)
class ProviderDefinition(_Attributed):
    description: str


def read_only(name: str, description: str, kind: Kind = Kind.STRING, **facts: Any) -> Attribute:
    """Define an attribute that only the console supplies."""
    return Attribute(name, description, kind, computed=True, creatable=False, **facts)


def optional_computed(
    name: str, description: str, kind: Kind = Kind.STRING, **facts: Any
) -> Attribute:
    """Define an attribute that the console supplies if a configuration sets none."""
    return Attribute(name, description, kind, optional=True, computed=True, **facts)


def kept_locally(name: str, description: str, kind: Kind = Kind.STRING, **facts: Any) -> Attribute:
    """Define an attribute that may be set, and that only the provider knows."""
    facts |= {"optional": True, "local": True, "creatable": False, "change": ChangeRule.LOCAL}
    return Attribute(name, description, kind, **facts)


def timestamps(what: str) -> tuple[Attribute, Attribute]:
    """Define the times of the creation and of the last change of one of `what`."""
    return (
        read_only("created_at", f"When the {what} was created, ISO 8601."),
        read_only("updated_at", f"When the {what} was last changed, ISO 8601.", volatile=True),
    )
