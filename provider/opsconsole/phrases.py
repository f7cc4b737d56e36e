"""Parts of sentences that messages of every layer are made of. Pure."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the `known` names like `name`, or else with all of them."""
    names = list(known)
    near = nearest(name, names)
    if near:
        return f'Did you mean "{near}"?'
    if not names:
        return "There is none."
    shown = ", ".join(names[:20])
    return f"There {'is' if len(names) == 1 else 'are'}: {shown}{', …' if len(names) > 20 else ''}."


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the one of `known` that is most like `name`; empty where none is."""
    import difflib  # only what is wrong needs it

    return next(iter(difflib.get_close_matches(name, list(known), n=1)), "")


def near_address(text: str, known: Iterable[str]) -> str:
    """Return a sentence that names the address that is most like `text`; empty where none is."""
    from difflib import SequenceMatcher

    def likeness(address: str) -> float:
        # Compare type and name separately: a long common type makes any two addresses similar.
        parts = zip(text.partition("."), address.partition("."), strict=True)
        return min(SequenceMatcher(None, *pair).ratio() for pair in parts)

    best = max(known, key=likeness, default=text)
    return f'Did you mean "{best}"?' if best != text and likeness(best) >= 0.6 else ""


def plural(count: int, noun: str) -> str:
    """Return `1 host`, `2 hosts`, `2 specialties`."""
    if count == 1:
        return f"1 {noun}"
    stem = f"{noun[:-1]}ie" if noun.endswith("y") and noun[-2] not in "aeiou" else noun
    return f"{count:,} {stem}s"
