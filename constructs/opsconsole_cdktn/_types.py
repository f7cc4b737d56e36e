"""Names for the longer types of cdktn's own arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import cdktn

Connection: TypeAlias = cdktn.SSHProvisionerConnection | cdktn.WinrmProvisionerConnection
"""How provisioners reach a machine."""

Count: TypeAlias = int | float | cdktn.TerraformCount
"""How many of a construct there are."""

Lifecycle: TypeAlias = cdktn.TerraformResourceLifecycle | dict[str, Any]
"""Terraform's `lifecycle` block."""

Provisioners: TypeAlias = Sequence[
    cdktn.FileProvisioner | cdktn.LocalExecProvisioner | cdktn.RemoteExecProvisioner
]
"""What runs when a resource is made."""
