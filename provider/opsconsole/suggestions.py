"""Remedies that name what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence that names what is like `name`, or else all there is."""
    import difflib  # only what is wrong needs it

    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f'Did you mean "{near[0]}"?'
    if not names:
        return "There is none."
    shown = ", ".join(names[:20])
    return f"There {'is' if len(names) == 1 else 'are'}: {shown}{', …' if len(names) > 20 else ''}."
