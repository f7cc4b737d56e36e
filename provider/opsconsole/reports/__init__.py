"""Renderings of a plan and of a drift report: pure functions from value to text.

Nothing here calls the console, reads a clock or writes a file. Only `notification` sends a text, to
a webhook.
"""
