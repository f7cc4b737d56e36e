"""A console for development, the demo and tests, built from the API document.

It knows nothing of the provider: what it does is read from the document alone, and what the
document calls "not shown" is a switch.
"""
