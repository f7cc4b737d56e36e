"""A share of the stacks, for plans and checks that several machines make together. Pure."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from opsconsole.errors import UserError


@dataclass(frozen=True, slots=True)
class Shard:
    """Share `number` of `count`, from 1."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def takes(self, stack: str) -> bool:
        """Return whether a stack belongs to it: by its name alone."""
        digest = hashlib.sha256(stack.encode("utf-8", "surrogateescape")).digest()
        return int.from_bytes(digest[:8], "big") % self.count == self.number - 1


def read_shard(text: str) -> Shard:
    """Read `K/N`.

    Raises:
        UserError: It is not that, or K is not from 1 to N.
    """
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    shard = Shard(int(found[1]), int(found[2])) if found else None
    if shard is None or not 1 <= shard.number <= shard.count:
        raise UserError(
            f"{text!r} is not a shard.", "Write K/N with K from 1 to N, such as --shard 1/4."
        )
    return shard
