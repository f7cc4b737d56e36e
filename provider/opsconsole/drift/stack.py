"""A stack to check: its state, later writes to the state, and facts from its program.

This module reads without a lock and writes nothing. It waits for a write in progress, or reports
it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from opsconsole.address import LOCAL_NAME
from opsconsole.definition import SCHEMA_VERSION
from opsconsole.diagnostics import Diagnostic, error, leading_names, warning
from opsconsole.drift.model import Bucket, Finding
from opsconsole.errors import OpsconsoleError, UserError
from opsconsole.language import Evaluator, Program
from opsconsole.lifecycle.interface import ReadOutcome, ReadStatus
from opsconsole.local_terraform import cli_of
from opsconsole.reconcile.prior import PriorInstance, values_from_state
from opsconsole.resources import RESOURCES
from opsconsole.resources.lifecycles import ConfiguredProvider
from opsconsole.state import (
    Address,
    Backend,
    InstanceObject,
    LocalBackend,
    LockInfo,
    State,
    config_address,
    deposed_name,
    info_file,
    is_as_stored,
    read_state,
    read_stored,
    split_deposed,
)
from opsconsole.text import plural
from opsconsole.values import Values

_EMPTY_TRIES: Final = 10
_NEWER = "a newer release of opsconsole wrote it: use that release"


@dataclass(frozen=True)
class Stack:
    """One state, and its program if known.

    Attributes:
        name: Its name in reports.
        backend: The backend of its state; it is never opened, so no lock is taken.
        program: The source of provider settings, construct paths and locations.
        variables: The values of the program's variables.
        workspace: Terraform's workspace.
        pending: Whether to report resources that the program declares but state lacks.
    """

    name: str
    backend: Backend
    program: Program | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    workspace: str = "default"
    pending: bool = False

    def evaluator(self, program: Program, values: Mapping[str, Values]) -> Evaluator:
        """Return an evaluator of its program; `values` are those in state, by address."""
        return Evaluator(program, self.variables, values.get, workspace=self.workspace)


@dataclass(frozen=True, slots=True)
class StateObject:
    """One object of one state.

    Attributes:
        stack: The stack's name.
        address: Its address in that state; the address of a deposed object says so.
        instance: The object as the reconciler reads it, with the outcome, under an address that is
            unique in a check.
        sensitive: Names of attributes to mask.
        absent_names: Names of attributes that are absent from state, not even present as null.
        unreadable: Why it cannot be read, or compared at all; else empty.
        provider: The provider that read it; None before the read, or if no provider could.
    """

    stack: str
    address: str
    instance: PriorInstance
    sensitive: frozenset[str] = frozenset()
    absent_names: tuple[str, ...] = ()
    unreadable: str = ""
    provider: ConfiguredProvider | None = None

    @property
    def id(self) -> str:
        """The console's id; for an attachment, `AGENT/PLUGIN`."""
        return str(self.instance.stored_values["id"])

    @property
    def outcome(self) -> ReadOutcome:
        assert self.instance.read is not None
        return self.instance.read

    @property
    def is_unread(self) -> bool:
        """Whether the object, or a part of it, could not be read."""
        return self.outcome.status is ReadStatus.UNCHECKED or self.outcome.cause is not None

    @property
    def base_url(self) -> str:
        """The address of its console; empty if not known."""
        return self.provider.session.settings.base_url if self.provider else ""


def state_objects(stack: str, state: State) -> tuple[list[StateObject], list[Diagnostic]]:
    """Return the objects of a state that this provider manages, and remarks on the others.

    Deposed objects are included, data sources are not.
    """
    objects: list[StateObject] = []
    diagnostics: list[Diagnostic] = []
    foreign = 0
    # A deposed object still exists on the console, so it can drift like any other object.
    for address, deposed in state.objects():
        if address.mode != "managed":
            continue
        instance = state.get(address, deposed) if address.type in RESOURCES else None
        if instance is not None:
            objects.append(_state_object(stack, address, deposed, instance))
        elif address.type.startswith(f"{LOCAL_NAME}_"):
            diagnostics.append(error(f"{stack}: {address} cannot be checked", f"{_NEWER}."))
        else:
            foreign += 1
    if foreign:
        diagnostics.append(
            warning(
                f"{stack}: not checked: {plural(foreign, 'resource')} of other providers",
                f"`{cli_of().command} plan -refresh-only` checks them.",
            )
        )
    return objects, diagnostics


