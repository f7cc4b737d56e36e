"""The common part of the steps of all resources, for both engines.

What passes between an engine and a lifecycle is in `interface`; nothing here knows a resource,
Terraform's protocol, state files or programs.
"""
