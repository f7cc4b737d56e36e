"""`opsconsole adopt`: write a program that imports the console's objects."""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from opsconsole.adopt.declarations import declare_objects
from opsconsole.adopt.fleet_rows import fleet_rows
from opsconsole.adopt.programs import hcl_program, python_program, remarks_of
from opsconsole.adopt.reading import (
    ConsoleContents,
    ObjectId,
    list_ids,
    match_inventory,
    parse_object_id,
    read_objects,
)
from opsconsole.cli import opening
from opsconsole.cli.host_rows import read_rows, read_text
from opsconsole.cli.interrupts import Interrupts, make_runner, run_stoppable
from opsconsole.drift.stack import state_objects
from opsconsole.errors import UserError
from opsconsole.local_terraform import cli_of
from opsconsole.reconcile.providers import provider_key_of
from opsconsole.resources import RESOURCES
from opsconsole.resources.host.file_import import FileRows
from opsconsole.resources.lifecycles import ConfiguredProvider
from opsconsole.text import first_items, first_lines, plural
from opsconsole.user_files import check_writable, write_named
from opsconsole.v1.operations import OPERATIONS, documented_for, missing_operation
from opsconsole.v1.settings import Settings

_DECLARED: Final = re.compile(r'"opsconsole_\w+"\s+"([^"\s]+)"\s*{')
"""The head of a resource or data block in Terraform's language, with its name."""


def run(args: argparse.Namespace) -> int:
    path = args.output or Path("adopted.tf" if args.hcl else "adopted.py")
    _check_suffix(path, hcl=args.hcl)
    data = _rows_file(args, path)
    for file in (path, data):
        if file is None or str(file) == "-":
            continue
        if file.exists():
            raise UserError(
                f"{file} exists already.", "Name another file with --output, or move it away."
            )
        check_writable(file)
    if str(path) != "-":
        _refuse_second_program(path.parent, hcl=args.hcl)
    ids = [
        parse_object_id(text) for text in (*args.ids, *(_read_ids(args.file) if args.file else ()))
    ]
    rows = read_rows(args.inventory) if args.inventory else None
    settings, _ = opening.read_settings(args)
    managed = _read_managed_objects(args, settings.base_url)
    if rows is not None and settings.org_id:
        rows = rows.of_org(settings.org_id)
    with make_runner() as runner:
        contents = run_stoppable(
            runner, lambda interrupts: _read_console(settings, ids, rows, managed, interrupts)
        )
    for remark in contents.remarks:
        sys.stderr.write(f"{remark}\n")
    if not contents.objects:
        sys.stderr.write("There is nothing to import, and no program is written.\n")
        return 0
    beside = _read_module(path) if args.hcl else ""
    declared = declare_objects(contents, taken=_DECLARED.findall(beside))
    if not declared:
        reasons = first_lines([f"  {item.import_id}: {item.reason}" for item in contents.objects])
        summary = "\n".join(["None of the objects could be read:", *reasons])
        raise UserError(summary, "No program is written.")
    remarks = remarks_of(contents)
    if args.hcl:
        requires = "required_providers" not in beside
        text = hcl_program(declared, remarks, settings.base_url, requires=requires)
    elif data is not None:
        table = fleet_rows(declared)
        write_named(data, json.dumps(table, indent=2, ensure_ascii=False) + "\n")
        text = python_program(declared, remarks, settings.base_url, args.framework, data.name)
    else:
        text = python_program(declared, remarks, settings.base_url, args.framework)
    if str(path) == "-":
        sys.stdout.write(text)
    else:
        write_named(path, text)
    unread = sum(bool(item.reason) for item in contents.objects)
    sys.stderr.write(
        f"{_count_by_type(item.type_name for item in declared)} to import."
        f"{f' {unread} could not be read.' if unread else ''}\n"
    )
    if str(path) != "-":
        sys.stderr.write(_next_step(args, path))
    return 0


def _check_suffix(path: Path, *, hcl: bool) -> None:
    program, suffixes = ("HCL", (".tf", ".tofu")) if hcl else ("Python", (".py",))
    if str(path) != "-" and path.suffix not in suffixes:
        raise UserError(
            f"{path} would hold {program}, and its name does not end in {' or '.join(suffixes)}.",
            "Name another file with --output.",
        )


def _rows_file(args: argparse.Namespace, path: Path) -> Path | None:
    if not args.fleet:
        return None
    if args.hcl or str(path) == "-":
        other = "--hcl" if args.hcl else "--output -"
        raise UserError(
            f"--fleet writes a Python program and a file beside it, and {other} leaves no place "
            "for the file.",
            "Give one of the two.",
        )
    rows = path.with_suffix(".json")
    if rows.name == "cdktf.json" or rows.name.endswith(".tf.json"):
        raise UserError(
            f"--fleet writes its rows to {rows}, and a file of that name is read as a program.",
            "Name another file with --output.",
        )
    return rows


