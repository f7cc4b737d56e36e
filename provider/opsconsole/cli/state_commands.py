"""`opsconsole state list|show|rm|fold`: what state holds, and how it is mended by hand."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from typing import Any

from opsconsole.cli import arguments, opening, planning
from opsconsole.cli.event_loop import make_runner
from opsconsole.cli.interrupts import run_stoppable
from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.errors import OpsconsoleError, Stopped, UserError
from opsconsole.reconcile.runs import settle_all
from opsconsole.state.addresses import Address
from opsconsole.state.model import State
from opsconsole.state.opening import open_state, read_state
from opsconsole.state.writer import StateSession


def register(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the parser of `opsconsole`."""
    parser = subparsers.add_parser(
        "state",
        help="list, show, forget, or fold in what a crash left",
        description="Look at the state, and mend it by hand.",
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs", required=True)
    listing = verbs.add_parser("list", help="print the addresses in state")
    showing = verbs.add_parser("show", help="print what state holds of one instance")
    removing = verbs.add_parser("rm", help="forget instances; the console keeps them")
    folding = verbs.add_parser(
        "fold", help="take in what an interrupted run left, so that Terraform may go on"
    )
    listing.add_argument("addresses", metavar="ADDRESS", nargs="*", help="only these")
    showing.add_argument("address", metavar="ADDRESS")
    removing.add_argument("addresses", metavar="ADDRESS", nargs="+")
    arguments.flag(removing, "dry-run", "only say what would be forgotten")
    arguments.flag(showing, "no-color", "print without colour")
    arguments.flag(folding, "no-color", "print without colour")
    arguments.option(folding, "parallelism", metavar="N", type=int, help=argparse.SUPPRESS)
    arguments.add_variables(folding)
    for verb, run in ((listing, _list), (showing, _show), (removing, _remove), (folding, _fold)):
        arguments.add_place(verb)
        if verb in (removing, folding):
            arguments.add_locking(verb)
        verb.set_defaults(run=run)


def _list(args: argparse.Namespace) -> int:
    state = read_state(opening.state_backend(args, "state list"))
    found = named(state, args.addresses) if args.addresses else list(state.addresses())
    sys.stdout.writelines(f"{address}\n" for address in found)
    return 0


def _show(args: argparse.Namespace) -> int:
    from opsconsole.reports import state_text

    state = read_state(opening.state_backend(args, "state show"))
    address = Address.parse(args.address)
    if address not in state:
        raise UserError(
            f"{address} is not in the state.", "`opsconsole state list` prints what is."
        )
    sys.stdout.write(state_text.instance(state, address, colour=planning.coloured(args)))
    return 0


def _remove(args: argparse.Namespace) -> int:
    with open_state(opening.state_backend(args, "state rm")) as session:
        planning.tell_folded(session)
        found = named(session.state, args.addresses)
        for address in found:
            if args.dry_run:
                sys.stdout.write(f"Would remove {address}\n")
                continue
            for deposed in (*session.state.deposed(address), ""):
                session.state.remove(address, deposed)
            session.record()
            sys.stdout.write(f"Removed {address}\n")
        if not args.dry_run:
            done = {str(address) for address in found}
            asyncio.run(session.checkpoint())
            session.resolve(call.id for call in session.unresolved if call.address in done)
    verb = "Would remove" if args.dry_run else "Removed"
    noun = "instance" if len(found) == 1 else "instances"
    sys.stdout.write(f"{verb} {len(found)} resource {noun}. The console was not touched.\n")
    return 0


def _fold(args: argparse.Namespace) -> int:
    with open_state(opening.state_backend(args, "state fold")) as session:
        folded = session.folded
        told = _settle(args, session) if session.unresolved else []
        unresolved = list(session.unresolved)
    if folded:
        sys.stdout.write(f"Took in {folded:,} changes of the run that was interrupted.\n")
    else:
        sys.stdout.write("There was nothing to take in: state is up to date.\n")
    planning.show_diagnostics(args, told)
    if unresolved:
        sys.stdout.write(
            f"Of {len(unresolved)} writes nobody knows yet whether they took place:\n"
            + "".join(f"  {call.address}\n" for call in unresolved)
            + "`opsconsole plan` settles what the console can tell.\n"
        )
    return 0


def _settle(args: argparse.Namespace, session: StateSession) -> Sequence[Diagnostic]:
    """Settle the writes of unknown outcome by asking the console, where there is a program.

    What cannot be settled now stays listed: the next plan asks again.
    """
    if not opening.has_program(args):
        return ()
    try:
        program = opening.open_program(args, run_app=False)
        variables = opening.variables_of(args, program)
        space = planning.workspace(args, program, variables, session)
        with make_runner() as runner:
            return run_stoppable(
                runner, lambda interrupts: settle_all(space, session, interrupts.on_stop)
            )
    except Stopped:
        raise
    except OpsconsoleError as problem:
        return (warning("The console could not be asked", str(problem)),)


def named(state: State, texts: Sequence[str]) -> list[Address]:
    """Return the instances that addresses name: themselves, or all of a resource or module.

    Raises:
        UserError: One names nothing in state.
    """
    found: dict[Address, None] = {}
    for text in texts:
        wanted = [item for item in state.addresses() if _is_named(item, text)]
        if not wanted:
            raise UserError(
                f"{text} names nothing in the state.",
                "`opsconsole state list` prints what is there.",
            )
        found.update(dict.fromkeys(wanted))
    return list(found)


def _is_named(address: Address, text: str) -> bool:
    if text.startswith("module.") and address.module:
        whole = address.module
        return whole == text or whole.startswith((f"{text}.", f"{text}[")) or str(address) == text
    parsed = Address.parse(text)
    return parsed in (address, address.resource)
