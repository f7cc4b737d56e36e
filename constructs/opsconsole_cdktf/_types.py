"""Names for the longer types of cdktf's own arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import cdktf

Connection: TypeAlias = cdktf.SSHProvisionerConnection | cdktf.WinrmProvisionerConnection
"""How provisioners reach a machine."""

Count: TypeAlias = int | float | cdktf.TerraformCount
"""How many of a construct there are."""

Lifecycle: TypeAlias = cdktf.TerraformResourceLifecycle | dict[str, Any]
"""Terraform's `lifecycle` block."""

Provisioners: TypeAlias = Sequence[
    cdktf.FileProvisioner | cdktf.LocalExecProvisioner | cdktf.RemoteExecProvisioner
]
"""What runs when a resource is made."""
