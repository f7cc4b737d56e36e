"""The rows of a bulk import: their reading from CSV, and what becomes of each."""

from __future__ import annotations

import csv
import io
from typing import Any, NamedTuple

from opsconsole.emulator.checks import Check
from opsconsole.emulator.console import ConsoleRequest, EmulatedConsole
from opsconsole.emulator.hosts import missing_jump_hosts, row_checks, stored
from opsconsole.emulator.profile import HOST_SETS, Profile
from opsconsole.emulator.refusal import Refusal, license_cap, malformed
from opsconsole.emulator.store import TENANT
from opsconsole.emulator.table import Row

LISTS = ("additional_names", "tags", "jump_host_ids", "eligible_subnets")
NUMBERS = ("target_port",)
TRUTHS = ("skip_tls_verify", "is_jump_host")
DEFAULTS: Row = {
    "ip_connect_mode": "auto",
    "target_type": "ssh",
    "target_port": 22,
    "skip_tls_verify": False,
    "is_jump_host": False,
}
WINRM_PORT = 5985
MATCHED = {"update": "updated", "skip": "skipped", "fail": "failed"}


class ImportedRow(NamedTuple):
    """What became of one row: one of the four counts, the host's id, and what was wrong."""

    outcome: str
    row_id: str | None = None
    error: str | None = None


def csv_rows(body: bytes, profile: Profile) -> list[dict[str, Any]]:
    """Read a CSV body: the first line names fields.

    The column layout is not shown in the document.
    """
    try:
        text = io.StringIO(body.decode("utf-8-sig"), newline="")
        table = csv.DictReader(text, strict=True, delimiter=profile.csv_delimiter)
        return [_csv_row(row, profile.csv_list_separator) for row in table]
    except (UnicodeDecodeError, csv.Error) as failure:
        raise malformed("the body is not CSV") from failure


def _csv_row(row: dict[str | Any, str | Any], separator: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in row.items():
        if name is None or value in (None, ""):
            continue
        if name in LISTS:
            fields[name] = value.split(separator)
        elif name in NUMBERS and value.isascii() and value.isdigit():
            fields[name] = int(value[:9])
        elif name in TRUTHS and value.lower() in ("true", "false"):
            fields[name] = value.lower() == "true"
        else:
            fields[name] = value
    return fields


class Batch:
    """The rows of one import: what a dry run would have made is remembered for the next row."""

    def __init__(self, console: EmulatedConsole, call: ConsoleRequest, dry_run: bool) -> None:
        self._console = console
        self._call = call
        self._dry_run = dry_run
        self._checks: dict[str, Check] = row_checks(console.profile)
        self._now = console.store.now()
        self._promised: dict[tuple[str, str], str] = {}

    def judge(self, row: Any) -> ImportedRow:
        """Import one row, or say what would become of it."""
        if type(row) is not dict:
            return ImportedRow("failed", None, "the row must be an object")
        given = {name: value for name, value in row.items() if value is not None}
        errors = self._console.errors(given, self._checks)
        if errors:
            return ImportedRow("failed", None, "; ".join(f"{name} {text}" for name, text in errors))
        fields = stored(self._console.profile, given, self._checks)
        if not fields.get("name"):
            return ImportedRow("failed", None, "name is required")
        if missing := missing_jump_hosts(self._console, self._call, fields):
            return ImportedRow("failed", None, f"jump_host_ids names no host: {missing[0]}")
        try:
            return self._settle(fields)
        except Refusal as refusal:
            return ImportedRow("failed", None, f"{refusal.code}: {refusal.message}")

    def _settle(self, fields: Row) -> ImportedRow:
        for name in self._console.profile.match_by:
            value = fields.get(name)
            if value is None:
                continue
            promised = self._promised.get((name, value))
            if promised is not None:
                return ImportedRow(MATCHED[self._console.profile.on_match], promised or None)
            for row in self._console.store.hosts.find(name, value):
                if self._call.principal.sees(row):
                    return self._match(row, fields)
        return self._create(fields)

    def _match(self, row: Row, fields: Row) -> ImportedRow:
        profile = self._console.profile
        shown = None if self._dry_run and profile.dry_run_ids == "none" else row["id"]
        if profile.on_match == "fail":
            return ImportedRow("failed", shown, f"a host {row['name']} exists")
        if profile.on_match == "skip":
            return ImportedRow("skipped", shown)
        self._call.principal.authorize(row.get("org_id"))
        kept = {name: value for name, value in fields.items() if name not in profile.assigns}
        if profile.matched_sets == "merged":
            for name in HOST_SETS:
                if name in kept:
                    kept[name] = list(dict.fromkeys([*(row.get(name) or ()), *kept[name]]))
        if all(row.get(name) == value for name, value in kept.items()):
            return ImportedRow("skipped", shown)
        self._call.principal.authorize(kept.get("org_id") or row.get("org_id"))
        if not self._dry_run:
            self._console.store.hosts.put({**row, **kept, "updated_at": self._now})
        return ImportedRow("updated", shown)

    def _create(self, fields: Row) -> ImportedRow:
        profile, store = self._console.profile, self._console.store
        org_id = fields.get("org_id") or self._call.principal.org_id
        self._call.principal.authorize(org_id)
        if profile.license == "cap_reached":
            raise license_cap()
        if self._dry_run:
            row_id = store.new_id("hst") if profile.dry_run_ids == "all" else ""
            for name in profile.match_by:
                if (value := fields.get(name)) is not None:
                    self._promised[name, value] = row_id
            return ImportedRow("created", row_id or None)
        row: Row = {"id": store.new_id("hst"), "tenant_id": TENANT}
        if profile.fills_defaults:
            row.update(DEFAULTS)
            if fields.get("target_type") == "winrm":
                row["target_port"] = WINRM_PORT
        row.update(fields)
        row["org_id"] = org_id
        for name in profile.assigns:
            row[name] = store.new_id("ext")
        row["created_at"] = row["updated_at"] = self._now
        store.hosts.put(row)
        return ImportedRow("created", row["id"])
