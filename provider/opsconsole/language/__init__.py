"""The language of synthesised programs: reading, checking and evaluating `*.tf.json` files.

It promises the values that Terraform would come to, and refuses, with one `UserError`, what
Terraform refuses for its form, what only Terraform can run (`unsupported.OnlyTerraform`), and what
asks for more than `bounds` allows. It reads files and states, and never asks a console.

The way in: `sources.load_program`, `graph.build_graph`, `variables.resolve_variables`,
`evaluator.Evaluator`.
"""
