"""The form of Unicode that the language has all its strings in."""

from __future__ import annotations

import unicodedata


def normalised(text: str) -> str:
    """Return `text` in form C."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)
