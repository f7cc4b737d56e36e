"""What an argument's value may be, checked when a construct is made; no jsii call is made here.

Tokens pass every rule: what they stand for is known to Terraform only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Kind(Enum):
    """The Python types that an argument's literal value may have, in words."""

    TEXT = "a string"
    NUMBER = "a number"
    FLAG = "True or False"
    TEXTS = "a list of strings"
    TEXT_MAP = "a mapping of strings"


@dataclass(frozen=True, slots=True)
class Rule:
    """Bounds of one argument, as far as the console's API attributes them; None: unbounded."""

    allowed: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    hint: str = ""

    def problem(self, value: Any) -> str | None:
        """Say what is wrong with one literal string or number, or None."""
        if isinstance(value, str):
            return self._text_problem(value)
        if self.minimum is not None and value < self.minimum:
            return f"{value} is less than {self.minimum}"
        if self.maximum is not None and value > self.maximum:
            return f"{value} is more than {self.maximum}"
        return None

    def _text_problem(self, text: str) -> str | None:
        if self.allowed and text not in self.allowed:
            return f"{text!r} is none of {', '.join(self.allowed)}"
        if self.min_length is not None and len(text) < self.min_length:
            return f"{text!r} is shorter than {self.min_length} characters"
        if self.max_length is not None and len(text) > self.max_length:
            return f"its {len(text)} characters are more than {self.max_length}"
        if self.pattern is not None and not re.fullmatch(self.pattern, text, re.DOTALL):
            return f"{text!r}: {self.hint}"
        return None


NO_RULE = Rule()

_SMALLEST_LITERAL = -1e280
"""cdktn encodes number tokens as floats far below any number that is meant."""


def is_token(value: Any) -> bool:
    """Tell whether `value` stands for something that only Terraform knows."""
    if isinstance(value, str):
        return "${" in value or value.startswith("#{TfToken[")
    if isinstance(value, float):
        return value < _SMALLEST_LITERAL
    return hasattr(value, "__jsii_ref__")


def checked(kind: Kind, rule: Rule, value: Any) -> Any:
    """Return `value` as it is synthesised.

    Raises:
        TypeError: It is of another type than `kind` says.
        ValueError: It breaks `rule`.
    """
    if value is None or is_token(value):
        return value
    if kind is Kind.TEXTS:
        return _texts(rule, value)
    if kind is Kind.TEXT_MAP:
        return _text_map(value)
    if not _is_literal(kind, value):
        raise TypeError(f"expected {kind.value}, got {type(value).__name__}")
    if rule is not NO_RULE and (problem := rule.problem(value)):
        raise ValueError(problem)
    return value


def _is_literal(kind: Kind, value: Any) -> bool:
    if kind is Kind.TEXT:
        return isinstance(value, str)
    if kind is Kind.FLAG:
        return isinstance(value, bool)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _texts(rule: Rule, value: Any) -> list[Any]:
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise TypeError(f"expected {Kind.TEXTS.value}, got {type(value).__name__}")
    items = sorted(value) if isinstance(value, (set, frozenset)) else list(value)
    return [checked(Kind.TEXT, rule, item) for item in items]


def _text_map(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"expected {Kind.TEXT_MAP.value}, got {type(value).__name__}")
    return {str(key): checked(Kind.TEXT, NO_RULE, item) for key, item in value.items()}
