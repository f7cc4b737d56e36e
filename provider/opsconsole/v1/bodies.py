"""Reading the body of an answer piece by piece, decompressed, and never more of it than allowed."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterable, Callable, Iterator

_LARGE = 2**20
"""Bytes. Larger answers are read one at a time, so that many of them do not fill the memory."""

_ANY_WRAPPING = 32 + zlib.MAX_WBITS
_NO_WRAPPING = -zlib.MAX_WBITS


class TooLong(Exception):
    """A body has more bytes than allowed."""


class WrongCoding(Exception):
    """A body is not compressed as it says, or in a way that was not asked for."""


class Turn:
    """One caller's turn to have a large answer in memory; it lasts until the caller ends it.

    Attributes:
        wanted: Whether the caller still wants the answer.
    """

    __slots__ = ("_held", "_large", "wanted")

    def __init__(self, large: asyncio.Lock) -> None:
        self._large = large
        self._held = False
        self.wanted = True

    async def take(self) -> None:
        """Wait until no other caller has a large answer."""
        if not self._held:
            await self._large.acquire()
            self._held = True
            if not self.wanted:
                self.end()

    def end(self) -> None:
        """Let the next caller have its turn."""
        self.wanted = False
        if self._held:
            self._held = False
            self._large.release()


async def whole_body(pieces: AsyncIterable[bytes], coding: str, most: int, turn: Turn) -> bytes:
    """Return a body, decompressed; nothing of it is kept once its caller has gone.

    Args:
        pieces: The bytes as they come.
        coding: The Content-Encoding.
        most: Bytes that are allowed, of what comes and of what it decompresses to.
        turn: Taken once the body is large. The caller ends it when it has decoded the body.

    Raises:
        TooLong: it has more than `most` bytes.
        WrongCoding: it cannot be decompressed.
    """
    expand = _expander(coding)
    parts: list[bytes] = []
    sent = size = 0
    async for piece in pieces:
        sent += len(piece)
        for part in (piece,) if expand is None else expand(piece):
            size += len(part)
            if max(size, sent) > most:
                raise TooLong
            if size > _LARGE and turn.wanted:
                await turn.take()
            if turn.wanted:
                parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _expander(coding: str) -> Callable[[bytes], Iterator[bytes]] | None:
    """Return what decompresses one piece after the other; None: nothing is compressed."""
    coding = coding.strip().lower()
    if coding in ("", "identity"):
        return None
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise WrongCoding
    wrapping: int | None = None
    expanding = zlib.decompressobj(_ANY_WRAPPING)

    def expand(piece: bytes) -> Iterator[bytes]:
        nonlocal expanding, wrapping
        part = b""
        # A part that is full may have more behind it, even where all of the piece was taken.
        while piece or len(part) == _LARGE:
            try:
                part = expanding.decompress(piece, _LARGE)
            except zlib.error:
                # Some servers send what deflate makes without the wrapping that its name means.
                if wrapping is not None or coding != "deflate":
                    raise WrongCoding from None
                expanding, wrapping = zlib.decompressobj(_NO_WRAPPING), _NO_WRAPPING
                continue
            wrapping = wrapping or _ANY_WRAPPING
            piece = expanding.unconsumed_tail
            yield part

    return expand
