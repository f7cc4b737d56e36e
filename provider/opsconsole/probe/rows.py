"""The rows that a probe has compared with a host: the equal one, and those that differ. Pure."""

from __future__ import annotations

import ipaddress
import string
from collections.abc import Mapping, Sequence
from typing import Any, Final

from opsconsole.definition import Attribute, Kind
from opsconsole.resources import HOST

KEYS: Final = ("name", "external_id", "unique_id", "mac", "public_ip", "private_ip")
"""The fields by which a row may match a host: each names or places a machine."""
_LEFT_OUT: Final = ("org_id", "jump_host_ids", "is_jump_host")
"""Not compared: another value must name something that exists, or would change who may write."""
_ENTRIES: Final = {
    "tags": ("probe:opsconsole", "probe:another"),
    "eligible_subnets": ("192.0.2.0/24", "198.51.100.0/24"),
    "additional_names": ("opsconsole-probe.invalid", "opsconsole-probe-2.invalid"),
}
"""Entries that each set may hold; two, as a host may have one of them."""
_FEWEST_BOUND: Final = 5
"""The lower of the two array bounds, whose fields the document does not name."""
_SHORTEST_BOUND: Final = 255
"""Characters that some text fields hold at most; which ones, the document does not show."""
_NOWHERE: Final = {4: "192.0.2.254", 6: "2001:db8::fe"}
"""Addresses of no machine, by version (RFC 5737, RFC 3849)."""
_SUFFIX: Final = "-probe"

COMPARABLE: Final = tuple(
    attribute
    for attribute in HOST.settable
    if attribute.creatable
    and attribute.name not in _LEFT_OUT
    and not attribute.name.endswith("credential_id")
)


def row_of(host: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row that equals a host: the fields that it sets and that can be compared.

    Sets are sorted, as they are where hosts are compared.
    """
    return {
        attribute.name: attribute.normalised(host[attribute.name])
        for attribute in COMPARABLE
        if host.get(attribute.name) not in (None, [])
    }


def most_values(attribute: Attribute) -> int:
    """Return how many other values of a field are asked about at most."""
    if attribute.kind.holds_texts:
        return 2
    return 2 if attribute.kind is Kind.STRING and not attribute.allowed else 1


def other_values(attribute: Attribute, value: Any) -> list[list[Any]]:
    """Return other values that a field may have.

    Returns:
        For each way to differ the values to ask about: the next one where the console refuses the
        one before. A set differs in two ways, as an import may add entries and take none away.
    """
    match attribute.kind:
        case Kind.BOOLEAN:
            return [[not value]]
        case Kind.INTEGER:
            low = attribute.minimum or 0
            return [[value - 1 if value > low else value + 1]]
        case Kind.STRING_SET | Kind.STRING_LIST:
            return [[_with_another(attribute.name, value)], [value[:-1]]]
    if attribute.allowed:
        return [[next(word for word in attribute.allowed if word != value)]]
    found = [_elsewhere(value) if attribute.name.endswith("_ip") else _suffixed(value)]
    similar = _similar(value)
    return [found if similar is None or similar in found else [*found, similar]]


def _with_another(name: str, value: Sequence[str]) -> list[str]:
    entry = next(entry for entry in _ENTRIES[name] if entry not in value)
    # A set that may be as large as a bound allows takes no further entry.
    kept = value if len(value) < _FEWEST_BOUND else value[:-1]
    return [*kept, entry]


def _elsewhere(value: str) -> str:
    """Return an address of no machine; a text that is not an address gets a suffix."""
    try:
        found = _NOWHERE[ipaddress.ip_address(value).version]
    except ValueError:
        return _suffixed(value)
    return found if found != value else _similar(value) or _suffixed(value)


def _suffixed(value: str) -> str:
    """Return a text that ends otherwise, and is no longer than a bound allows."""
    kept = value if len(value) + len(_SUFFIX) <= _SHORTEST_BOUND else value[: -len(_SUFFIX)]
    return kept + (_SUFFIX if kept + _SUFFIX != value else _SUFFIX[::-1])


def _similar(value: str) -> str | None:
    """Return a text of the same form: one digit or hexadecimal letter is another one."""
    for place in range(len(value) - 1, -1, -1):
        letter = value[place]
        for letters in (string.digits, "abcdef", "ABCDEF"):
            if letter in letters:
                other = letters[letters.index(letter) - 1] if letter != letters[0] else letters[1]
                return value[:place] + other + value[place + 1 :]
    return None
