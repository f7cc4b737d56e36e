"""Failures of an expression whose owner is not known yet, and bounds on a program's values.

The failures do not leave the package. The evaluator turns them into a UserError with the construct
path.

Terraform has almost no bounds: it answers, or exhausts the machine. Terraform can therefore still
run a program that exceeds a bound. The error says so, and `try` does not catch it.
"""

from __future__ import annotations

from typing import Final

MAX_TEXT: Final = 16 * 2**20
"""Characters in one string."""
MAX_PARTS: Final = 2_000_000
"""The parts that one argument, output or local value may make in all.

Every element is a part, and so are every 16 characters of text.
"""
MAX_INSTANCES: Final = 200_000
"""Instances of one block with `count` or `for_each`."""
MAX_WIDTH: Final = 1_000_000
"""Width and precision in a format; Go's own formats have the same limit."""
MAX_EXPONENT: Final = 4_000
"""Numbers range from 10^-4000 to 10^4000, and their texts are not longer."""
MAX_FILE: Final = 16 * 2**20
"""Bytes of a file that a function reads."""
MAX_PROGRAM: Final = 512 * 2**20
"""Bytes of a file of a program: 200,000 resources fit."""
MAX_NESTING: Final = 100
"""Levels of nested brackets, unary operators, conditionals and quoted templates."""


class ExpressionFailure(Exception):
    """The base class of both failures; `expression` is the failing template, once known."""

    expression: str = ""


class EvaluationError(ExpressionFailure):
    """The expression is wrong, or wrong for these values. `try` and `can` catch it."""


class NotKnownYet(EvaluationError):
    """The value must be known here, but depends on a value that is not known yet."""


class UnsupportedExpression(ExpressionFailure):
    """The expression uses something that Terraform has and this evaluator does not."""


class DependsOnRelease(EvaluationError):
    """The expression is an error up to Terraform 1.11; newer releases and OpenTofu ignore it."""


class BeyondBounds(UnsupportedExpression):
    """A bound is exceeded."""
