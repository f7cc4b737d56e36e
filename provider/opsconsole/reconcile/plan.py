"""The plan as a value: immutable changes in execution order, with options and a checksum.

Printing, saving and applying consume this same object. Nothing here plans or applies.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, Final

from opsconsole.diagnostics import AttributePath, Diagnostic, error
from opsconsole.lifecycle.private_state import is_sentinel
from opsconsole.resources import RESOURCES, top_owner_types
from opsconsole.values import UNKNOWN, Value, Values


class Action(Enum):
    """The action on one instance; the values are the words of this project's text."""

    NO_OP = "no-op"
    CREATE = "create"
    ADOPT = "adopt"
    """An existing object of the console, which the declaration names, is taken under management."""
    READ = "read"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"
    FORGET = "forget"

    # Reports look up each change by its action, and Enum's own hash runs Python code.
    __hash__ = object.__hash__

    @property
    def words(self) -> tuple[str, ...]:
        """Terraform's `actions` of a resource change, without the order of a replacement."""
        # Terraform calls an adoption an import, which is no action of its own.
        if self is Action.ADOPT:
            return (Action.NO_OP.value,)
        return ("delete", "create") if self is Action.REPLACE else (self.value,)


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one resource instance.

    Attributes:
        address: Full address, index key included: `opsconsole_host.web["a"]`.
        before: The refreshed value in state; None: there is none.
        after: The planned value, UNKNOWN where known only after apply; None: removed.
        config: The declaration as evaluated at plan time; None: not declared any more.
        replace_paths: Attributes whose change makes this a replacement.
        reason: Terraform's `action_reason`, or empty: `replace_because_cannot_update`,
            `replace_because_tainted`, `replace_by_request`, `replace_by_triggers`,
            `delete_because_no_resource_config`, `delete_because_count_index`,
            `delete_because_each_key`, `delete_because_no_module`,
            `delete_because_no_move_target`, `delete_because_wrong_repetition`,
            `read_because_config_unknown`, `read_because_dependency_pending`.
        private: Bytes for apply.
        deleted_with: Address of the owner whose deletion also deletes this; no call is made then.
        previous_address: Address before a `moved` block, or empty.
        import_id: Id that an `import` block gives, or empty.
        create_first: A replacement creates before it deletes.
        create_before_destroy: Whether any replacement would create first, as state records it.
        sensitive: Names of attributes that must not be shown, before or after.
        sensitive_paths: The sensitive paths to record in state.
        provider_key: The key of its provider configuration.
        notes: One-line remarks shown under it, such as the verdict of a dry run.
        dependencies: Configuration addresses of the resources that it depends on.
        former_dependencies: Dependencies in state that it no longer has.
    """

    address: str
    type_name: str
    action: Action
    before: Values | None
    after: Values | None
    _: KW_ONLY
    config: Values | None = None
    replace_paths: tuple[str, ...] = ()
    reason: str = ""
    private: bytes = b""
    deleted_with: str = ""
    previous_address: str = ""
    import_id: str = ""
    create_first: bool = False
    create_before_destroy: bool = False
    sensitive: frozenset[str] = frozenset()
    sensitive_paths: frozenset[AttributePath] = frozenset()
    construct_path: str = ""
    provider_key: str = ""
    notes: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    former_dependencies: tuple[str, ...] = ()

    @property
    def acts(self) -> bool:
        return self.action is not Action.NO_OP or bool(self.previous_address or self.import_id)

    @property
    def removes(self) -> bool:
        """Whether it deletes the object that exists now."""
        return self.action in (Action.DELETE, Action.REPLACE)

    @property
    def deletes_top_owner(self) -> bool:
        """Whether it deletes an instance of a type that owns others and has no owner itself."""
        return self.removes and self.type_name in top_owner_types()

    @property
    def moves_to_other_owner(self) -> bool:
        """Whether it is an update that gives the instance another owner."""
        owner = RESOURCES[self.type_name].owner if self.action is Action.UPDATE else ""
        return bool((self.after or {}).get(owner) != (self.before or {}).get(owner))


@dataclass(frozen=True, slots=True)
class Drift:
    """A difference between console and state, found by a refresh; `after` is None if it is gone.

    `previous_address` is the address before a `moved` block, or empty.
    """

    address: str
    type_name: str
    before: Values
    after: Values | None
    sensitive: frozenset[str] = frozenset()
    previous_address: str = ""

    @property
    def perhaps_by_others(self) -> bool:
        # If `updated_at` is unchanged since the last write, nobody did. The console keeps other
        # values than it was given.
        written = self.before.get("updated_at")
        return written is None or self.after is None or written != self.after.get("updated_at")


@dataclass(frozen=True, slots=True)
class Refreshed:
    """An instance whose read differs from state; `values` is None if it is gone."""

    address: str
    values: Values | None
    private: bytes


@dataclass(frozen=True, slots=True)
class DataRead:
    """A data source read during planning, which the apply puts into state."""

    address: str
    type_name: str
    provider_key: str
    values: Values
    sensitive_paths: frozenset[AttributePath]


@dataclass(frozen=True, slots=True)
class OutputChange:
    """The change of an output of the root module.

    Attributes:
        after: The new value; UNKNOWN, in whole or in part, if known only after apply.
        type: The type of `after`, or of `before` if `after` is unknown or there is none, as states
            have it.
    """

    name: str
    action: Action
    before: Value
    after: Value
    sensitive: bool = False
    type: Any = None


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """Counts of resource instances by action."""

    add: int = 0
    change: int = 0
    destroy: int = 0
    imported: int = 0
    adopt: int = 0
    forget: int = 0


@dataclass(frozen=True)
class Plan:
    """The changes that one run would make.

    Attributes:
        changes: Every instance, unchanged ones included, in execution order.
        drift: Changes outside of this program that the refresh found.
        diagnostics: A plan with an error among them cannot be applied.
        lineage, serial: Of the state that it was made from.
        mode: `normal`, `destroy` or `refresh-only`.
        calls: Number of requests sent to make it, by operation.
        refreshed: Reads that differ from state, private bytes included.
        dropped: Addresses of data sources in state that the program no longer declares.
        moved: Old and new address of each instance whose address differs from state.
        unread: How many of the planned instances in state were not read.
        partly_observed: How many others were read without a value that a program may set.
        planned_at: When it was made; the value of `plantimestamp()`, during the apply too.
    """

    changes: tuple[Change, ...]
    drift: tuple[Drift, ...] = ()
    outputs: tuple[OutputChange, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    lineage: str = ""
    serial: int = 0
    mode: str = "normal"
    targeted: bool = False
    calls: Mapping[str, int] = field(default_factory=dict)
    refreshed: tuple[Refreshed, ...] = ()
    data: tuple[DataRead, ...] = ()
    dropped: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    planned_at: datetime | None = None
    unread: int = 0
    partly_observed: int = 0

    def acting(self) -> Iterator[Change]:
        """Yield the changes that do something."""
        return (change for change in self.changes if change.acts)

    @property
    def counts(self) -> ChangeCounts:
        actions = [change.action for change in self.changes]
        replaced = actions.count(Action.REPLACE)
        return ChangeCounts(
            add=actions.count(Action.CREATE) + replaced,
            change=actions.count(Action.UPDATE),
            destroy=actions.count(Action.DELETE) + replaced,
            imported=sum(bool(change.import_id) for change in self.changes),
            adopt=actions.count(Action.ADOPT),
            forget=actions.count(Action.FORGET),
        )

    @property
    def unsettled(self) -> tuple[str, ...]:
        """Addresses of creations whose outcome stays unknown; they make every run incomplete."""
        return tuple(
            change.address
            for change in self.changes
            if change.before is not None
            and is_sentinel(change.before.get("id"))
            and not change.acts
        )

    @property
    def empty(self) -> bool:
        """Whether an apply would change nothing and every declared object is known to exist."""
        return self.changes_nothing and not self.unsettled

    @property
    def changes_nothing(self) -> bool:
        """Whether an apply would change nothing."""
        if self.mode == "refresh-only":
            changes = bool(self.drift)
        else:
            # Reading a data source changes nothing.
            changes = any(
                change.acts and change.action is not Action.READ for change in self.changes
            )
        return not changes and all(output.action is Action.NO_OP for output in self.outputs)


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Options of one plan, named as Terraform's.

    Attributes:
        targets: Addresses of `--target`; empty: everything.
        unknown_targets: Whether a target that names nothing is a warning, as in Terraform, and no
            error.
        preflight: Whether a dry run of new hosts is part of the plan.
    """

    mode: str = "normal"
    targets: tuple[str, ...] = ()
    unknown_targets: bool = False
    replace: tuple[str, ...] = ()
    refresh: bool = True
    preflight: bool = False


