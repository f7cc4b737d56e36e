"""Writes constructs, reference pages and JSON Schemas from the definitions and models."""
