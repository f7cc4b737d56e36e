"""Keeps secrets out of everything that a user or a log may see.

The servicer tells it the secrets that a configuration holds; whoever writes text asks it first.
"""

from __future__ import annotations

import re

_MASK = "***"
_SHORTEST = 4
"""Characters; hiding less would riddle every text and protect nothing."""
_KEY = re.compile(r"svc_ak_[^\s\"'\\,;…]+")
"""A key, but not `svc_ak_…`, by which messages say what a key looks like."""
_IN_ADDRESS = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_HEADER = re.compile(r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)(['\"]?\s*[:=,]\s*)[^\r\n]+")


class Redaction:
    """The secrets of one process."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def learn(self, secret: str | None) -> None:
        """Hide `secret` from now on, and each value of a `name=value` cookie too."""
        if secret is None:
            return
        values = (pair.partition("=")[2].strip() for pair in secret.split(";"))
        self._known.update(text for text in (secret, *values) if len(text) >= _SHORTEST)

    def hide(self, text: str) -> str:
        """Return `text` without any secret: known ones, API keys, and credentials in headers
        and addresses.
        """
        for secret in sorted(self._known, key=len, reverse=True):
            text = text.replace(secret, _MASK)
        text = _IN_ADDRESS.sub(_MASK, _KEY.sub(_MASK, text))
        return _HEADER.sub(rf"\1\2{_MASK}", text)
