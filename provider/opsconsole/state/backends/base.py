"""A state that a team shares: locked for the whole run, and fenced at each write.

The journal of a run is a file on this machine. A copy is stored beside the state, so that the next
run finds it from any machine. Each backend's module turns the exceptions of its library into a
`UserError`.
"""

from __future__ import annotations

import hashlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from opsconsole.errors import UserError
from opsconsole.state.backend import DEFAULT_WORKSPACE, Backend, RunOptions, not_locked_error
from opsconsole.state.lock import LockHeld, LockInfo, take_lock
from opsconsole.state.place import LastPlace
from opsconsole.text import parse_bool, quote

_PAUSES: Final = (0.25, 0.5, 1.0, 2.0)
JOURNAL: Final = "opsconsole-journal"
"""The name of a journal's copy beside the state."""
_LARGEST = 2**31 - 1
"""The largest number that a setting may have, up or down."""


class BackendSettings:
    """The settings of one backend, from its block and from Terraform's environment variables.

    Args:
        kind: The backend's type, for messages.
        block: The merged settings of the program, of `-backend-config` and of `terraform init`.
    """

    def __init__(self, kind: str, block: Mapping[str, Any]) -> None:
        self.kind = kind
        self._block = block

    def text(self, name: str, *variables: str, default: str = "") -> str:
        """Return a setting, or else the first of the environment variables that is set."""
        value = self._block.get(name)
        if value not in (None, ""):
            return str(value)
        return next((os.environ[item] for item in variables if os.environ.get(item)), default)

    def need(self, name: str, *variables: str) -> str:
        """Return a setting; UserError if it is neither in the block nor in the environment."""
        value = self.text(name, *variables)
        if not value:
            where = f", in the environment as {variables[0]}" if variables else ""
            raise UserError(
                f"The {self.kind} backend has no `{name}`.",
                f"Set it in the backend's block{where}, or with --backend-config={name}=VALUE.",
            )
        return value

    def flag(self, name: str, *variables: str) -> bool:
        """Return a setting that is on or off; UserError if it is neither."""
        text = self.text(name, *variables)
        value = parse_bool(text) if text else False
        if value is None:
            raise UserError(
                f"`{name}` of the {self.kind} backend is true or false, not {quote(text)}."
            )
        return value

    def number(self, name: str, *variables: str, default: int = 0) -> int:
        """Return a setting as a whole number; UserError if it is none."""
        text = self.text(name, *variables)
        try:
            number = float(text) if text else default
            if abs(number) > _LARGEST:
                raise UserError(f"`{name}` of the {self.kind} backend is too large: {text}.")
            return int(number)
        except ValueError as error:
            raise UserError(
                f"`{name}` of the {self.kind} backend is not a number: {text}."
            ) from error

    def block(self, name: str) -> dict[str, Any]:
        """Return a nested block or map; empty if there is none."""
        nested = self._block.get(name)
        if isinstance(nested, list):
            nested = nested[0] if nested else None
        if not isinstance(nested, Mapping):
            return {}
        return {key: value for key, value in nested.items() if value is not None}

    def texts(self, name: str) -> list[str]:
        """Return a list of strings; empty if there is none."""
        value = self._block.get(name) or []
        return [str(item) for item in value] if isinstance(value, list) else [str(value)]


