"""Adopts a console's objects: reads the objects, and writes a program that imports them.

Nothing is written to the console. `found` reads, and only the modules that write programs know
their form.
"""
