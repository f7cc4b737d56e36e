"""Requests and outcomes between engines and lifecycles.

Reads are requested many at once, and answered in order. Writes are requested one at a time, and
reported as soon as their outcome is known; only the bulk import of hosts takes many at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple, Protocol

from opsconsole.diagnostics import Diagnostic, has_error
from opsconsole.errors import Cause
from opsconsole.values import Values

BULK_CREATES_AT_A_TIME = 2
"""While the objects of one bulk request are read back, the next request creates more. A third would
only wait at the console."""


class RemovalReason(Enum):
    """Why a resource is removed, as far as the engine knows."""

    UNEXPLAINED = "unexplained"
    """Nothing is known: Terraform's destroy plan sees one resource at a time, in no order."""
    ALONE = "alone"
    """It is removed by itself: no deletion of its owner takes it along."""
    WITH_OWNER = "with owner"
    """The deletion of its owner takes it along."""


class PlanCreation(NamedTuple):
    """Asks for the plan of a creation.

    Attributes:
        config: The declaration, null where omitted, UNKNOWN where not known yet.
        private: The private bytes of the resource that it replaces, if the engine passes them on.
        address: For messages; empty if the engine does not know it.
    """

    config: Values
    private: bytes = b""
    address: str = ""


class PlanChange(NamedTuple):
    """Asks for the plan of one resource in state under a declaration.

    Attributes:
        prior: The value in state after refresh.
        private: The private bytes beside the prior value.
        removal: Why its old object is removed, if the change turns out to be a replacement.
        owner_is_deleted_first: Whether its owner is deleted before the change is made, which
            deletes this resource too.
    """

    prior: Values
    config: Values
    private: bytes = b""
    removal: RemovalReason = RemovalReason.UNEXPLAINED
    address: str = ""
    owner_is_deleted_first: bool = False


class PlanRemoval(NamedTuple):
    """Asks for the plan of a removal; the members are as in `PlanChange`."""

    prior: Values
    private: bytes = b""
    removal: RemovalReason = RemovalReason.UNEXPLAINED
    address: str = ""


PlanRequest = PlanCreation | PlanChange | PlanRemoval
"""Asks for the plan of one resource."""


class PlanOutcome(NamedTuple):
    """The plan of one resource.

    Attributes:
        planned: The value after apply, UNKNOWN where known only after apply; None: removed.
        requires_replace: Names of the attributes whose change makes this a replacement; empty: in
            place.
        private: Bytes to hand to apply.
        adopts: Whether a creation takes an existing object under management.
    """

    planned: Values | None
    requires_replace: tuple[str, ...] = ()
    private: bytes = b""
    diagnostics: tuple[Diagnostic, ...] = ()
    adopts: bool = False

    @property
    def failed(self) -> bool:
        return has_error(self.diagnostics)


class ReadRequest(NamedTuple):
    """Asks for the console's values of one resource in state."""

    prior: Values
    private: bytes = b""
    address: str = ""

    def leave_unchecked(
        self, reason: str, *diagnostics: Diagnostic, cause: Cause | None = None, begun: bool = True
    ) -> ReadOutcome:
        """Return the outcome of a resource that could not be read: its state is kept."""
        return ReadOutcome(
            self.prior,
            self.private,
            diagnostics,
            ReadStatus.UNCHECKED,
            reason=reason,
            cause=cause,
            begun=begun,
        )


class CreateRequest(NamedTuple):
    """Asks to create, or to adopt, one resource as planned.

    Attributes:
        config: The declaration, all known.
        private: The bytes that the plan returned.
        address: For messages; empty if the engine does not know it.
    """

    config: Values
    planned: Values
    private: bytes = b""
    address: str = ""

    @property
    def prior(self) -> None:
        """None: state does not hold it yet."""


class UpdateRequest(NamedTuple):
    """Asks to change one resource in place; the members are as in `CreateRequest`."""

    prior: Values
    config: Values
    planned: Values
    private: bytes = b""
    address: str = ""


class DeleteRequest(NamedTuple):
    """Asks to delete one resource, or to let it leave management, as planned."""

    prior: Values
    private: bytes = b""
    address: str = ""


WriteRequest = CreateRequest | UpdateRequest | DeleteRequest
"""Asks to carry out the plan of one resource."""


class UnsettledCreate(NamedTuple):
    """A create whose outcome is not known.

    Attributes:
        planned: The planned values that were known when it was sent.
        dry_run_status: The status that a dry run gave its row before it was sent, or empty.
        may_arrive: Whether it was sent so recently that it may still take effect.
    """

    planned: Values
    address: str
    dry_run_status: str = ""
    may_arrive: bool = False


NOT_PERMITTED = "the console does not allow this key the call that reads it"
"""The reason why a resource is UNCHECKED if the console refused its read with 403."""


class ReadStatus(Enum):
    """The result of reading one resource."""

    PRESENT = "present"
    GONE = "gone"
    ARCHIVED = "archived"
    UNCHECKED = "unchecked"
    """It could not be read: its state is kept, and it is never called in sync."""


class ReadOutcome(NamedTuple):
    """The outcome of reading one resource.

    Attributes:
        state: The value to keep in state; None: nothing is kept.
        private: The bytes to keep beside it.
        reason: For an UNCHECKED object: why, in one sentence without the text of `cause`. For a
            PRESENT object: why the console refused to show some of `unobserved`.
        cause: The error behind `reason`, if there is one.
        unobserved: Names of attributes that this answer did not show.
        begun: As in `Outcome`.
    """

    state: Values | None
    private: bytes = b""
    diagnostics: tuple[Diagnostic, ...] = ()
    status: ReadStatus = ReadStatus.PRESENT
    reason: str = ""
    cause: Cause | None = None
    unobserved: tuple[str, ...] = ()
    begun: bool = True

    @property
    def failed(self) -> bool:
        return has_error(self.diagnostics)

    @property
    def why_unchecked(self) -> str:
        """The reason and the text of the cause."""
        return ": ".join(filter(None, (self.reason, self.cause.text if self.cause else "")))


class Outcome(NamedTuple):
    """The outcome of a write, an import or a data source.

    Attributes:
        state: The value to keep in state; None: nothing is kept.
        private: The bytes to keep beside it.
        diagnostics: With an error and a state, a create is tainted.
        unsettled: Whether a write was sent and its outcome is not known. After a create, `state`
            then holds the planned value under a sentinel id.
        begun: False if the run was told to stop before anything was sent; `state` is then
            unchanged.
        rerouted: After the deletion of a host: ids of the hosts that the console rerouted.
        may_be_gone: After a deletion that failed: whether the object may be gone all the same.
    """

    state: Values | None
    private: bytes = b""
    diagnostics: tuple[Diagnostic, ...] = ()
    unsettled: bool = False
    begun: bool = True
    rerouted: tuple[str, ...] = ()
    may_be_gone: bool = False

    @property
    def failed(self) -> bool:
        return has_error(self.diagnostics)

    def with_diagnostics(self, *extra: Diagnostic) -> Outcome:
        return self._replace(diagnostics=(*self.diagnostics, *extra))


NEVER_CREATED: Final = Outcome(None)
STILL_UNSETTLED: Final = Outcome(None, unsettled=True)
"""The two results of settling a create that found no object."""


class ReportOutcomes(Protocol):
    """Receives the outcomes of creations, as soon as they are known."""

    async def __call__(
        self, results: Sequence[tuple[CreateRequest, Outcome]], *, final: bool = True
    ) -> None:
        """Take in outcomes; on return they are durable, if the engine keeps a journal.

        Args:
            final: False if the resources exist, and a later report completes each outcome.
        """
