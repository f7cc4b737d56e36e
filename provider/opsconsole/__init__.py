"""Declare the hosts and agents of an operations console, and keep the console as declared."""

__version__ = "0.1.0"
