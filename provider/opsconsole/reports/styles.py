"""How reports show what is planned for a resource and where a check put it, in every format.

Nothing is shown by colour alone: each style has a sign and a word.
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
    """One meaning.

    Attributes:
        name: Its name in style sheets and scripts.
        sign: The sign beside it.
        word: What it says of a resource.
        rank: The order of attention: the lowest first.
        colour: Its colour on a terminal, where it is shown there.
        meaning: What it says of a resource, as one sentence.
    """

    name: str
    sign: str
    word: str
    rank: int
    colour: str = ""
    meaning: str = ""

    @property
    def quiet(self) -> bool:
        """Whether a resource in it needs no attention."""
        return self.name in ("same", "elsewhere")

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
ACCEPTED: Final = Style(
    "accepted", "✓", "accepted", 70, "green", "Drift that the baseline accepts: it does not count."
)
RESOLVED: Final = Style(
    "add", "✓", "resolved", 80, "green", "Drift of the earlier report that is no more."
)
ELSEWHERE: Final = Style("elsewhere", "·", "not managed here", 95)
BUCKET_STYLES: Final[Mapping[Bucket, Style]] = MappingProxyType(
    {
        Bucket.MISSING: Style(
            "remove", "\N{MINUS SIGN}", "missing", 10, "red", "In state, gone from the console."
        ),
        Bucket.ARCHIVED: Style(
            "leave", "↷", "archived", 20, "red", "In state, archived on the console."
        ),
        Bucket.CHANGED: Style(
            "change",
            "~",
            "changed",
            30,
            "yellow",
            "The console holds other values than state.",
        ),
        Bucket.UNMANAGED: Style(
            "replace",
            "+",
            "unmanaged",
            40,
            "magenta",
            "On the console, and in no state of this check.",
        ),
        Bucket.UNCHECKED: Style(
            "unseen",
            "?",
            "unchecked",
            50,
            "cyan",
            "Not seen by this check, so neither in sync nor drifted.",
        ),
        Bucket.PENDING: Style(
            "info", "*", "pending", 60, "blue", "Declared in the program, not yet applied."
        ),
        Bucket.IN_SYNC: Style("same", "=", "in sync", 90, "green", "State and console agree."),
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
