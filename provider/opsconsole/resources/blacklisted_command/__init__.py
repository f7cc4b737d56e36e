"""Blacklisted commands: their definition, which imports no I/O, and their steps."""
