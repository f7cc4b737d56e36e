"""Terraform's state files, version 4: model, locks, backends, and the journal beside them.

Every recorded change is in the state or in its journal, however the run ends. Nothing is written
without the lock, and the writes of others are never overwritten. A state that is damaged, newer,
locked or moved away is refused with one `UserError`. Resources are known by their addresses only.

Start with `backend_for`, then `open_state` for a session or `read_state`. Other packages import
the names of this package, not its modules.
"""

from __future__ import annotations

from opsconsole.local_terraform import ConfiguredBackend, data_directory, noted_backend
from opsconsole.state.address import (
    Address,
    InstanceKey,
    config_address,
    deposed_name,
    format_key,
    instance_of,
    is_name,
    split_deposed,
)
from opsconsole.state.backend import (
    DEFAULT_WORKSPACE,
    Backend,
    LocalBackend,
    RunOptions,
    UnreadableBackend,
)
from opsconsole.state.files import replace_durably
from opsconsole.state.journal import Intent
from opsconsole.state.lock import LockInfo, Locking, info_file
from opsconsole.state.model import State
from opsconsole.state.objects import (
    InstanceObject,
    StateOutput,
    WrittenNumber,
    decode,
    encode,
    lay_out,
    paths_to_state,
)
from opsconsole.state.opening import (
    backend_for,
    is_as_stored,
    must_encrypt_states,
    open_state,
    read_foreign,
    read_state,
    read_stored,
)
from opsconsole.state.place import (
    check_workspace_name,
    expression_in,
    is_native_backend,
    workspace_of,
)
from opsconsole.state.session import StateSession

__all__ = [
    "DEFAULT_WORKSPACE",
    "Address",
    "Backend",
    "ConfiguredBackend",
    "InstanceKey",
    "InstanceObject",
    "Intent",
    "LocalBackend",
    "LockInfo",
    "Locking",
    "RunOptions",
    "State",
    "StateOutput",
    "StateSession",
    "UnreadableBackend",
    "WrittenNumber",
    "backend_for",
    "check_workspace_name",
    "config_address",
    "data_directory",
    "decode",
    "deposed_name",
    "encode",
    "expression_in",
    "format_key",
    "info_file",
    "instance_of",
    "is_as_stored",
    "is_name",
    "is_native_backend",
    "lay_out",
    "must_encrypt_states",
    "noted_backend",
    "open_state",
    "paths_to_state",
    "read_foreign",
    "read_state",
    "read_stored",
    "replace_durably",
    "split_deposed",
    "workspace_of",
]
