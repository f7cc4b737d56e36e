"""How reports show each bucket of a drift report, in every format: the one table of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from opsconsole.drift.report import Bucket


@dataclass(frozen=True, slots=True)
class BucketStyle:
    """How one bucket is shown.

    Attributes:
        word: Its name in sentences.
        meaning: What it says of a resource, as one sentence.
        sign: Its sign in text.
        colour: Its colour on a terminal.
        sarif: The level of its findings in SARIF; empty: they are left out there.
        css: The name of its colours on a page.
        page_sign: Its sign on a page.
        rank: How soon a reader of a page needs it: the lowest first.
    """

    word: str
    meaning: str
    sign: str
    colour: str
    sarif: str
    css: str
    page_sign: str
    rank: int

    @property
    def title(self) -> str:
        """The word as a heading."""
        return self.word[0].upper() + self.word[1:]


BUCKET_STYLES: Final[Mapping[Bucket, BucketStyle]] = MappingProxyType(
    {
        Bucket.MISSING: BucketStyle(
            word="missing",
            meaning="In state, gone from the console.",
            sign="-",
            colour="red",
            sarif="error",
            css="remove",
            page_sign="\N{MINUS SIGN}",
            rank=10,
        ),
        Bucket.ARCHIVED: BucketStyle(
            word="archived",
            meaning="In state, archived on the console.",
            sign="-",
            colour="red",
            sarif="error",
            css="leave",
            page_sign="↷",
            rank=20,
        ),
        Bucket.CHANGED: BucketStyle(
            word="changed",
            meaning="The console holds other values than state.",
            sign="~",
            colour="yellow",
            sarif="error",
            css="change",
            page_sign="~",
            rank=30,
        ),
        Bucket.UNMANAGED: BucketStyle(
            word="unmanaged",
            meaning="On the console, and in no state of this check.",
            sign="+",
            colour="magenta",
            sarif="warning",
            css="replace",
            page_sign="+",
            rank=40,
        ),
        Bucket.UNCHECKED: BucketStyle(
            word="unchecked",
            meaning="Not seen by this check, so neither in sync nor drifted.",
            sign="?",
            colour="cyan",
            sarif="warning",
            css="unseen",
            page_sign="?",
            rank=50,
        ),
        Bucket.PENDING: BucketStyle(
            word="pending",
            meaning="Declared in the program, not yet applied.",
            sign="*",
            colour="blue",
            sarif="",
            css="info",
            page_sign="*",
            rank=60,
        ),
        Bucket.IN_SYNC: BucketStyle(
            word="in sync",
            meaning="State and console agree.",
            sign="=",
            colour="green",
            sarif="",
            css="same",
            page_sign="=",
            rank=90,
        ),
    }
)
"""Every bucket, in the order in which readers want them."""
