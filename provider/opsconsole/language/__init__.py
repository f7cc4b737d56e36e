"""The language of synthesised programs: reading, checking and evaluating `*.tf.json` files.

Values are as Terraform computes them. Three things are refused, with one `UserError`: programs
that Terraform refuses for their form, constructs that only Terraform can run (`OnlyTerraform`), and
programs that exceed the bounds. This package reads files and states, and never sends a request to a
console. The caller passes the types that a program may declare (`model.Schemas`).

The entry points are `load_program`, `build_graph`, `resolve_variables` and `Evaluator`. Other
packages import the names of this package, not its modules.
"""

from __future__ import annotations

from opsconsole.language.conversion import to_wire
from opsconsole.language.evaluator import Evaluated, Evaluator, find_mistakes
from opsconsole.language.failures import OnlyTerraform
from opsconsole.language.graph import (
    Graph,
    build_graph,
    check_support,
    named_resources,
    readable_references,
)
from opsconsole.language.json_body import has_duplicate_keys
from opsconsole.language.model import (
    Block,
    Json,
    Moved,
    Output,
    Program,
    Variable,
)
from opsconsole.language.name_resolver import Instance, PresentKeys
from opsconsole.language.nodes import PathStep, Quoted, Reference
from opsconsole.language.reading import (
    ProgramMistakes,
    load_directory,
    read_program,
    readable_part,
)
from opsconsole.language.synthesis import (
    find_node,
    find_output,
    jsii_environment,
    load_program,
    load_stack,
    stacks_of,
)
from opsconsole.language.variables import (
    example_values,
    find_variable_mistakes,
    lasting_values,
    read_backend_options,
    resolve_variables,
    undeclared_warnings,
)

__all__ = [
    "Block",
    "Evaluated",
    "Evaluator",
    "Graph",
    "Instance",
    "Json",
    "Moved",
    "OnlyTerraform",
    "Output",
    "PathStep",
    "PresentKeys",
    "Program",
    "ProgramMistakes",
    "Quoted",
    "Reference",
    "Variable",
    "build_graph",
    "check_support",
    "example_values",
    "find_mistakes",
    "find_node",
    "find_output",
    "find_variable_mistakes",
    "has_duplicate_keys",
    "jsii_environment",
    "lasting_values",
    "load_directory",
    "load_program",
    "load_stack",
    "named_resources",
    "read_backend_options",
    "read_program",
    "readable_part",
    "readable_references",
    "resolve_variables",
    "stacks_of",
    "to_wire",
    "undeclared_warnings",
]