UNKNOWN_KEY: Final = "\0unknown"
"""The name in an object of JSON that stands for a value that is not known."""


def checksum(plan: Plan) -> str:
    """Return a checksum of a plan's changes, which an apply can demand.

    It depends on the changes and the state, not on the time; volatile values are left out.
    """
    changes = [
        [
            item.address,
            item.action.value,
            _without_volatile(item.type_name, item.before),
            _without_volatile(item.type_name, item.after),
            item.import_id,
            item.create_first,
        ]
        for item in sorted(plan.acting(), key=lambda change: change.address)
    ]
    if plan.mode == "refresh-only":
        changes += [
            [item.address, _without_volatile(item.type_name, item.after)] for item in plan.drift
        ]
    outputs = [[item.name, item.action.value, item.after] for item in plan.outputs]
    # A state that does not exist yet gets a new lineage each time.
    content = [plan.lineage if plan.serial else "", plan.mode, changes, outputs]
    text = json.dumps(
        content,
        # JSON knows every other value of a plan; a value of another kind is an error.
        default={UNKNOWN: {UNKNOWN_KEY: True}}.__getitem__,
        sort_keys=True,
        separators=(",", ":"),
        # A plan is made of JSON, so no value holds itself.
        check_circular=False,
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _without_volatile(type_name: str, value: Values | None) -> Any:
    if value is None or type_name not in RESOURCES:
        return value
    definition = RESOURCES[type_name]
    return {item.name: value.get(item.name) for item in definition if not item.volatile}


def guard_objection(plan: Plan, share: float, fewest: int, *, options: bool) -> Diagnostic | None:
    """Return why a plan needs to be forced, or None.

    Deleted and replaced instances count, and instances that were gone from the console before the
    plan. In a destroy plan, only gone instances count.

    Args:
        share: Allowed percentage of the managed instances that were in state.
        fewest: If fewer instances were in state, no plan needs to be forced.
        options: Whether the command line can force a plan, and not the environment alone.
    """
    gone = [item for item in plan.drift if item.after is None]
    going = [item for item in plan.changes if item.removes and plan.mode != "destroy"]
    existing = sum(item.before is not None for item in plan.changes)
    # An instance that is gone has no value before a change, though it was in state.
    existing += len(gone)
    if existing < fewest or not (going or gone):
        return None
    # A wrong key, org or base address shows itself by both.
    lost = len(going) + len(gone)
    percent = 100.0 * lost / existing
    if percent <= share:
        return None
    parts = []
    if going:
        parts.append(f"{len(going)} would be deleted or replaced")
    if gone:
        parts.append(f"{len(gone)} are gone from the console")
    by_options = "--force or a higher --max-destroy, or " if options else ""
    return error(
        f"The plan removes {lost} of {existing} resources ({percent:.0f} %)",
        f"{' and '.join(parts)}; a plan that removes more than {share:g} % must be forced. Check "
        f"base_url, the key and the program. If that is intended, use {by_options}"
        "OPSCONSOLE_FORCE=1 or OPSCONSOLE_MAX_DESTROY in the environment.",
    )
