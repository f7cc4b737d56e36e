"""What a probe asks of rows beside one host: by what they match it, and which differences tell."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from opsconsole.lifecycle.host_row import RowVerdict
from opsconsole.probe.calls import ProbeFinding, quoted
from opsconsole.probe.reading import HostRead
from opsconsole.probe.rows import KEYS, other_values
from opsconsole.resources import HOST

NEW: Final = "opsconsole-probe-no-such-host"
"""What names of hosts that do not exist begin with."""
SPELLINGS: Final[Mapping[str, Callable[[list[str]], list[str]]]] = {
    "order": lambda tags: list(reversed(tags)),
    "repetition": lambda tags: [*tags, tags[0]],
    "spaces around": lambda tags: [f" {tags[0]} ", *tags[1:]],
}
"""The same tags in other ways, by what a console honours or ignores of them."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on one row.

    Attributes:
        number: The call that got it.
        is_new: Whether the counts say that the row would be created, whatever the word.
    """

    verdict: RowVerdict
    number: int
    is_new: bool


class Comparison:
    """Compares rows with a host by the verdicts of dry runs.

    Args:
        judge: Has one row judged; None: the import was refused.
        host: The host as it was read.
        row: The row that equals it.
        same: What is said of that row.
        created: What is said of a row that would be created; None: not known.
    """

    def __init__(
        self,
        judge: Callable[[Mapping[str, Any]], Awaitable[Judged | None]],
        host: HostRead,
        row: Mapping[str, Any],
        same: Judged,
        created: str | None,
    ) -> None:
        self._judge = judge
        self._host_id = host.fields["id"]
        self._read = host
        self._row = row
        self._first = same
        self._same = same.verdict
        self._created = {"created", created} | ({same.verdict.status} if same.is_new else set())

    async def ask(self, found: dict[str, ProbeFinding]) -> None:
        """Ask, and put into `found` what was learned; an exception leaves there what was before."""
        for finding in self._of_same_row():
            found[finding.question] = finding
        found["matching"] = await self._matching()
        tells = "tags" in self._row and await self._tells_field("tags")
        found["tags"] = await self._tags(detected=tells)

    def _of_same_row(self) -> tuple[ProbeFinding, ProbeFinding]:
        same, calls = self._same, (self._first.number,)
        tied = same.id == self._host_id
        if not tied and same.status in self._created:
            why = "The row would be created: it matches no host by what this host sets."
            return ProbeFinding("verdict_same", why=why), ProbeFinding("verdict_ids", why=why)
        ids = "yes: that of the host" if tied else "no" if same.id is None else "of another host"
        return (
            ProbeFinding("verdict_same", quoted(same.status), calls=calls, value=same.status),
            ProbeFinding("verdict_ids", ids, calls=calls, value=tied),
        )

    async def _tells_field(self, name: str) -> bool:
        """Return whether a verdict tells that one field differs, by the same word in each way."""
        words = {
            await self._word(name, values) for values in other_values(HOST[name], self._row[name])
        }
        return len(words) == 1 and None not in words

    async def _word(self, name: str, values: Sequence[Any]) -> str | None:
        """Return the word for the first of these values that the console takes, where it tells."""
        for value in values:
            judged = await self._judge({**self._row, name: value})
            if judged is not None and not judged.verdict.error:
                return judged.verdict.status if self._tells(name, judged.verdict) else None
        return None

    def _tells(self, name: str, verdict: RowVerdict) -> bool:
        """Return whether a verdict says that a row differs from the host of the probe.

        A row whose key differs matches no host any more: it would be created.
        """
        if not verdict.matched or verdict.error or verdict.status == self._same.status:
            return False
        is_created = name in KEYS and verdict.status in self._created
        return is_created or verdict.id == self._host_id

    async def _matching(self) -> ProbeFinding:
        """Ask by which single field a row with another name still matches the host."""
        keys: list[str] = []
        numbers: list[int] = []
        asked: list[str] = []
        for name in KEYS:
            value = self._row.get(name)
            if value is None:
                continue
            only = {"name": value} if name == "name" else {"name": f"{NEW}-3", name: value}
            judged = await self._judge(only)
            if judged is None or not judged.verdict.matched:
                continue
            verdict = judged.verdict
            if verdict.error and verdict.id is None:
                continue
            asked.append(name)
            numbers.append(judged.number)
            if verdict.id == self._host_id:
                keys.append(name)
        if self._same.id != self._host_id:
            return ProbeFinding("matching", why="Verdicts do not name the host.")
        if not keys and len(asked) < sum(name in self._row for name in KEYS):
            return ProbeFinding("matching", why="Rows with a single key were refused.")
        answer = f"by {' or '.join(keys) or 'none of them alone'} (asked: {', '.join(asked)})"
        return ProbeFinding("matching", answer, calls=tuple(numbers), value=keys)

    async def _tags(self, *, detected: bool) -> ProbeFinding:
        """Ask by verdicts, which tell only where another tag changes them; and look at the read."""
        numbers: list[int] = []
        found: dict[str, Any] = {}
        tags = self._row.get("tags", [])
        for name, spelling in SPELLINGS.items() if detected and len(tags) > 1 else ():
            judged = await self._judge({**self._row, "tags": spelling(tags)})
            if judged is None:
                continue
            verdict = judged.verdict
            if verdict == self._same or self._tells("tags", verdict):
                found[name] = "ignored" if verdict == self._same else "honoured"
                numbers.append(judged.number)
        words = [
            f"an import {verb} {' and '.join(names)}"
            for verb, word in (("honours", "honoured"), ("ignores", "ignored"))
            if (names := [name for name, was in found.items() if was == word])
        ]
        if shown := _shown_as(self._read.tags):
            found["reads"] = shown
            words.append(f"a read shows tags {' and '.join(shown)}")
            numbers.insert(0, self._read.number)
        if not found:
            why = "A host with two tags is needed, and verdicts that show a change of tags."
            return ProbeFinding("tags", why=why)
        return ProbeFinding("tags", ", ".join(words), calls=tuple(numbers), value=found)


def _shown_as(tags: Sequence[str]) -> list[str]:
    """Return what a read shows of tags that proves how a console does not keep them."""
    ways = {
        "unsorted": list(tags) != sorted(tags),
        "more than once": len(set(tags)) < len(tags),
        "with spaces around": any(tag != tag.strip() for tag in tags),
    }
    return [name for name, is_shown in ways.items() if is_shown]
