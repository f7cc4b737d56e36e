"""Backends that teams share: one module for each kind, imported only when it is used."""
