"""The common part of the steps of all resources, for both engines.

The requests and outcomes of lifecycles are in `interface`. Nothing here knows Terraform's protocol,
state files or programs. Of the resources, `session` alone knows some: which hosts and agents are
gone, and the lists that several resources read.
"""
