"""The common part of the steps of all resources, for both engines.

The requests and outcomes of lifecycles are in `interface`. Nothing here knows a resource,
Terraform's protocol, state files or programs.
"""