def _refuse_second_program(folder: Path, *, hcl: bool) -> None:
    """Refuse a folder with a program of another form: commands there would change their meaning."""
    app = [folder / name for name in ("cdktf.json", "cdktf.out/manifest.json")]
    # A cdktf.json keeps naming its own program, even beside other Python files.
    files = [] if app[0].exists() else [*folder.glob("*.tf"), *folder.glob("*.tf.json"), app[1]]
    existing = sorted(str(file) for file in (app if hcl else files) if file.exists())
    if existing:
        raise UserError(
            f"{first_items(existing, 3)}: there is a program in this directory already.",
            "Name a file in another directory with --output.",
        )


def _read_module(path: Path) -> str:
    """Return the text of the other files of the module that a file in HCL joins."""
    if str(path) == "-":
        return ""
    patterns = ("*.tf", "*.tofu", "*.tf.json", "*.tofu.json")
    files = sorted(file for pattern in patterns for file in path.parent.glob(pattern))
    return "\n".join(read_text(file) for file in files)


def _next_step(args: argparse.Namespace, path: Path) -> str:
    """Return the next step for the user; write a missing cdktf.json for a Python program."""
    app = path.with_name("cdktf.json")
    where = "" if path.parent == Path() else f" in {path.parent}"
    if args.hcl:
        plan = f"`{cli_of(path.parent).command} plan`{where}"
        return f"{path} declares them: {plan} shows the imports.\n"
    if app.exists():
        return f"{path} declares them: synthesise it to plan the imports.\n"
    write_named(
        app, json.dumps({"language": "python", "app": f"python {shlex.quote(path.name)}"}) + "\n"
    )
    return f"{path} declares them, and {app} runs it: `opsconsole plan`{where} shows the imports.\n"


async def _read_console(
    settings: Settings,
    ids: list[ObjectId],
    rows: FileRows | None,
    managed: set[tuple[str, str]],
    interrupts: Interrupts,
) -> ConsoleContents:
    provider = ConfiguredProvider(settings)
    interrupts.watch(provider)
    try:
        remarks: list[str] = []
        if rows is not None:
            sys.stderr.write(
                f"Asking which of {plural(len(rows.names), 'row')} exist, by dry runs of "
                f"{OPERATIONS['host_import']}, which import nothing.\n"
            )
            matched, remarks = await match_inventory(provider, rows)
            ids = [*ids, *matched]
        elif not ids:
            sys.stderr.write("Reading the list endpoints that the settings name.\n")
            ids, remarks = await list_ids(provider)
        wanted = [one for one in dict.fromkeys(ids) if one not in managed]
        _announce_reads(provider, wanted)
        contents = await read_objects(provider, wanted)
        # Reading an agent also finds its plugins, and some of the plugins may be managed.
        objects = [
            item for item in contents.objects if (item.type_name, item.import_id) not in managed
        ]
        return ConsoleContents(objects, contents.specialties, [*remarks, *contents.remarks])
    finally:
        await provider.close()


def _announce_reads(provider: ConfiguredProvider, wanted: Iterable[ObjectId]) -> None:
    console = provider.session.console
    for type_name, count in Counter(one.type_name for one in wanted).items():
        definition = RESOURCES[type_name]
        operation = missing_operation(definition, "read")
        call = operation if console.has(operation) else str(documented_for(definition, "read"))
        note = ", with an empty body, which changes nothing" if call.startswith("POST") else ""
        sys.stderr.write(f"Reading {_count_by_type([type_name] * count)} by {call}{note}.\n")


def _count_by_type(types: Iterable[str]) -> str:
    counted = Counter(types)
    parts = [
        f"{count:,} {RESOURCES[name].title if count == 1 else RESOURCES[name].plural}"
        for name, count in counted.items()
    ]
    return ", ".join(parts) or "Nothing"


def _read_ids(path: Path) -> list[str]:
    table = csv.DictReader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        rows = list(table)
    except csv.Error as problem:
        raise UserError(f"{path}:{table.reader.line_num}: this is not CSV: {problem}.") from problem
    if "id" not in (table.fieldnames or ()):
        raise UserError(f"{path} has no column `id`.", "Its first line names the columns.")
    ids = [row["id"].strip() for row in rows if row["id"] and row["id"].strip()]
    if not ids:
        # Without any ids, everything in the lists would be adopted. This file does not ask for
        # that.
        raise UserError(
            f"{path} names no ids.",
            "Fill its column `id`, or leave --ids out to adopt what the lists show.",
        )
    return ids


def _read_managed_objects(args: argparse.Namespace, base_url: str) -> set[tuple[str, str]]:
    """Return type and id of each object of a console that the program's state holds."""
    has_program = opening.has_program(args)
    if not (has_program or args.state or Path("terraform.tfstate").exists()):
        return set()
    objects, _ = state_objects("", opening.load_state(args, "adopt"))
    keys = [provider_key_of(item.instance.stored.provider) for item in objects]
    providers = opening.providers_of(args) if has_program else None
    consoles = {key: providers.console_of(key) for key in set(keys)} if providers else {}
    return {
        (item.instance.type_name, str(item.instance.stored_values.get("id")))
        for item, key in zip(objects, keys, strict=True)
        # An object whose console is not known may belong to this one.
        if consoles.get(key, key) in (base_url, key)
    }
