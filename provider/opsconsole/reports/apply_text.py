"""The end of an apply in words: counts, failed and skipped changes, outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from opsconsole.diagnostics import Diagnostic
from opsconsole.phrases import plural
from opsconsole.quoting import printable
from opsconsole.reconcile.plan import Counts
from opsconsole.reports import diagnostics_text
from opsconsole.reports.labels import natural_order
from opsconsole.reports.text import SENSITIVE, Pen
from opsconsole.reports.value_diff import lines_of_value
from opsconsole.values import Value


def apply_summary(counts: Counts, operation: str = "apply", complete: bool = True) -> str:
    """Return `Apply complete! Resources: 1 added, 0 changed, 0 destroyed.`

    Args:
        counts: The changes that were made.
        operation: `apply` or `destroy`.
        complete: Whether all planned changes were made.
    """
    word = "Destroy" if operation == "destroy" else "Apply"
    opening = f"{word} complete!" if complete else f"{word} incomplete."
    if operation == "destroy":
        text = f"{opening} Resources: {counts.destroy} destroyed."
    else:
        imported = f"{counts.imported} imported, " if counts.imported else ""
        adopted = f"{counts.adopt} adopted, " if counts.adopt else ""
        text = (
            f"{opening} Resources: {imported}{adopted}{counts.add} added, {counts.change} changed, "
            f"{counts.destroy} destroyed."
        )
    return f"{text} {counts.forget} left management." if counts.forget else text


def took(seconds: float) -> str:
    """Return a duration as `5.2 s` or `3 min 20 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes:,} min {rest} s"


_LISTED = 50


def _list_changes(what: str, lines: Sequence[str], pen: Pen, colour: str) -> list[str]:
    """Return the lines of changes under a heading with their count; of many, only the first."""
    if not lines:
        return []
    heading = pen.paint(f"{plural(len(lines), 'change')} {what}:", "bold", colour)
    more = [f"  and {len(lines) - _LISTED:,} more"] if len(lines) > _LISTED else []
    return [heading, *lines[:_LISTED], *more]


def render(
    done: Counts,
    *,
    operation: str = "apply",
    failed: Iterable[str] = (),
    skipped: Mapping[str, str] | None = None,
    outputs: Mapping[str, tuple[Value, bool]] | None = None,
    diagnostics: Iterable[Diagnostic] = (),
    incomplete: bool = False,
    seconds: float = 0.0,
    colour: bool = False,
    width: int = 0,
) -> str:
    """Return the end of an apply as text.

    Args:
        done: The changes that were made.
        operation: `apply` or `destroy`.
        failed: Addresses whose change failed.
        skipped: For each skipped address, the address or the reason that it waited for.
        outputs: Name to value and whether it is sensitive.
        diagnostics: Errors and warnings.
        incomplete: Whether a change was not begun, or has an unknown outcome.
        seconds: How long the run took; 0 if nothing was run.
        colour: Whether to paint it with ANSI sequences.
        width: Columns of the terminal that diagnostics are fitted to, or 0.
    """
    pen = Pen(colour)
    failures = sorted(failed, key=natural_order)
    left_out = sorted((skipped or {}).items(), key=lambda item: natural_order(item[0]))
    cross, dash = pen.paint("✗", "red"), pen.paint("-", "yellow")
    waits = (f"{printable(item)} (waited for {printable(cause)})" for item, cause in left_out)
    lines = [
        *_list_changes("failed", [f"  {cross} {printable(item)}" for item in failures], pen, "red"),
        *_list_changes("skipped", [f"  {dash} {item}" for item in waits], pen, "yellow"),
    ]
    complete = not (failures or left_out or incomplete)
    summary = apply_summary(done, operation, complete)
    lines.append(pen.paint(summary, "bold", "green" if complete else "yellow"))
    if seconds:
        lines.append(f"The run ended in {took(seconds)}.")
    if failures:
        # Diagnostics come last, because some clients show only the end of a failure.
        more = f" and {len(failures) - 1:,} more" if len(failures) > 1 else ""
        lines.append(pen.paint(f"Failed: {printable(failures[0])}{more}", "bold", "red"))
    text = "\n".join([*lines, ""])
    messages = diagnostics_text.render(diagnostics, colour=colour, width=width)
    return "\n".join(part for part in (messages, text, outputs_text(outputs or {}, pen)) if part)


def outputs_text(outputs: Mapping[str, tuple[Value, bool]], pen: Pen) -> str:
    """Return outputs as `name = value`; each has its value, and whether it is masked."""
    if not outputs:
        return ""
    lines = [pen.paint("Outputs:", "bold", "green"), ""]
    for name in sorted(outputs):
        value, sensitive = outputs[name]
        if sensitive:
            lines.append(f"{printable(name)} = {SENSITIVE}")
        else:
            shown = lines_of_value(value, 0, "", f"{printable(name)} = ")
            lines += [line.plain[4:] for line in shown]
    return "\n".join([*lines, ""])
