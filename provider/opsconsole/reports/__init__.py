"""Renderings of a plan and of a drift report: pure functions from value to text.

`formats` names them all. Nothing here calls the console, reads a clock or writes a file.
"""
