"""Adopting a console's objects: they are read, and written as a program that imports them.

Nothing is written to the console. The form of a program is known to the modules that write one;
`found` reads.
"""