class LockLost(UserError):
    """This run no longer holds the state, so it may neither send a request nor write any more."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(
            f"This run has lost the lock of the state {name}: {why}. The state is as others left"
            " it, and nothing more is written to it.",
            "Find out who released the lock. Then run again in this directory: what this run did"
            " is in its journal, and the next run adds it to the state.",
        )


class SharedBackend(Backend, ABC):
    """One state of one workspace, from `open` to `close`.

    `read` and `write` remember the version that was last seen, and a write over another version is
    refused. All methods may be called from any thread, but calls of `read`, `write`, `lock` and
    `unlock` never overlap. `lockable` is false if the settings name no lock.
    """

    keeps_journal = True
    lockable = True

    _errors: tuple[type[Exception], ...] = ()
    """The exceptions that the library of this backend raises."""

    def __init__(
        self,
        settings: BackendSettings,
        workspace: str,
        options: RunOptions,
        name: str,
        identity: str = "",
    ) -> None:
        """Set up a backend.

        Args:
            name: The name in messages, such as `s3://bucket/key`.
            identity: Distinguishes the state from every other of this kind, without credentials.
                Empty means that the name is the identity.
        """
        identity = identity or name
        self._place: LastPlace | None = None
        if options.checks_place:
            self._place = LastPlace(options.directory, workspace, settings.kind, name, identity)
            self._place.check()
        own = hashlib.sha256(identity.encode()).hexdigest()[:12]
        folder = (options.journal_folder or options.directory).absolute()
        super().__init__(name, folder / f"{settings.kind}.{workspace}.{own}", options)
        self._settings = settings
        self._workspace = workspace
        self._open = False
        self._client: Any = None
        self._info: LockInfo | None = None
        self._seen: Any = None

    def open(self) -> None:
        """Take the lock, waiting for another holder as long as the user allows.

        Raises:
            LockHeld: Another run holds the lock.
        """
        self.journal.parent.mkdir(parents=True, exist_ok=True)
        # Set first, because `_translating` would otherwise close the connection after each attempt.
        self._open = True
        try:
            if self._locking.lock and self.lockable:
                info = LockInfo.own(self._command, self.name)
                take_lock(lambda: self.lock(info), self._locking, _PAUSES)
        except BaseException:
            self._open = False
            self._disconnect()
            raise

    def read(self) -> bytes:
        """Return the state's bytes; empty if there is no state.

        Raises:
            UserError: The place has no state, but the working directory has one.
        """
        with self._translating("read"):
            data = self._read()
        if not data and self._place is not None:
            self._place.check_nothing_here()
        return data

    def write(self, data: bytes, journal: bytes = b"") -> None:
        """Replace the state, if this run still holds the lock and nobody else wrote the state.

        Raises:
            LockLost: The lock is no longer held, or someone else wrote the state. Nothing was
                overwritten.
            ValueError: The state was not read before.
        """
        if self._seen is None:
            raise ValueError("read first")
        self.check_lock()
        with self._naming_the_journal(), self._translating("write"):
            self._write(data)
        if self._place is not None:
            self._place.note()

    def lock(self, info: LockInfo) -> None:
        """Take the lock, without waiting; LockHeld if another run holds it."""
        with self._translating("lock"):
            self._lock(info)

    def unlock(self) -> None:
        """Release the lock that this run holds. A lock that was lost is left alone."""
        info, self._info = self._info, None
        if info is not None:
            with self._translating("unlock"):
                self._release(info)

    def check_lock(self) -> None:
        """Raise LockLost if the lock no longer excludes other runs."""
        if self._info is not None:
            with self._naming_the_journal(), self._translating("check the lock of"):
                self._check_lock(self._info)

    def unlocked_reason(self) -> str:
        return "" if self.lockable else f"The settings of {self.name} name no lock."

    def force_unlock(self, lock_id: str) -> None:
        holder = self.holder()
        if holder is None:
            raise not_locked_error(self.name)
        with self._translating("unlock"):
            if lock_id not in self._lock_ids(holder):
                raise UserError(
                    f"The state {self.name} is locked by {holder}: the ID {lock_id} is not that of"
                    " the lock.",
                    f"If that run is gone, give its ID: `opsconsole force-unlock {holder.id}`.",
                )
            self._force_unlock(holder._replace(id=lock_id))

    def holder(self) -> LockInfo | None:
        """Return the holder of the lock; None if the lock is free."""
        with self._translating("read the lock of"):
            return self._holder()

    def read_with_journal(self) -> tuple[bytes, bytes]:
        # Read the journal first: changes that leave it meanwhile are in the state by then.
        with self._translating("read the journal of"):
            journal = self._read_journal()
        return self.read(), journal

    def store_journal(self, data: bytes) -> None:
        self.check_lock()
        with self._translating("write the journal of"):
            self._store_journal(data)

    def workspaces(self) -> list[str]:
        with self._translating("list the workspaces of"):
            return [DEFAULT_WORKSPACE, *sorted(self._workspaces() - {DEFAULT_WORKSPACE})]

    def delete(self) -> None:
        with self._translating("delete"):
            self._delete_all()

    def close(self) -> None:
        """Release the lock that `open` took, and close the connections."""
        is_open, self._open = self._open, False
        try:
            if is_open:
                self.unlock()
        except UserError as error:
            error.remedy += (
                " If the state stays locked, the next run shows the ID of the lock: release it "
                "with `opsconsole force-unlock ID`."
            )
            raise
        finally:
            self._disconnect()

    def _read_journal(self) -> bytes:
        raise NotImplementedError

    def _store_journal(self, data: bytes) -> None:
        raise NotImplementedError

    @abstractmethod
    def _read(self) -> bytes: ...

    @abstractmethod
    def _write(self, data: bytes) -> None: ...

    @abstractmethod
    def _lock(self, info: LockInfo) -> None:
        """Take the lock, and set `_info` to the lock that this run holds."""

    @abstractmethod
    def _release(self, info: LockInfo) -> None:
        """Release the lock if it is still the lock of `info`."""

    @abstractmethod
    def _check_lock(self, info: LockInfo) -> None: ...

    @abstractmethod
    def _holder(self) -> LockInfo | None: ...

    @abstractmethod
    def _workspaces(self) -> set[str]: ...

    @abstractmethod
    def _delete_all(self) -> None: ...

    def _force_unlock(self, holder: LockInfo) -> None:
        self._release(holder)

    def _lock_ids(self, holder: LockInfo) -> Sequence[str]:
        """Return the IDs by which a lock may be released by force."""
        return [holder.id]

    def _connect(self) -> Any:
        raise NotImplementedError

    def _use_client(self) -> Any:
        if self._client is None:
            self._client = self._connect()
        return self._client

    def _disconnect(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    @contextmanager
    def _naming_the_journal(self) -> Iterator[None]:
        try:
            yield
        except UserError as error:
            if str(self.journal) not in error.remedy:
                error.remedy += (
                    f" Its journal is {self.journal}."
                    if isinstance(error, LockLost)
                    else f" What this run did is in its journal, {self.journal}: keep that file,"
                    " and run again in this directory."
                )
            raise

    @contextmanager
    def _translating(self, action: str) -> Iterator[None]:
        """Turn a library's error into a `UserError`; close the connection unless a run needs it."""
        try:
            yield
        except self._errors as error:
            raise self._translate_error(action, error) from error
        finally:
            if not self._open and self._info is None:
                self._disconnect()

    def _translate_error(self, action: str, error: Exception) -> UserError:
        said, remedy = self._explain(error)
        stop = "" if said.endswith("?") else "."
        return UserError(f"Cannot {action} the state {self.name}: {said}{stop}", remedy)

    def _explain(self, error: Any) -> tuple[str, str]:
        """Return the message of one of `_errors`, without the full stop, and the remedy."""
        raise NotImplementedError

    def _lock_held(self, holder: LockInfo | None) -> LockHeld:
        unlock = f"`opsconsole force-unlock {holder.id}`" if holder else "`opsconsole force-unlock`"
        remedy = f" If that run is gone, release its lock with {unlock}."
        return LockHeld(self.name, holder, remedy)

    def _lock_lost(
        self, holder: LockInfo | None, otherwise: str = "someone released it"
    ) -> LockLost:
        return LockLost(self.name, f"it is locked by {holder}" if holder else otherwise)

    def _written_by_other(self) -> LockLost:
        return LockLost(self.name, "someone else wrote the state since it was read")


