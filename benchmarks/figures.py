"""What a measurement says, and the one table that shows them all. Nothing is measured here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of the table.

    `beside` is what was measured beside it in the same run; `ratio` is to that, where it says
    more than the figures. `limit` is what is asked for, and `kept` whether it holds.
    """

    subject: str
    measured: str
    beside: str = ""
    ratio: float | None = None
    limit: str = ""
    kept: bool | None = None


@dataclass(frozen=True)
class Section:
    """A heading and its lines; `note` stands below them."""

    title: str
    figures: Sequence[Figure]
    note: str = ""


def seconds(value: float) -> str:
    """Return seconds, or milliseconds below a quarter of one, with three digits or so."""
    if value < 0.25:
        return f"{value * 1000:.0f} ms"
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def slower(subject: str, ours: float, floor: float, most: float | None = None) -> Figure:
    """Return how many times as long as `floor` something takes; at most `most` times."""
    ratio = ours / floor
    limit, kept = ("", None) if most is None else (f"{most}x at most", ratio <= most)
    return Figure(subject, seconds(ours), seconds(floor), ratio, limit, kept)


def faster(subject: str, ours: float, theirs: float, least: float) -> Figure:
    """Return how many times faster than `theirs` something is; at least `least` times."""
    ratio = theirs / ours
    return Figure(
        subject, seconds(ours), seconds(theirs), ratio, f"{least:g}x at least", ratio >= least
    )


def bounded(subject: str, value: float, most: float) -> Figure:
    """Return seconds that have a limit of their own."""
    return Figure(subject, seconds(value), limit=f"{seconds(most)} at most", kept=value <= most)


def memory(subject: str, mebibytes: float, most: float | None = None) -> Figure:
    """Return a peak of memory in MiB."""
    limit, kept = ("", None) if most is None else (f"{most:.0f} MiB at most", mebibytes <= most)
    return Figure(subject, f"{mebibytes:.0f} MiB", limit=limit, kept=kept)


_HEADINGS = ("", "measured", "beside it", "ratio", "asked for", "")


def table(sections: Iterable[Section]) -> str:
    """Lay all sections out under one heading."""
    sections = tuple(sections)
    rows = [_row(figure) for section in sections for figure in section.figures]
    widths = [max(len(row[column]) for row in [_HEADINGS, *rows]) for column in range(6)]
    lines = [_line(_HEADINGS, widths)]
    for section in sections:
        lines += ["", section.title]
        lines += [_line(_row(figure), widths) for figure in section.figures]
        lines += [f"  {line}" for line in section.note.splitlines()]
    return "\n".join(line.rstrip() for line in lines)


def _row(figure: Figure) -> tuple[str, ...]:
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}x"
    verdict = {None: "", True: "yes", False: "NO"}[figure.kept]
    return (figure.subject, figure.measured, figure.beside, ratio, figure.limit, verdict)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    subject, measured, beside, ratio, limit, verdict = row
    return "  ".join(
        (
            f"  {subject:<{widths[0]}}",
            f"{measured:>{widths[1]}}",
            f"{beside:>{widths[2]}}",
            f"{ratio:>{widths[3]}}",
            f"{limit:<{widths[4]}}",
            verdict,
        )
    )
