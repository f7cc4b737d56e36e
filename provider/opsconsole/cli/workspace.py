"""`opsconsole workspace list|show|new|select|delete`: Terraform's workspaces, without Terraform."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from opsconsole.cli import opening
from opsconsole.errors import UserError
from opsconsole.state import (
    DEFAULT_WORKSPACE,
    check_workspace_name,
    data_directory,
    read_state,
    workspace_of,
)
from opsconsole.text import plural

_ANY = "any"
"""A placeholder for a workspace when only the place next to it is needed."""


def list_workspaces(args: argparse.Namespace) -> int:
    place = opening.program_directory(args)
    selected = workspace_of(place)
    names = {*_workspaces(args), selected} - {DEFAULT_WORKSPACE}
    for name in (DEFAULT_WORKSPACE, *sorted(names)):
        sys.stdout.write(f"{'*' if name == selected else ' '} {name}\n")
    return 0


def show(args: argparse.Namespace) -> int:
    sys.stdout.write(f"{workspace_of(opening.program_directory(args))}\n")
    return 0


def create(args: argparse.Namespace) -> int:
    name, place = _check_name(args.name), opening.program_directory(args)
    if name in _workspaces(args):
        raise UserError(f'There is a workspace "{name}" already.', "Select it.")
    backend = opening.open_state_backend(args, "workspace new", workspace=name)
    with opening.open_session(args, backend) as session:
        # The empty state makes the workspace appear in the list.
        session.state.raise_serial()
        backend.write(session.state.to_bytes())
    _write_selection(place, name)
    sys.stdout.write(f'Made and selected the workspace "{name}".\n')
    return 0


def select(args: argparse.Namespace) -> int:
    name, place = _check_name(args.name), opening.program_directory(args)
    if name not in _workspaces(args):
        raise UserError(
            f'There is no workspace "{name}".', f"`opsconsole workspace new {name}` makes it."
        )
    _write_selection(place, name)
    sys.stdout.write(f'Selected the workspace "{name}".\n')
    return 0


def delete(args: argparse.Namespace) -> int:
    name, place = _check_name(args.name), opening.program_directory(args)
    if name == DEFAULT_WORKSPACE:
        raise UserError("The workspace default cannot be deleted.")
    if name == workspace_of(place):
        raise UserError(f'The workspace "{name}" is selected.', "Select another one first.")
    if name not in _workspaces(args):
        raise UserError(f'There is no workspace "{name}".')
    backend = opening.open_state_backend(args, "workspace delete", workspace=name)
    opening.check_lockable(args, backend)
    # As in Terraform, the lock also covers the look into the state, which a run may be filling.
    backend.open()
    try:
        # As in Terraform, data sources and outputs are nothing to keep a state for.
        modes = [address.mode for address, _ in read_state(backend).objects()]
        count = modes.count("managed")
        if count and not args.force:
            raise UserError(
                f'The workspace "{name}" holds {plural(count, "object")}.',
                "Destroy them first; --force forgets them, and the console keeps them.",
            )
        backend.delete()
    finally:
        backend.close()
    sys.stdout.write(f'Deleted the workspace "{name}".\n')
    return 0


def _workspaces(args: argparse.Namespace) -> list[str]:
    return opening.open_state_backend(args, "workspace list", workspace=_ANY).workspaces()


def _check_name(name: str) -> str:
    check_workspace_name(name)
    if os.environ.get("TF_WORKSPACE"):
        raise UserError("TF_WORKSPACE names the workspace.", "Unset it to select one here.")
    return name


def _write_selection(place: Path, name: str) -> None:
    notes = data_directory(place)
    notes.mkdir(parents=True, exist_ok=True)
    (notes / "environment").write_text(name)
