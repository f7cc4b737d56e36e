"""Where teams keep state: one module for each kind of backend, imported only when it is used.

`base` documents the interface that they share.
"""
