"""Mutations of valid inputs: of their bytes, and where they are JSON, of their values."""

import json
import random
from typing import Any

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 5, 1e300, 10**30, 1.5, "", "x", "..", "../x y", "\x00", "\ud800",
    "é\u202e\x1b[31m", "x" * 3000, [], {}, [[]], [None], {"": None}, {"a": {"b": []}},
    "${", "${1", "${local.a}", "%{ if true }", "hst_1", "opsconsole_host.a", '"', "\n",
)  # fmt: skip
_DEEP = "nested deeply"
_BYTES = (*(bytes([code]) for code in b'\x00\xff"{}[],\n\\-'), b"9" * 400, b"${")


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return `data` with a few changes, chosen at random."""
    if chance.random() < 0.7:
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            pass
        else:
            for _ in range(chance.randint(1, 3)):
                document = _changed(document, chance)
            text = json.dumps(document, indent=2 if chance.random() < 0.5 else None)
            text = text.replace(json.dumps(_DEEP), "[" * 1500 + "]" * 1500)
            return _twice(text, chance).encode("utf-8", "replace")
    for _ in range(chance.randint(1, 4)):
        data = _changed_bytes(data, chance)
    return data


def _changed(value: Any, chance: random.Random) -> Any:
    """Replace, remove, double or wrap one part of a value, chosen at random."""
    if not isinstance(value, list | dict) or not value or chance.random() < 0.1:
        return _odd(value, chance)
    if isinstance(value, dict):
        name = chance.choice(list(value))
        action = chance.random()
        if action < 0.1:
            return {key: item for key, item in value.items() if key != name}
        if action < 0.2:
            return {**value, str(chance.choice(ODD)): value[name]}
        return {**value, name: _changed(value[name], chance)}
    place = chance.randrange(len(value))
    if chance.random() < 0.15:
        return [*value, *value[place:]]
    return [*value[:place], _changed(value[place], chance), *value[place + 1 :]]


def _odd(value: Any, chance: random.Random) -> Any:
    action = chance.random()
    if action < 0.15:
        return [value]
    if action < 0.25:
        return {"a": value}
    if action < 0.28:
        return _DEEP
    if isinstance(value, str) and value and action < 0.6:
        place = chance.randrange(len(value))
        return value[:place] + str(chance.choice(ODD)) + value[place + chance.randint(0, 2) :]
    return chance.choice(ODD)


def _twice(text: str, chance: random.Random) -> str:
    """Now and then write a member of an object twice."""
    if chance.random() < 0.9 or '": ' not in text:
        return text
    return text.replace('": ', '": 1, "a": ', 1)


def _changed_bytes(data: bytes, chance: random.Random) -> bytes:
    place, length = chance.randint(0, len(data)), chance.randint(0, 8)
    action = chance.random()
    if action < 0.25:
        return data[:place] + data[place + length :]
    if action < 0.5:
        return data[:place] + chance.choice(_BYTES) + data[place:]
    if action < 0.7:
        return data[:place] + chance.randbytes(length) + data[place + length :]
    if action < 0.85:
        return data[:place] + data[place : place + 50] * chance.randint(2, 40) + data[place:]
    return data[:place]
