"""Characters as users see them: grapheme clusters, counted and cut."""

from __future__ import annotations


def clusters(text: str) -> list[str]:
    """Return the grapheme clusters of `text`."""
    if text.isascii() and "\r" not in text:
        return list(text)
    # Imported late: it takes long to import, and most texts are plain.
    import regex

    return [str(cluster) for cluster in regex.findall(r"\X", text)]


def character_count(text: str) -> int:
    """Return how many grapheme clusters `text` has."""
    return len(clusters(text))