class ObjectBackend(SharedBackend):
    """A state that is an object of a store, with its journal in another object beside it."""

    _object: str
    """The name of the state's object."""

    _stem: str
    """The beginning of its journal's name."""

    def _read_journal(self) -> bytes:
        return self._get(self._journal_name())[0]

    def _store_journal(self, data: bytes) -> None:
        if data:
            self._put(self._journal_name(), data)
        else:
            self._delete(self._journal_name())

    def _read(self) -> bytes:
        data, self._seen = self._get(self._object)
        return data

    def _confirm_lost_answer(self, data: bytes, error: Exception) -> Any:
        """Return the version of a stored state whose first try succeeded and whose second failed.

        Raises:
            LockLost: Another state is stored.
        """
        stored, version = self._get(self._object)
        if stored != data:
            raise self._written_by_other() from error
        return version

    def _delete_all(self) -> None:
        self._delete(self._journal_name())
        self._delete(self._object)

    def _journal_name(self) -> str:
        return f"{self._stem}.{JOURNAL}"

    @abstractmethod
    def _get(self, name: str) -> tuple[bytes, Any]:
        """Return the bytes and the version of an object; empty if there is no object."""

    @abstractmethod
    def _put(self, name: str, data: bytes) -> Any: ...

    @abstractmethod
    def _delete(self, name: str) -> None: ...


def md5_of(data: bytes) -> str:
    """Return the MD5 of a state in hexadecimal, as Terraform and PostgreSQL write it."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def one_line(said: object) -> str:
    """Return a library's message on one line, without a final full stop.

    An error without a message has its type instead.
    """
    # Each line of PostgreSQL's messages is a sentence of its own, often without a full stop.
    lines = re.sub(r"(?<=\w)\s*\n\s*(?=[A-Z])", ". ", str(said))
    return " ".join(lines.split()).rstrip(".") or type(said).__name__


def trusted_file() -> str:
    """Return the file of certificate authorities that the environment names, or ""."""
    # Go reads SSL_CERT_FILE, so Terraform's users set it, but the libraries here do not read it.
    return os.environ.get("SSL_CERT_FILE") or os.environ.get("REQUESTS_CA_BUNDLE") or ""
