"""The steps that all resources share, for both engines.

`interface` defines their requests and outcomes. Nothing here knows Terraform's protocol, state
files, programs or any one resource.
"""
