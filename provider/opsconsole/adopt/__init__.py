"""Adopts a console's objects: reads the objects, and writes a program that imports them.

Nothing is written to the console. `reading` reads, and only `programs` and `fleet_rows` know the
form of a program.
"""
