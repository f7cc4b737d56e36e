"""Calls of unknown outcome, as a run that ended leaves them in its journal."""

from collections.abc import Sequence
from pathlib import Path

from opsconsole.state import Intent, State
from opsconsole.state.journal import Base, decode_lines, encode_records, open_intents
from opsconsole.working_directory import journal_of

PROVIDER = 'provider["registry.terraform.io/opsconsole/opsconsole"]'


def calls_left(state_file: Path) -> list[Intent]:
    """Return the calls that the journal beside a state names."""
    journal = journal_of(state_file)
    if not journal.exists():
        return []
    return open_intents(decode_lines(journal.read_bytes().rstrip(b"\0"), "journal")[0])


def leave_calls(state_file: Path, calls: Sequence[Intent]) -> None:
    """Leave these calls behind, and those that were left before."""
    held = State.parse(state_file.read_bytes() if state_file.exists() else b"")
    base = Base("left", held.lineage, held.serial, held.digest(), held.empty)
    records = encode_records([base, *calls_left(state_file), *calls])
    journal_of(state_file).write_bytes(records)
