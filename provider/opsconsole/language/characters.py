"""Characters: the form that all strings have, and grapheme clusters, as users see them."""

from __future__ import annotations

import unicodedata


def clusters(text: str) -> list[str]:
    """Return the grapheme clusters of `text`."""
    if text.isascii() and "\r" not in text:
        return list(text)
    # Imported late: it takes long to import, and most texts are plain.
    import regex

    return [str(cluster) for cluster in regex.findall(r"\X", text)]


def normalised(text: str) -> str:
    """Return `text` in form C."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)
