"""The bulk import of hosts: the envelope, its options, and the result."""

from __future__ import annotations

from typing import Any

from opsconsole.emulator.checks import json_object
from opsconsole.emulator.console import Answer, ConsoleRequest, EmulatedConsole
from opsconsole.emulator.host_rows import Batch, ImportedRow, csv_rows
from opsconsole.emulator.profile import Profile
from opsconsole.emulator.refusal import Refusal, invalid, malformed


def run(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """POST /api/v1/hosts/batch: status 200 even when every row failed."""
    profile = console.profile
    console.check_query(call.query, (profile.dry_run_parameter, profile.on_error_parameter))
    envelope = _envelope(call, profile)
    rows = envelope["rows"]
    on_error = _option(console, call, envelope, "on_error")
    dry_run = _option(console, call, envelope, "dry_run") == "true" and profile.honours_dry_run
    if profile.max_rows is not None and len(rows) > profile.max_rows:
        raise Refusal(
            profile.too_many_rows_status,
            "BAD_REQUEST",
            f"an import takes at most {profile.max_rows} rows",
            "rows",
            details={"max_rows": profile.max_rows, "rows": len(rows)},
        )
    batch = Batch(console, call, dry_run)
    stopped = False
    verdicts: list[ImportedRow] = []
    for row in rows:
        if stopped:
            verdicts.append(ImportedRow("skipped", None, "not tried: an earlier row failed"))
            continue
        verdict = batch.judge(row)
        verdicts.append(verdict)
        if verdict.outcome == "failed" and on_error == "stop":
            stopped = True
            if not profile.lists_rows_after_stop:
                break
    return Answer(_result(console, verdicts, dry_run, stopped))


def _option(
    console: EmulatedConsole, call: ConsoleRequest, envelope: dict[str, Any], name: str
) -> str:
    profile = console.profile
    allowed = ("true", "false") if name == "dry_run" else ("stop", "continue")
    parameter = profile.dry_run_parameter if name == "dry_run" else profile.on_error_parameter
    in_query = call.query.get(parameter)
    in_body = envelope.get(name)
    if type(in_body) is bool and name == "dry_run":
        in_body = "true" if in_body else "false"
    for where, value in ((parameter, in_query), (name, in_body)):
        if value is not None and value not in allowed:
            raise malformed(f"{where} must be one of {allowed}", where)
    order = (in_query, in_body) if profile.query_overrides else (in_body, in_query)
    first, second = order
    default = "false" if name == "dry_run" else profile.on_error_default
    return str(first if first is not None else second if second is not None else default)


def _envelope(call: ConsoleRequest, profile: Profile) -> dict[str, Any]:
    if call.content_type == "text/csv":
        return {"rows": csv_rows(call.body, profile)}
    envelope = json_object(call.body, required=True)
    if type(envelope.get("rows")) is not list:
        raise invalid([("rows", "must be an array")])
    return envelope


def _result(
    console: EmulatedConsole, verdicts: list[ImportedRow], dry_run: bool, stopped: bool
) -> dict[str, Any]:
    profile = console.profile
    words = {
        "created": profile.dry_run_created_word if dry_run else "created",
        "updated": profile.updated_word,
        "skipped": profile.skipped_word,
        "failed": profile.failed_word,
    }
    counts = {"created": 0, "updated": 0, "skipped": 0, "failed": 0}
    results = []
    for index, verdict in enumerate(verdicts, profile.index_base):
        counts[verdict.outcome] += 1
        entry: dict[str, Any] = {"index": index, "status": words[verdict.outcome]}
        console.rendering.optional(entry, "id", verdict.row_id)
        console.rendering.optional(entry, "error", verdict.error)
        results.append(entry)
    return {
        "object": "import_result",
        "dry_run": dry_run,
        "stopped": stopped,
        "counts": counts,
        "results": results,
    }
