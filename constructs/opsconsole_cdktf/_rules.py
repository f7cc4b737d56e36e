"""Checks of an argument's value when a construct is made, without a jsii call.

Tokens pass every rule: only Terraform knows their values. The provider checks the bounds at plan
time too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import cdktf
from constructs import Construct

from opsconsole.bounds import UNBOUNDED, Bounds
from opsconsole.definition import Kind

_EXPECTED = {
    Kind.STRING: "a string",
    Kind.INTEGER: "a whole number",
    Kind.NUMBER: "a number",
    Kind.BOOLEAN: "True or False",
    Kind.STRING_SET: "a list of strings",
    Kind.STRING_LIST: "a list of strings",
    Kind.STRING_MAP: "a mapping of strings",
}
"""The Python types that an argument's literal value may have, in words."""

_SMALLEST_LITERAL = -1e280
"""cdktf encodes number tokens as floats far below any number that is meant."""

_TOKENS_OF_VARIABLES = {
    Kind.STRING: "string_value",
    Kind.INTEGER: "value",
    Kind.NUMBER: "value",
    Kind.BOOLEAN: "boolean_value",
    Kind.STRING_SET: "list_value",
    Kind.STRING_LIST: "list_value",
    Kind.STRING_MAP: "string_map_value",
}
"""The attribute of `TerraformVariable` that gives the token for each kind of value.

`number_value` would do too, but is typed `int | float`, which a checker refuses for an `int`.
"""

_MEANT = {
    Kind.STRING: ".id",
    Kind.STRING_SET: "a list of .id",
    Kind.STRING_LIST: "a list of .id",
}
"""The probable intention if a resource is given instead of a value."""


TOKEN = re.compile(r"[$#]\{TfToken\[[\w:.-]+\]\}")
"""A text that the framework takes for one of its tokens, at any place."""


def is_token(value: Any) -> bool:
    """Return whether `value` stands for something that only Terraform knows."""
    if isinstance(value, str):
        return "${" in value or value.startswith("#{TfToken[")
    if isinstance(value, float):
        return -math.inf < value < _SMALLEST_LITERAL
    # jsii marks its objects by this attribute. Asking the framework costs a call to Node for each.
    return hasattr(value, "__jsii_ref__") and not isinstance(value, Construct)


def check_value(kind: Kind, bounds: Bounds, value: Any) -> Any:
    """Return `value` as it is synthesised.

    Raises:
        TypeError: It is of another type than `kind` says.
        ValueError: It breaks `bounds`.
    """
    if value is None or is_token(value):
        return value
    if kind in (Kind.STRING_SET, Kind.STRING_LIST):
        return _texts(bounds, value)
    if kind is Kind.STRING_MAP:
        return _text_map(value)
    if not _is_literal(kind, value):
        raise wrong_type(kind, value)
    if bounds is not UNBOUNDED and (violation := bounds.check(value)):
        hint = f", did you mean {violation.suggestion!r}?" if violation.suggestion else ""
        raise ValueError(f"{violation.problem}: {violation.expected}{hint}")
    return int(value) if kind is Kind.INTEGER else value


def wrong_type(kind: Kind, value: Any) -> TypeError:
    """Return the error for a literal that is not of `kind`, with a guess at the intended value."""
    is_no_number = isinstance(value, float) and not math.isfinite(value)
    got = f"got {value if is_no_number else type(value).__name__}"
    if isinstance(value, cdktf.TerraformVariable):
        return TypeError(f"{got}, did you mean .{_TOKENS_OF_VARIABLES[kind]}?")
    if not isinstance(value, Construct):
        return TypeError(f"expected {_EXPECTED[kind]}, {got}")
    if hasattr(type(value), "id") and kind in _MEANT:
        return TypeError(f"{got}, did you mean {_MEANT[kind]}?")
    return TypeError(f"expected {_EXPECTED[kind]}, {got}: a construct is not a value")


def _is_literal(kind: Kind, value: Any) -> bool:
    if kind is Kind.STRING:
        return isinstance(value, str)
    if kind is Kind.BOOLEAN:
        return isinstance(value, bool)
    # In Python, a bool is an int.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # An int may be too large for a float, as which `isfinite` takes it.
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return kind is Kind.NUMBER or value == value // 1


def _texts(bounds: Bounds, value: Any) -> list[Any]:
    # A text would pass for a list of its characters, and a mapping for a list of its keys.
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise wrong_type(Kind.STRING_LIST, value)
    texts = [_check_text(bounds, item) for item in value]
    # A set has another order in each run, and the synthesised program would differ.
    return sorted(texts, key=str) if isinstance(value, (set, frozenset)) else texts


def _text_map(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise wrong_type(Kind.STRING_MAP, value)
    return {str(key): _check_text(UNBOUNDED, item) for key, item in value.items()}


def _check_text(bounds: Bounds, value: Any) -> Any:
    # None leaves an argument out, and there is nothing to leave out here.
    if value is None:
        raise wrong_type(Kind.STRING, value)
    return check_value(Kind.STRING, bounds, value)