def _state_object(
    stack: str, address: Address, deposed: str, stored: InstanceObject
) -> StateObject:
    definition = RESOURCES[address.type]
    text = deposed_name(str(address), deposed)
    newer = stored.schema_version > SCHEMA_VERSION
    # A newer release may have changed the meaning of all values except names.
    named = {name: value for name, value in stored.attributes.items() if isinstance(value, str)}
    before = values_from_state(text, definition, named if newer else stored.attributes)
    # Only `before` keeps the decoded attributes, because there may be tens of thousands.
    slim = InstanceObject(stored.provider, {}, private=stored.private)
    instance = PriorInstance(f"{stack}: {text}", address.type, slim, before)
    return StateObject(
        stack,
        text,
        instance,
        sensitive=leading_names(stored.sensitive_paths),
        absent_names=tuple(name for name in definition.names if name not in stored.attributes),
        unreadable=_NEWER if newer else "",
    )


@dataclass(frozen=True)
class StackState:
    """One stack whose state was read.

    Attributes:
        digest: A digest of the state, to detect changes.
        stored_digest: A digest of the bytes from which the state was read.
        never_written: Whether nothing was ever written as its state.
    """

    stack: Stack
    digest: str
    stored_digest: bytes
    objects: list[StateObject]
    never_written: bool

    @property
    def values(self) -> dict[str, Values]:
        return {item.address: item.instance.stored_values for item in self.objects}

    def locate(self, finding: Finding) -> Finding:
        """Return a finding with the construct and the source location of its resource."""
        program, address = self.stack.program, finding.address
        # The id of an unmanaged object may look like an address.
        if program is None or finding.bucket is Bucket.UNMANAGED:
            return finding
        if finding.bucket is not Bucket.PENDING:
            address = self._declared_address(address)
        block = program.blocks.get(config_address(address))
        if block is None:
            return finding
        origin = block.origin
        return replace(finding, construct_path=origin.path, location=origin.location(Path.cwd()))

    def find_pending(self) -> tuple[list[Finding], list[Diagnostic]]:
        """Return the declared resources that state lacks, and diagnostics of unknown ones."""
        stack, program = self.stack, self.stack.program
        if program is None or not stack.pending:
            return [], []
        findings: list[Finding] = []
        diagnostics: list[Diagnostic] = []

        def warn(what: str, problem: OpsconsoleError) -> None:
            text = f"{stack.name}: {what} cannot be determined"
            diagnostics.append(warning(text, cause=problem.cause))

        if (contradiction := self._moves[1]) is not None:
            warn("pending resources", contradiction)
            return findings, diagnostics
        # A resource whose move is not applied yet is not pending. `count` and `for_each` may refer
        # to the values in state.
        by_address = {self._declared_address(name): item for name, item in self.values.items()}
        evaluator = stack.evaluator(program, by_address)
        for block in program.resources:
            try:
                declared = evaluator.instances(block).values()
            except OpsconsoleError as problem:
                # A block that cannot be evaluated does not hide the others.
                warn(f"pending resources of {block.title}", problem)
                continue
            findings += [
                Finding(
                    stack.name,
                    instance.address,
                    block.type_name,
                    Bucket.PENDING,
                    reason="declared in the program, not applied yet",
                )
                for instance in declared
                if instance.address not in by_address
            ]
        return findings, diagnostics

    def _declared_address(self, address: str) -> str:
        address, _ = split_deposed(address)
        return self._moves[0].get(address, address)

    @cached_property
    def _moves(self) -> tuple[Mapping[str, str], UserError | None]:
        """The instances that the program's moves concern, from state to program; or an error."""
        program = self.stack.program
        if program is None or not (program.moved or self.stack.pending):
            return {}, None
        from opsconsole.reconcile.moves import apply_moves  # rarely needed

        named = ((item.address, item.instance) for item in self.objects)
        prior = {address: item for address, item in named if not split_deposed(address)[1]}
        try:
            moved = apply_moves(prior, program)[0].items()
        except UserError as problem:
            # Findings keep their addresses in state. `find_pending` reports the contradiction, if
            # pending resources are asked for.
            return {}, problem
        return {item.previous_address: new for new, item in moved if item.previous_address}, None

    @property
    def has_no_state(self) -> bool:
        """Whether its program was never applied and pending resources are not reported."""
        return self.never_written and self.stack.program is not None and not self.stack.pending


