"""How reports show what is planned for a resource and where a check put it, in every format.

A page never shows anything by colour alone: each style has a sign and a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from opsconsole.drift.report import Bucket, Finding
from opsconsole.reconcile.changes import Action, Change


@dataclass(frozen=True, slots=True)
class Style:
    """One meaning, as a page shows it.

    Attributes:
        name: Its name in style sheets and scripts.
        sign: The sign beside it.
        word: What it says of a resource.
        rank: The order of attention: the lowest first.
    """

    name: str
    sign: str
    word: str
    rank: int

    @property
    def quiet(self) -> bool:
        """Whether a resource in it needs no attention."""
        return self.name in ("same", "elsewhere")


@dataclass(frozen=True, slots=True)
class BucketStyle(Style):
    """How one bucket is shown, on a page and elsewhere.

    Attributes:
        meaning: What it says of a resource, as one sentence.
        text_sign: Its sign in text.
        colour: Its colour on a terminal.
    """

    meaning: str
    text_sign: str
    colour: str

    @property
    def title(self) -> str:
        """The word as a heading."""
        return self.word[0].upper() + self.word[1:]


SAME: Final = Style("same", "=", "unchanged", 90)
PLAN_STYLES: Final = {
    Action.DELETE: Style("remove", "\N{MINUS SIGN}", "destroy", 10),
    Action.REPLACE: Style("replace", "±", "replace", 20),
    Action.UPDATE: Style("change", "~", "change", 30),
    Action.CREATE: Style("add", "+", "create", 40),
    Action.ADOPT: Style("adopt", ">", "adopt", 45),
    Action.FORGET: Style("leave", "↷", "stop managing", 50),
    Action.READ: Style("info", "→", "read", 60),
    Action.NO_OP: SAME,
}
MOVE: Final = Style("info", "→", "move or import", 60)
ACCEPTED: Final = Style("accepted", "✓", "accepted", 70)
RESOLVED: Final = Style("add", "✓", "resolved", 80)
ELSEWHERE: Final = Style("elsewhere", "·", "not managed here", 95)
BUCKET_STYLES: Final[Mapping[Bucket, BucketStyle]] = MappingProxyType(
    {
        Bucket.MISSING: BucketStyle(
            name="remove",
            sign="\N{MINUS SIGN}",
            word="missing",
            rank=10,
            meaning="In state, gone from the console.",
            text_sign="-",
            colour="red",
        ),
        Bucket.ARCHIVED: BucketStyle(
            name="leave",
            sign="↷",
            word="archived",
            rank=20,
            meaning="In state, archived on the console.",
            text_sign="-",
            colour="red",
        ),
        Bucket.CHANGED: BucketStyle(
            name="change",
            sign="~",
            word="changed",
            rank=30,
            meaning="The console holds other values than state.",
            text_sign="~",
            colour="yellow",
        ),
        Bucket.UNMANAGED: BucketStyle(
            name="replace",
            sign="+",
            word="unmanaged",
            rank=40,
            meaning="On the console, and in no state of this check.",
            text_sign="+",
            colour="magenta",
        ),
        Bucket.UNCHECKED: BucketStyle(
            name="unseen",
            sign="?",
            word="unchecked",
            rank=50,
            meaning="Not seen by this check, so neither in sync nor drifted.",
            text_sign="?",
            colour="cyan",
        ),
        Bucket.PENDING: BucketStyle(
            name="info",
            sign="*",
            word="pending",
            rank=60,
            meaning="Declared in the program, not yet applied.",
            text_sign="*",
            colour="blue",
        ),
        Bucket.IN_SYNC: BucketStyle(
            name="same",
            sign="=",
            word="in sync",
            rank=90,
            meaning="State and console agree.",
            text_sign="=",
            colour="green",
        ),
    }
)
"""Every bucket, in the order in which readers want them."""


def style_of_change(change: Change) -> Style:
    """Return the style of what is planned for an instance."""
    if change.action is Action.NO_OP and change.acts:
        return MOVE
    return PLAN_STYLES[change.action]


def style_of_finding(finding: Finding) -> Style:
    """Return the style of a finding: that of its bucket, or of accepted drift."""
    if finding.accepted and finding.bucket.is_drift:
        return ACCEPTED
    return BUCKET_STYLES[finding.bucket]
