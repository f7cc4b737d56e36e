"""The command `opsconsole`: one module a subcommand, and what they alone share."""
