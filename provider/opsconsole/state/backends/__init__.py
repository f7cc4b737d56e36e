"""Where teams keep state: one module for each kind of backend, imported only when it is used.

`storage` says what each of them does; `storage_backend` makes a `Backend` of one.
"""
