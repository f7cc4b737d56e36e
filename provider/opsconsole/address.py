"""The provider's address as Terraform and OpenTofu know it: in mirrors, in state, in programs.

The only place where a host name of theirs is written.
"""

from __future__ import annotations

LOCAL_NAME = "opsconsole"
"""The local name of the provider in programs."""

SOURCE = "opsconsole/opsconsole"
"""Namespace and type: the `source` of a `required_providers` entry."""

TERRAFORM_HOST = "registry.terraform.io"
"""The host that Terraform reads into a source that names none."""

OPENTOFU_HOST = "registry.opentofu.org"
"""The host that OpenTofu reads into a source that names none."""

DEFAULT_HOSTS = (TERRAFORM_HOST, OPENTOFU_HOST)

FULL_ADDRESS = f"{TERRAFORM_HOST}/{SOURCE}"
"""The address with its host, as state files and mirrors write it."""
