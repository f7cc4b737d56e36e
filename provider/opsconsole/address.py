"""The address of the provider in mirrors, states and programs of Terraform and OpenTofu.

No other module spells out a registry's host name.
"""

from __future__ import annotations

LOCAL_NAME = "opsconsole"
"""The local name of the provider in programs."""

SOURCE = "opsconsole/opsconsole"
"""Namespace and type: the `source` of a `required_providers` entry."""

TERRAFORM_HOST = "registry.terraform.io"
"""The host that Terraform assumes for a source without one."""

OPENTOFU_HOST = "registry.opentofu.org"
"""The host that OpenTofu assumes for a source without one."""

DEFAULT_HOSTS = (TERRAFORM_HOST, OPENTOFU_HOST)

FULL_ADDRESS = f"{TERRAFORM_HOST}/{SOURCE}"
"""The address with its host, as state files and mirrors write it."""
