"""`opsconsole state`, `import` and `force-unlock`: show state and edit it by hand.

Modules that call the console are imported on demand: most verbs need only the state.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from opsconsole.cli import opening
from opsconsole.cli.standard_streams import ask, pen_for
from opsconsole.diagnostics import Diagnostic, has_error, warning
from opsconsole.errors import OpsconsoleError, Stopped, UserError
from opsconsole.lifecycle.private_state import is_sentinel
from opsconsole.state import Address, State, StateSession, deposed_name
from opsconsole.text import plural, suggest_address
from opsconsole.user_files import read_named


def list_addresses(args: argparse.Namespace) -> int:
    state = opening.load_state(args, "state list")
    addresses = (
        match_addresses(state, args.addresses) if args.addresses else list(state.addresses())
    )
    sys.stdout.writelines(f"{address}\n" for address in addresses)
    return 0


def show(args: argparse.Namespace) -> int:
    from opsconsole.reports import state_formats

    state = opening.load_state(args, "state show")
    address = Address.parse(args.address)
    if address not in state:
        if deposed := state.deposed_keys(address):
            names = ", ".join(deposed_name(str(address), key) for key in deposed)
            raise UserError(
                f"{address} has no current object, only {names}.",
                "`opsconsole show` prints deposed objects too.",
            )
        raise UserError(f"{address} is not in the state.", _nearest_address(state, args.address))
    sys.stdout.write(state_formats.instance(state, address, pen_for(args)))
    return 0


def remove(args: argparse.Namespace) -> int:
    verb = "Would remove" if args.dry_run else "Removed"
    lines = []
    with opening.open_session(args, opening.open_state_backend(args, "state rm")) as session:
        addresses = match_addresses(session.state, args.addresses)
        for address in addresses:
            lines.append(f"{verb} {address}\n")
            deposed = session.state.deposed_keys(address)
            if _is_unsettled(session.state, address):
                # Only the create is given up. The deposed objects exist, and nothing would ever
                # delete them if they left the state too.
                lines += [f"Kept {deposed_name(str(address), k)}\n" for k in deposed]
                deposed = ()
            if args.dry_run:
                continue
            for key in (*deposed, ""):
                session.state.remove(address, key)
            session.record()
        if not args.dry_run:
            done = {str(address) for address in addresses}
            asyncio.run(session.checkpoint())
            session.mark_settled(
                intent.id for intent in session.open_intents if intent.address in done
            )
    count = plural(len(addresses), "resource instance")
    sys.stdout.writelines(lines)
    sys.stdout.write(f"{verb} {count}. The console was not touched.\n")
    return 0


def _is_unsettled(state: State, address: Address) -> bool:
    """Return whether the current object of an instance is a create with an unknown outcome."""
    current = state.get(address)
    return current is not None and is_sentinel(current.attributes.get("id"))


def move(args: argparse.Namespace) -> int:
    with opening.open_session(args, opening.open_state_backend(args, "state mv")) as session:
        target = Address.parse(args.target)
        pairs = _pairs(session.state, args.source, target)
        # All are checked first, so that a refusal moves none. As in Terraform, a whole resource
        # joins no other.
        new_addresses, several = {new for _, new in pairs}, len(pairs) > 1
        for taken in session.state.addresses():
            if taken in new_addresses or (several and taken.resource == target):
                raise UserError(
                    f"{taken} is in the state already, so {args.source} cannot move there.",
                    "Nothing was moved.",
                )
        if not args.dry_run:
            for old, new in pairs:
                session.state.move(old, new)
            session.record()
        asyncio.run(session.checkpoint())
    word = "Would move" if args.dry_run else "Move"
    sys.stdout.writelines(f'{word} "{old}" to "{new}"\n' for old, new in pairs)
    if not args.dry_run:
        sys.stdout.write(f"Successfully moved {len(pairs)} object(s).\n")
    return 0


def _pairs(state: State, source: str, target: Address) -> list[tuple[Address, Address]]:
    """Return the old and new addresses of one instance, or of all instances of a resource."""
    addresses = match_addresses(state, [source])
    if Address.parse(source).type != target.type:
        raise UserError(
            f"{source} and {target} are of different types.", "An object keeps its type."
        )
    if len(addresses) == 1 and (addresses[0].key is None or str(addresses[0]) == source):
        return [(addresses[0], target)]
    if target.key is not None:
        raise UserError(
            f"{source} names {plural(len(addresses), 'instance')}, and {target} names a single "
            "one.",
            "Name a resource.",
        )
    return [(old, target._replace(key=old.key)) for old in addresses]


def pull(args: argparse.Namespace) -> int:
    state = opening.load_state(args, "state pull")
    if not state.empty or state.serial:
        sys.stdout.write(state.to_bytes().decode())
    return 0


def push(args: argparse.Namespace) -> int:
    """Replace the state by a file, which must be its successor unless forced."""
    try:
        data = sys.stdin.buffer.read() if args.file == "-" else read_named(Path(args.file))
    except OSError as problem:
        raise UserError(f"{args.file}: {problem.strerror}.", "Check the path.") from problem
    if not data.strip():
        # It would parse as a new state, with which --force replaces the stored one.
        raise UserError(
            "The input holds no state." if args.file == "-" else f"{args.file} holds no state.",
            "Nothing was changed.",
        )
    pushed = State.parse(data, args.file)
    backend = opening.open_state_backend(args, "state push")
    with opening.open_session(args, backend, quiet=True) as session:
        changes = session.name_lost_changes(pushed)
        if changes and not args.force:
            # Another try is refused too, until the user folds the changes or gives --force.
            session.leave_folded()
            raise UserError(
                f"The pushed state does not hold what an interrupted run did: {changes}.",
                "`opsconsole state fold` adds it to the state that is there, and `opsconsole "
                "state pull` prints the result. --force discards it.",
            )
        if not args.force:
            _check_succession(session.state, pushed)
        intents = session.replace_with(pushed)
    if changes:
        sys.stderr.write(
            f"Warning: The state no longer holds what an interrupted run did: {changes}. The "
            "console was not touched.\n"
        )
    if intents:
        sys.stderr.write(
            f"Warning: It is not known whether these calls of an interrupted run took place, and "
            f"no run will ask any more: {intents}. Look for the objects in the console.\n"
        )
    return 0


def _check_succession(stored: State, pushed: State) -> None:
    remedy = "Nothing was changed. --force writes it anyway."
    if stored.empty and not stored.serial:
        return
    if stored.lineage != pushed.lineage:
        raise UserError(
            f"The lineage of the pushed state, {pushed.lineage}, is not {stored.lineage}.", remedy
        )
    if pushed.serial == stored.serial and pushed.digest() != stored.digest():
        raise UserError(
            f"The state that is there has serial {stored.serial} too, and other content: neither "
            "is newer.",
            remedy,
        )
    if pushed.serial < stored.serial:
        raise UserError(
            f"The state that is there has serial {stored.serial}, the pushed one {pushed.serial}: "
            "it would replace a newer one.",
            remedy,
        )


def fold(args: argparse.Namespace) -> int:
    backend = opening.open_state_backend(args, "state fold")
    with opening.open_session(args, backend, quiet=True) as session:
        folded = session.folded_count
        diagnostics = _settle_intents(args, session) if session.open_intents else []
        unsettled = list(session.open_intents)
    if folded:
        sys.stdout.write(f"Added {plural(folded, 'change')} of the interrupted run to the state.\n")
    else:
        sys.stdout.write("Nothing to add: the state is up to date.\n")
    if diagnostics:
        from opsconsole.cli import planning

        planning.print_diagnostics(args, diagnostics)
    if unsettled:
        sys.stdout.write(
            f"It is not known yet whether {plural(len(unsettled), 'write')} took place:\n"
            + "".join(f"  {intent.address}\n" for intent in unsettled)
            + "`opsconsole plan` asks the console which of them did.\n"
        )
    return 0


def _settle_intents(args: argparse.Namespace, session: StateSession) -> Sequence[Diagnostic]:
    """Settle open intents by asking the console, if there is a program."""
    from opsconsole.cli import planning
    from opsconsole.cli.interrupts import make_runner, run_stoppable
    from opsconsole.reconcile.settle import settle_without_plan

    if not opening.has_program(args):
        return ()
    try:
        program = opening.load_program(args, again=False)
        variables = opening.read_variables(args, program)
        stack = planning.open_stack(args, program, variables, session)
        with make_runner() as runner:
            return run_stoppable(
                runner, lambda interrupts: settle_without_plan(stack, interrupts.watch)
            )
    except Stopped:
        raise
    except OpsconsoleError as problem:
        # Writes that cannot be settled now stay listed, and the next plan asks again.
        return (warning("The console could not be asked", str(problem)),)


def match_addresses(state: State, texts: Sequence[str]) -> list[Address]:
    """Return the instances that addresses name: single ones, or all of a resource or module."""
    matches: dict[Address, None] = {}
    for text in texts:
        wanted = _named_by(state, text)
        if not wanted:
            raise UserError(f"{text} names nothing in the state.", _nearest_address(state, text))
        matches.update(dict.fromkeys(wanted))
    return list(matches)


def _nearest_address(state: State, text: str) -> str:
    near = suggest_address(text, map(str, state.addresses()))
    return near or "`opsconsole state list` prints what is there."


def _named_by(state: State, text: str) -> list[Address]:
    addresses = list(state.addresses())
    may_be_module = text.startswith("module.")
    if may_be_module:
        within = (f"{text}.", f"{text}[")
        in_module = [a for a in addresses if a.module == text or a.module.startswith(within)]
        if in_module:
            return in_module
    try:
        named = Address.parse(text)
    except UserError:
        if may_be_module:
            return []
        raise
    return [address for address in addresses if named in (address, address.resource)]


def import_object(args: argparse.Namespace) -> int:
    from opsconsole.cli import planning
    from opsconsole.cli.interrupts import make_runner, run_stoppable
    from opsconsole.reconcile.imports import import_instance

    address = Address.parse(args.address)
    program = opening.load_program(args)
    variables = opening.read_variables(args, program)
    backend = opening.open_backend(args, program, "import")
    with opening.open_session(args, backend) as session, make_runner() as runner:
        session.begin()
        stack = planning.open_stack(args, program, variables, session)
        diagnostics = run_stoppable(
            runner,
            lambda interrupts: import_instance(stack, address, args.id, interrupts.watch),
        )
    planning.print_diagnostics(args, diagnostics)
    if has_error(diagnostics):
        return planning.failure_code(diagnostics)
    sys.stdout.write(f"Imported {args.id} as {address}.\n")
    return 0


def force_unlock(args: argparse.Namespace) -> int:
    backend = opening.open_state_backend(args, "force-unlock")
    backend.check_force_unlock(args.id)
    question = (
        f"Release the lock of {backend.name}? No other run may be in progress.\n"
        "Only 'yes' is taken as approval: "
    )
    if not args.force and ask(question) != "yes":
        sys.stdout.write("Nothing was released.\n")
        return 1
    backend.force_unlock(args.id)
    sys.stdout.write(f"The state {backend.name} is not locked any more.\n")
    return 0
