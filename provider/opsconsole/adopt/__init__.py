"""Taking over what a console holds: objects are read, and written as a program that imports them.

Nothing is written to the console. What a program may say is known to the modules that write one;
`found` reads.
"""
