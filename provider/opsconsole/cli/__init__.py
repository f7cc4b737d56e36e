"""The command `opsconsole`: one module for each subcommand, and their shared modules."""
