"""A state (Terraform's state version 4), indexed by address and edited in memory.

The model keeps text and decodes what is asked for: unknown fields survive in place and order, and
50,000 resources stay small. Files, locks and journals live elsewhere.
"""

from __future__ import annotations

import hashlib
import secrets
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from opsconsole.errors import UserError
from opsconsole.state.notation import Address, decode, join_fields, quote, set_field
from opsconsole.state.objects import (
    InstanceObject,
    ObjectStore,
    StateChange,
    StateOutput,
    mark,
    object_id,
    read_instance,
    read_output,
    with_field,
    write_instance,
    write_output,
)
from opsconsole.state.parse import Parts, parse

_ORDER = (
    "version",
    "terraform_version",
    "serial",
    "lineage",
    "outputs",
    "resources",
    "check_results",
)
_CUT = "\0"


class State:
    """One snapshot. `changed` says whether content differs since `serial` was last raised.

    `on_change`, where set, is called with every change, in the order they are made.
    """

    def __init__(self, parts: Parts) -> None:
        self._fields = parts.fields
        self._outputs = parts.outputs
        self._objects = ObjectStore(parts.resources)
        self.lineage = parts.lineage
        self.serial = parts.serial
        self.changed = False
        self.on_change: Callable[[StateChange], None] | None = None

    @classmethod
    def new(cls, lineage: str = "") -> State:
        """Make an empty state of serial 0, with a lineage of its own unless one is given.

        `terraform_version` is empty, as no release of Terraform has written it: Terraform and
        OpenTofu read that as not known, and compare it with nothing.
        """
        fields = {"version": "4", "terraform_version": '""', "check_results": "null"}
        return cls(Parts(fields, {}, {}, lineage or str(uuid.uuid4()), 0))

    @classmethod
    def parse(cls, data: bytes, source: str = "file") -> State:
        """Read a state file; an empty one is a new state, as it is for core.

        Raises:
            UserError: It is not readable as a state of version 4; `source` names it.
        """
        if not data.strip():
            return cls.new()
        return cls(parse(data, source))

    @property
    def terraform_version(self) -> str:
        """The release of Terraform or OpenTofu that wrote the state; empty: none has."""
        found = decode(self._fields.get("terraform_version", '""'))
        return found if isinstance(found, str) else ""

    @property
    def empty(self) -> bool:
        """Whether there is neither a resource nor an output."""
        return not self._objects and not self._outputs

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, address: Address | str) -> bool:
        return self._objects.text(_address(address)) is not None

    def get(self, address: Address | str, deposed: str = "") -> InstanceObject | None:
        """Return the object at `address`, decoded afresh, or None."""
        address = _address(address)
        text = self._objects.text(address, deposed)
        return None if text is None else read_instance(text, self._objects.provider(address))

    def deposed(self, address: Address | str) -> tuple[str, ...]:
        """Return the deposed keys of an instance, sorted."""
        return self._objects.deposed(_address(address))

    def addresses(self) -> Iterator[Address]:
        """Return the address of every instance once, in core's order."""
        return self._objects.addresses()

    def objects(self) -> Iterator[tuple[Address, str]]:
        """Return address and deposed key (empty: the current object) of every object, in order."""
        return self._objects.objects()

    def put(self, address: Address | str, item: InstanceObject, deposed: str = "") -> None:
        """Set the object at `address`; unknown fields of the one that was there are kept."""
        address = _address(address)
        old = self._objects.text(address, deposed)
        try:
            text = write_instance(item, address.key, deposed, old)
        except RecursionError as error:
            raise UserError(f"The attributes of {address} are nested too deeply.") from error
        self._set(address, deposed, item.provider, text)

    def remove(self, address: Address | str, deposed: str = "") -> None:
        """Remove the object at `address`, if there is one."""
        self._set(_address(address), deposed, "", None)

    def taint(self, address: Address | str, tainted: bool = True) -> None:
        """Mark the current object as tainted, or as not.

        Raises:
            UserError: There is no such object.
        """
        address = _address(address)
        text, provider = self._known(address)
        self._set(address, "", provider, with_field(text, "status", "tainted" if tainted else None))

    def depose(self, address: Address | str, deposed: str = "") -> str:
        """Put the current object aside under `deposed`, or a fresh key, which is returned.

        Raises:
            UserError: There is no such object.
        """
        address = _address(address)
        text, provider = self._known(address)
        deposed = deposed or new_deposed_key()
        self._set(address, deposed, provider, with_field(text, "deposed", deposed))
        self.remove(address)
        return deposed

    def restore(self, address: Address | str, deposed: str) -> None:
        """Make a deposed object the current one again; there must be no current one."""
        address = _address(address)
        provider = self._objects.provider(address)
        text = self._objects.text(address, deposed)
        assert text is not None
        assert address not in self
        self._set(address, "", provider, with_field(text, "deposed", None))
        self.remove(address, deposed)

    def move(self, source: Address | str, target: Address | str) -> None:
        """Give an instance, with its deposed objects, another address.

        Raises:
            UserError: There is nothing at `source`, or something at `target`.
        """
        source, target = _address(source), _address(target)
        if target in self:
            raise UserError(f"{target} is in the state already, so {source} cannot move there.")
        _, provider = self._known(source)
        for deposed in ("", *self.deposed(source)):
            text = self._objects.text(source, deposed)
            if text is not None:
                self._set(target, deposed, provider, with_field(text, "index_key", target.key))
                self.remove(source, deposed)

    @property
    def outputs(self) -> dict[str, StateOutput]:
        """The root outputs, decoded afresh, sorted by name."""
        return {name: read_output(self._outputs[name]) for name in sorted(self._outputs)}

    def set_output(self, name: str, output: StateOutput | None) -> None:
        """Set a root output, or remove it with None."""
        text = None if output is None else write_output(output)
        self.apply(StateChange("output", name, text))

    def apply(self, change: StateChange) -> None:
        """Make a change that was made in another state; making it twice does no harm."""
        if change.kind == "instance":
            address = Address.parse(change.address)
            self._set(address, change.deposed, change.provider, change.image)
        elif self._outputs.get(change.address) != change.image:
            if change.image is None:
                del self._outputs[change.address]
            else:
                self._outputs[change.address] = change.image
            self.changed = True
            if self.on_change is not None:
                self.on_change(change)

    def image(self, address: Address | str, deposed: str = "") -> str | None:
        """Return the text of an object, or None."""
        return self._objects.text(_address(address), deposed)

    def raise_serial(self) -> int:
        """Raise the serial if content changed since the last call, and return it."""
        if self.changed:
            self.serial += 1
            self.lineage = self.lineage or str(uuid.uuid4())
            self.changed = False
        return self.serial

    def copy(self) -> State:
        """Return a state that can be edited without this one or its listener noticing."""
        twin = State(Parts(dict(self._fields), dict(self._outputs), {}, self.lineage, self.serial))
        twin._objects = self._objects.copy()
        twin.changed = self.changed
        return twin

    def snapshot(self) -> Snapshot:
        """Take the text of the file as it is now; later edits do not touch it."""
        header = dict(self._fields)
        outputs = [(name, self._outputs[name]) for name in sorted(self._outputs)]
        for name, raw in (
            ("serial", str(self.serial)),
            ("lineage", quote(self.lineage)),
            ("outputs", join_fields(outputs, 2)),
            ("resources", "[]"),
        ):
            header = set_field(header, name, raw, _ORDER)
        return Snapshot(header, self._objects.pieces())

    def to_bytes(self) -> bytes:
        """Return the text of the file."""
        return "".join(self.snapshot().pieces()).encode()

    def digest(self) -> str:
        """Return a digest of the content: everything but serial, lineage and release."""
        return self.snapshot().digest()

    def _known(self, address: Address) -> tuple[str, str]:
        text = self._objects.text(address)
        if text is None:
            raise UserError(f"{address} is not in the state.")
        return text, self._objects.provider(address)

    def _set(self, address: Address, deposed: str, provider: str, text: str | None) -> None:
        old = self._objects.text(address, deposed)
        if not self._objects.set(address, deposed, provider, text):
            return
        self.changed = True
        if self.on_change is not None:
            known = object_id(old), mark(old)
            self.on_change(StateChange("instance", str(address), text, provider, deposed, *known))


def new_deposed_key() -> str:
    """Return a key under which an object may be put aside."""
    return secrets.token_hex(4)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The text of a state at one moment: its header, and its resources in pieces."""

    _header: dict[str, str]
    _resources: list[str]

    def pieces(self) -> list[str]:
        """Return the text of the file in pieces."""
        whole = join_fields({**self._header, "resources": _CUT}.items(), 0)
        before, _, after = whole.partition(_CUT)
        return [before, *self._resources, f"{after}\n"]

    def digest(self) -> str:
        """Return a digest of the content: everything but serial, lineage and release."""
        digest = hashlib.blake2b(digest_size=16)
        rest = [item for item in sorted(self._header.items()) if item[0] not in _ORDER[:4]]
        digest.update(join_fields(rest, 0).encode())
        for batch in encoded(self._resources):
            digest.update(batch)
        return digest.hexdigest()


def encoded(pieces: Sequence[str]) -> Iterator[bytes]:
    """Encode pieces in batches: far fewer bytes at once than the whole."""
    for start in range(0, len(pieces), 4096):
        yield "".join(pieces[start : start + 4096]).encode()


def _address(address: Address | str) -> Address:
    return Address.parse(address) if isinstance(address, str) else address
