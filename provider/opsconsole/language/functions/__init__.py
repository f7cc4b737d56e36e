"""The functions of the expression language, each as Terraform has it.

Importing a module below adds its functions to the table.
"""

from __future__ import annotations

from opsconsole.language.functions import (  # noqa: F401
    addresses,
    collections,
    encoding,
    files,
    formatting,
    numbers,
    regular_expressions,
    strings,
    times,
)
from opsconsole.language.functions.registry import FUNCTIONS, call, is_known, unknown_function_error

__all__ = ["FUNCTIONS", "call", "is_known", "unknown_function_error"]