class StackStates(NamedTuple):
    """The states of the stacks of one check.

    Attributes:
        stacks: All stacks, also those whose state is unreadable.
        read: The states that were read.
        diagnostics: About all states.
        began: The start of the check, on the monotonic clock.
    """

    stacks: Sequence[Stack]
    read: Sequence[StackState]
    diagnostics: Sequence[Diagnostic]
    began: float


def read_states(stacks: Sequence[Stack], *, all_stacks: bool) -> StackStates:
    """Read the states of stacks.

    Args:
        all_stacks: Whether these are all stacks, not just one shard's.
    """
    began = time.monotonic()
    states: list[StackState] = []
    diagnostics: list[Diagnostic] = []
    for stack in stacks:
        try:
            state, remarks = _read_stack(stack)
        except UserError as problem:
            remarks = [error(f"{stack.name}: its state was not read", cause=problem.cause)]
        else:
            states.append(state)
        diagnostics += remarks
    diagnostics += _explain_never_written(states, all_stacks=all_stacks)
    return StackStates(stacks, states, diagnostics, began)


def _read_stack(stack: Stack) -> tuple[StackState, list[Diagnostic]]:
    """Read a state, with diagnostics; raise UserError if it cannot be read."""
    state, stored_digest = read_stored(stack.backend)
    for _ in range(_EMPTY_TRIES):
        # Terraform empties its file before it writes it again.
        if not _was_never_written(state) or not _empty_file(stack):
            break
        time.sleep(0.05)
        state, stored_digest = read_stored(stack.backend)
    objects, diagnostics = state_objects(stack.name, state)
    read = StackState(stack, state.digest(), stored_digest, objects, _was_never_written(state))
    return read, diagnostics


def _empty_file(stack: Stack) -> Path | None:
    backend = stack.backend
    if isinstance(backend, LocalBackend) and backend.path.exists() and not backend.read().strip():
        return backend.path
    return None


def _was_never_written(state: State) -> bool:
    """Return whether nothing was ever written; an emptied state has a serial."""
    return state.empty and state.serial == 0


def _explain_never_written(read: Sequence[StackState], *, all_stacks: bool) -> Iterator[Diagnostic]:
    """Yield why states were not checked: an error if no stack has one, or for an empty file."""
    for state in read:
        # A write that a full disk cut short leaves an empty file.
        if state.never_written and (file := _empty_file(state.stack)):
            backup = file.with_name(f"{file.name}.backup")
            yield error(
                f"{state.stack.name}: its state is empty, so it was not checked",
                f"{file} holds nothing, so a write was cut short. Restore it from {backup.name}."
                if backup.exists()
                else f"{file} holds nothing, and there is no backup of it. If nothing was created "
                "yet, apply the program; else a write was cut short, and what the console has "
                "must be imported.",
            )
    stacks = [state.stack for state in read if state.never_written and not _empty_file(state.stack)]
    # Other shards may have states. In a sharded check, the merge of all shards reports the error.
    nothing = all_stacks and len(stacks) == len(read) and all(state.has_no_state for state in read)
    for stack in stacks:
        yield (error if nothing else warning)(
            f"{stack.name}: there is no state, so it was not checked",
            "If it was applied before, check that its backend names this place.",
        )


def explain_rewritten(state: StackState) -> list[Diagnostic]:
    """Report a state that was written during the check; its drift may come from an apply."""
    backend = state.stack.backend
    try:
        # Parsing the state again would take much memory and time at the end of a large check.
        if (
            is_as_stored(backend, state.stored_digest)
            or read_state(backend).digest() == state.digest
        ):
            return _explain_locked(state)
    except UserError as problem:
        return [error(f"{state.stack.name}: its state was not read again", cause=problem.cause)]
    return [
        error(
            f"{state.stack.name}: its state was written while it was checked",
            "Differences may come from that run. Check again.",
        )
    ]


def _explain_locked(state: StackState) -> list[Diagnostic]:
    """Warn of a run that has not written yet; a crash may also have left the lock."""
    backend = state.stack.backend
    holder = LockInfo.read(info_file(backend.path)) if isinstance(backend, LocalBackend) else None
    if holder is None:
        return []
    return [
        warning(
            f"{state.stack.name}: its state is locked by {holder}",
            "If that run is still in progress, differences may come from it.",
        )
    ]
