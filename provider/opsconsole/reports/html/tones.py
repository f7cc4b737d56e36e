"""Tones: what a colour on a page means, with the sign and the words that stand beside it.

A page never tells anything by colour alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from opsconsole.drift.report import Bucket, Finding
from opsconsole.reconcile.changes import Action, Change


@dataclass(frozen=True, slots=True)
class Tone:
    """One meaning.

    Attributes:
        name: Its name in style sheets and scripts.
        sign: The sign beside it.
        word: What it says of a resource.
        rank: How much it deserves attention: the lowest first.
    """

    name: str
    sign: str
    word: str
    rank: int

    @property
    def quiet(self) -> bool:
        """Whether there is nothing to say of a resource in it."""
        return self.name in ("same", "elsewhere")


SAME: Final = Tone("same", "=", "unchanged", 90)
PLAN_TONES: Final = {
    Action.DELETE: Tone("remove", "\N{MINUS SIGN}", "destroy", 10),
    Action.REPLACE: Tone("replace", "±", "replace", 20),
    Action.UPDATE: Tone("change", "~", "change", 30),
    Action.CREATE: Tone("add", "+", "create", 40),
    Action.FORGET: Tone("leave", "↷", "stop managing", 50),
    Action.READ: Tone("info", "→", "read", 60),
    Action.NO_OP: SAME,
}
MOVE: Final = Tone("info", "→", "move or import", 60)
BUCKET_TONES: Final = {
    Bucket.MISSING: Tone("remove", "\N{MINUS SIGN}", "missing", 10),
    Bucket.ARCHIVED: Tone("leave", "↷", "archived", 20),
    Bucket.CHANGED: Tone("change", "~", "changed", 30),
    Bucket.UNMANAGED: Tone("replace", "+", "unmanaged", 40),
    Bucket.UNCHECKED: Tone("unseen", "?", "unchecked", 50),
    Bucket.PENDING: Tone("info", "*", "pending", 60),
    Bucket.IN_SYNC: Tone("same", "=", "in sync", 90),
}
ACCEPTED: Final = Tone("accepted", "✓", "accepted", 70)
ELSEWHERE: Final = Tone("elsewhere", "·", "not managed here", 95)


def tone_of_change(change: Change) -> Tone:
    """Return the tone of what is planned for an instance."""
    if change.action is Action.NO_OP and change.acts:
        return MOVE
    return PLAN_TONES[change.action]


def tone_of_finding(finding: Finding) -> Tone:
    """Return the tone of a finding: that of its bucket, or of accepted drift."""
    if finding.accepted and finding.bucket.is_drift:
        return ACCEPTED
    return BUCKET_TONES[finding.bucket]
