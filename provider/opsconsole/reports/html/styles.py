"""What a colour on a page means, with the sign and the word that are shown beside it.

A page never shows anything by colour alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from opsconsole.drift.report import Finding
from opsconsole.reconcile.changes import Action, Change
from opsconsole.reports.bucket_styles import BUCKET_STYLES


@dataclass(frozen=True, slots=True)
class Style:
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


SAME: Final = Style("same", "=", "unchanged", 90)
PLAN_STYLES: Final = {
    Action.DELETE: Style("remove", "\N{MINUS SIGN}", "destroy", 10),
    Action.REPLACE: Style("replace", "±", "replace", 20),
    Action.UPDATE: Style("change", "~", "change", 30),
    Action.CREATE: Style("add", "+", "create", 40),
    Action.FORGET: Style("leave", "↷", "stop managing", 50),
    Action.READ: Style("info", "→", "read", 60),
    Action.NO_OP: SAME,
}
MOVE: Final = Style("info", "→", "move or import", 60)
BUCKET_PAGE_STYLES: Final = {
    bucket: Style(shown.css, shown.page_sign, shown.word, shown.rank)
    for bucket, shown in BUCKET_STYLES.items()
}
ACCEPTED: Final = Style("accepted", "✓", "accepted", 70)
ELSEWHERE: Final = Style("elsewhere", "·", "not managed here", 95)


def style_of_change(change: Change) -> Style:
    """Return the style of what is planned for an instance."""
    if change.action is Action.NO_OP and change.acts:
        return MOVE
    return PLAN_STYLES[change.action]


def style_of_finding(finding: Finding) -> Style:
    """Return the style of a finding: that of its bucket, or of accepted drift."""
    if finding.accepted and finding.bucket.is_drift:
        return ACCEPTED
    return BUCKET_PAGE_STYLES[finding.bucket]
