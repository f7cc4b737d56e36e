"""Why an expression could not be evaluated, before it is known whose expression it is.

These do not leave the package: the evaluator turns them into UserError with the construct path.
"""

from __future__ import annotations


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
