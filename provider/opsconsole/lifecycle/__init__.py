"""The common part of the steps of all resources, for both engines.

The requests and outcomes of lifecycles are in `interface`. Nothing here knows Terraform's protocol,
state files, programs or any one resource.
"""
