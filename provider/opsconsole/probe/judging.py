"""What a probe asks of imports, all of them dry runs: verdicts, matching, size, comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from opsconsole.definition import Attribute, Kind
from opsconsole.lifecycle.answers import normalise
from opsconsole.lifecycle.verdicts import Verdict, verdicts
from opsconsole.probe.calls import (
    Call,
    Calls,
    DryRunNotHeeded,
    DryRunUnanswered,
    Finding,
    NotAllowed,
    quoted,
)
from opsconsole.resources import HOST
from opsconsole.v1.shapes import ImportResult, WrongShape, import_result

NEW: Final = "opsconsole-probe-no-such-host"
MOST_ROWS: Final = 500
KEYS: Final = ("name", "external_id", "unique_id", "mac", "public_ip", "private_ip")
"""The fields by which a row may match a host: each names or places a machine."""
_QUESTIONS: Final = (
    "dry_run", "index_base", "verdict_created", "verdict_same", "verdict_ids",
    "matching", "comparing", "tags", "import_size",
)  # fmt: skip
_TOO_LARGE: Final = (400, 413)
"""What a console may answer to more rows than it takes; no other status tells of the size."""
_LEFT_OUT: Final = ("org_id", "jump_host_ids", "is_jump_host")
"""Not compared: another value must name something that exists, or would change who may write."""


async def judge_rows(calls: Calls, host: Mapping[str, Any]) -> list[Finding]:
    """Return what dry runs show; `host` is a host as it was read, or empty."""
    judging = _Judging(calls, host)
    try:
        await judging.run()
        why = ""
    except NotAllowed:
        why = "It takes a call other than GET, which was not allowed."
    except DryRunUnanswered as problem:
        why = f"Nothing more was sent after a dry run whose outcome is not known: {problem.outcome}"
    except DryRunNotHeeded:
        why = "An answer to a dry run did not say dry_run: true, so nothing more was sent."
        judging.found["dry_run"] = Finding(
            "dry_run",
            "no: an import is real though dry_run is asked for",
            calls=(calls.made[-1].number,),
            value=False,
        )
        # What dry runs showed before is of no use where one of them may be real.
        judging.found.pop("comparing", None)
    return [judging.found.get(name) or Finding(name, why=why or judging.why) for name in _QUESTIONS]


class _Judging:
    """One run of dry runs; `found` holds what they showed, by question."""

    def __init__(self, calls: Calls, host: Mapping[str, Any]) -> None:
        self._calls = calls
        self._host = host
        self.found: dict[str, Finding] = {}
        self.why = "The host could not be read, so no row can be compared with it."

    async def run(self) -> None:
        """Ask all; what cannot be asked is left out of `found`."""
        # An import of nothing shows whether dry_run is heeded, and imports nothing if it is not.
        empty = await self._calls.judge([])
        if empty.succeeded:
            self.found["dry_run"] = _heeded(empty)
        if not self._host:
            await self._new_rows()
            await self._size()
            return
        row = _row_of(self._host)
        same, call = await self._verdict(row)
        if call is None:
            self.why = f"A dry run was refused: {self._calls.made[-1].outcome}."
            return
        self.found.setdefault("dry_run", _heeded(call))
        await self._new_rows()
        if same is not None:
            row, same, call = await self._without_sets(row, same, call)
        self.why = "The answer gives no verdict for a row that equals the host."
        if same is not None:
            await self._compare(row, same, call)
        await self._size()

    async def _without_sets(
        self, row: dict[str, Any], same: Verdict, call: Call
    ) -> tuple[dict[str, Any], Verdict, Call]:
        """Leave sets out of a row where they alone change its verdict.

        The console then keeps them in an order of its own, in which rows are not sent.
        """
        plain = {name: value for name, value in row.items() if not isinstance(value, list)}
        if plain == row:
            return row, same, call
        verdict, asked = await self._verdict(plain)
        if verdict is None or asked is None:
            return row, same, call
        differs = (verdict.status, verdict.id) != (same.status, same.id)
        return (plain, verdict, asked) if differs else (row, same, call)

    async def _verdict(self, row: Mapping[str, Any]) -> tuple[Verdict | None, Call | None]:
        call = await self._calls.judge([row])
        result = _result(call)
        if result is None:
            return None, None
        [verdict] = verdicts(result, 1)
        return (verdict if verdict.matched else None), call

    async def _new_rows(self) -> None:
        """Ask about rows that match no host: their word, and the base of the index."""
        call = await self._calls.judge([{"name": f"{NEW}-{number}"} for number in (1, 2)])
        result = _result(call)
        if result is None:
            return
        self.found.setdefault("dry_run", _heeded(call))
        indexes = [entry.index for entry in result.results]
        base = min((index for index in indexes if index is not None), default=None)
        if base in (0, 1) and sorted(map(str, indexes)) == [str(base), str(base + 1)]:
            self.found["index_base"] = Finding(
                "index_base", str(base), calls=(call.number,), value=base
            )
        words = {entry.status for entry in result.results}
        if result.counts.get("created") == len(indexes) and len(words) == 1:
            [word] = words
            self.found["verdict_created"] = Finding(
                "verdict_created", quoted(word), calls=(call.number,), value=word
            )

    async def _compare(self, row: Mapping[str, Any], same: Verdict, first: Call) -> None:
        """Change one field of the row at a time, and see whether the verdict tells."""
        host_id = self._host["id"]
        self.found["verdict_same"] = Finding(
            "verdict_same", quoted(same.status), calls=(first.number,), value=same.status
        )
        tied = same.id == host_id
        self.found["verdict_ids"] = Finding(
            "verdict_ids",
            "yes: that of the host" if tied else "no" if same.id is None else "of another host",
            calls=(first.number,),
            value=tied,
        )
        told: dict[str, Verdict] = {}
        numbers = [first.number]
        for attribute in _comparable(row):
            verdict, call = await self._verdict({**row, attribute.name: _changed(attribute, row)})
            if verdict is not None and call is not None:
                told[attribute.name] = verdict
                numbers.append(call.number)
        await self._match(row)
        again, last = await self._verdict(row)
        if last is not None:
            numbers.append(last.number)
        self.found["comparing"] = self._comparing(same, again, told, tuple(numbers))
        await self._tags(row, same, told.get("tags"))

    def _comparing(
        self, same: Verdict, again: Verdict | None, told: Mapping[str, Verdict], calls: Any
    ) -> Finding:
        """Recommend the comparison of hosts by dry runs only where everything speaks for it."""

        def no(why: str) -> Finding:
            return Finding("comparing", f"no: {why}", calls=calls, value=False)

        created = self.found.get("verdict_created")
        if same.created or (created is not None and created.value == same.status):
            return no("a row that equals the host would be created, so rows match no host by it")
        if same.id != self._host["id"]:
            return no("the verdict does not say which host the row matches")
        if again is None or (again.status, again.id) != (same.status, same.id):
            return no("the same row got two verdicts")
        shown = [name for name, verdict in told.items() if verdict.status != same.status]
        fields = sorted(name for name in shown if name != "name")
        if "name" not in shown or not fields:
            return no(f"a row that differs gets the verdict {quoted(same.status)} too")
        others = {told[name].status for name in fields if not told[name].created}
        others.discard(created.value if created is not None else None)
        settings: dict[str, Any] = {
            "host_read": "dry_run",
            "host_read_same": same.status,
            "host_read_fields": fields,
        }
        if len(others) == 1:
            settings["host_read_differs"] = min(others)
        words = " or ".join(quoted(word) for word in sorted(others)) or "another"
        return Finding(
            "comparing",
            f"yes: {quoted(same.status)} for the same, {words} where {', '.join(fields)} differ",
            calls=calls,
            value=fields,
            settings=settings,
        )

    async def _match(self, row: Mapping[str, Any]) -> None:
        """Ask by which single field a row with another name still matches the host."""
        keys: list[str] = []
        numbers: list[int] = []
        asked: list[str] = []
        for name in KEYS:
            value = row.get(name)
            if value is None:
                continue
            only = {"name": value} if name == "name" else {"name": f"{NEW}-3", name: value}
            verdict, call = await self._verdict(only)
            if verdict is None or call is None:
                continue
            asked.append(name)
            numbers.append(call.number)
            if verdict.id == self._host["id"]:
                keys.append(name)
        ids = self.found["verdict_ids"].value
        if not ids:
            self.found["matching"] = Finding("matching", why="Verdicts do not name the host.")
        elif asked:
            self.found["matching"] = Finding(
                "matching",
                f"by {' or '.join(keys)} (asked: {', '.join(asked)})",
                calls=tuple(numbers),
                value=keys,
            )

    async def _tags(self, row: Mapping[str, Any], same: Verdict, differing: Verdict | None) -> None:
        """Ask by verdicts alone; they tell only where another tag changes the verdict."""
        tags = row.get("tags") or []
        if differing is None or differing.status == same.status or len(tags) < 2:
            self.found["tags"] = Finding(
                "tags", why="A host with two tags is needed, and verdicts that tell of them."
            )
            return
        ways = {
            "order": list(reversed(tags)),
            "repetition": [*tags, tags[0]],
            "spaces around": [f" {tags[0]} ", *tags[1:]],
        }
        ignored: list[str] = []
        numbers: list[int] = []
        for name, value in ways.items():
            verdict, call = await self._verdict({**row, "tags": value})
            if verdict is not None and call is not None:
                numbers.append(call.number)
                if (verdict.status, verdict.id) == (same.status, same.id):
                    ignored.append(name)
        kept = [name for name in ways if name not in ignored]
        words = [f"{item} ignored" for item in ignored] + [f"{item} kept" for item in kept]
        self.found["tags"] = Finding("tags", ", ".join(words), calls=tuple(numbers), value=ignored)

    async def _size(self) -> None:
        """Find the largest import, up to the size that is sent by default."""
        low, high = 0, MOST_ROWS + 1
        numbers: list[int] = []
        asked = MOST_ROWS
        while high - low > 1:
            call = await self._calls.judge([{"name": f"{NEW}-{row}"} for row in range(asked)])
            numbers.append(call.number)
            if call.succeeded:
                low = asked
            elif call.status in _TOO_LARGE:
                high = asked
            else:
                why = f"An import of {asked} rows was not judged by its size: {call.outcome}."
                self.found["import_size"] = Finding("import_size", why=why)
                return
            asked = (low + high) // 2
        self.found["import_size"] = _size_found(low, tuple(numbers), call.outcome)


def _heeded(call: Call) -> Finding:
    return Finding("dry_run", "yes", calls=(call.number,), value=True)


def _size_found(rows: int, calls: tuple[int, ...], last: str) -> Finding:
    if rows == 0:
        # Not even one row is taken, so it is not the size that is refused.
        return Finding("import_size", why=f"An import of one row was refused too: {last}.")
    if rows == MOST_ROWS:
        return Finding("import_size", f"at least {rows} rows", calls=calls, value=rows)
    return Finding(
        "import_size",
        f"{rows} rows",
        calls=calls,
        value=rows,
        settings={"import_chunk_size": rows},
    )


def _result(call: Call) -> ImportResult | None:
    if not call.succeeded:
        return None
    try:
        return import_result(call.body)
    except WrongShape:
        return None


def _row_of(host: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row that equals a host: the fields that it sets and that can be compared.

    Sets are sorted, as they are where hosts are compared.
    """
    return {
        attribute.name: normalise(attribute, host[attribute.name])
        for attribute in HOST.settable
        if attribute.creatable
        and attribute.name not in _LEFT_OUT
        and not attribute.name.endswith("credential_id")
        and host.get(attribute.name) not in (None, [])
    }


def _comparable(row: Mapping[str, Any]) -> list[Attribute]:
    return [HOST[name] for name in row]


def _changed(attribute: Attribute, row: Mapping[str, Any]) -> Any:
    """Return another value that the field may have."""
    value = row[attribute.name]
    match attribute.kind:
        case Kind.BOOLEAN:
            return not value
        case Kind.INTEGER:
            return value - 1 if value > 1 else value + 1
        case Kind.STRING_SET | Kind.STRING_LIST:
            return [*value, "probe:opsconsole"]
    if attribute.allowed:
        return next(word for word in attribute.allowed if word != value)
    return "192.0.2.254" if attribute.name.endswith("_ip") else f"{value}-probe"
