"""Why an expression could not be evaluated, before it is known whose expression it is; and the
bounds on the size of a program's values.

The failures do not leave the package: the evaluator turns them into a UserError with the construct
path.

Terraform has almost no bounds: it answers, or exhausts the machine. Terraform can still run a
program that exceeds one, so the error says so, and `try` does not catch it.
"""

from __future__ import annotations

from typing import Final

MAX_TEXT: Final = 16 * 2**20
"""Characters in one string."""
MAX_PARTS: Final = 2_000_000
"""What one argument, output or local value may make in all: elements, and 16 characters each."""
MAX_INSTANCES: Final = 200_000
"""Instances of one block with `count` or `for_each`."""
MAX_WIDTH: Final = 1_000_000
"""Width and precision in a format; Go's own formats end here as well."""
MAX_EXPONENT: Final = 4_000
"""Numbers reach from 10^-4000 to 10^4000, and no text of one is longer."""
MAX_FILE: Final = 16 * 2**20
"""Bytes of a file that a function reads."""
MAX_PROGRAM: Final = 512 * 2**20
"""Bytes of a file of a program: 200,000 resources fit."""
MAX_NESTING: Final = 100
"""Brackets, unary operators, conditionals and quoted templates inside of each other."""


class ExpressionFailure(Exception):
    """The root of both failures. `expression` is the template at fault, once it is known."""

    expression: str = ""

    def at(self, expression: str) -> ExpressionFailure:
        """Note the template at fault, unless a smaller one is noted."""
        self.expression = self.expression or expression
        return self


class EvaluationError(ExpressionFailure):
    """The expression is wrong, or wrong for these values. `try` and `can` catch it."""


class NotKnownYet(EvaluationError):
    """The value must be known here, and depends on one that is not known yet."""


class UnsupportedExpression(ExpressionFailure):
    """The expression uses something that Terraform has and this evaluator does not."""


class DependsOnRelease(EvaluationError):
    """Up to Terraform 1.11 the expression is wrong; newer releases and OpenTofu pass over it."""


class BeyondBounds(UnsupportedExpression):
    """A bound is exceeded."""
