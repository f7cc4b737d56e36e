"""The import blocks of a stack. They are written here, and not by cdktf's own `import_from`: that
runs `terraform version` for each import, which takes seconds for each twenty of them, and fails
where no Terraform is installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cdktf
import jsii

_ID = "opsconsole-import-blocks"


class ImportBlocks(cdktf.TerraformElement):
    """What the resources of one stack are imported from.

    Args:
        stack: The stack.
    """

    def __init__(self, stack: cdktf.TerraformStack) -> None:
        self._stack = stack
        self._wanted: dict[Any, tuple[str, cdktf.TerraformProvider | None]] = {}
        super().__init__(stack, _ID)

    def add(self, resource: Any, id: str, provider: cdktf.TerraformProvider | None) -> None:
        """Import a resource; what was said of it before is replaced.

        Args:
            resource: A resource of the stack.
            id: Its import id.
            provider: The provider to import with, where it is not the only one.
        """
        self._wanted[resource] = (id, provider)

    @jsii.member(jsii_name="toTerraform")
    def to_terraform(self) -> Any:
        """Return what this adds to a stack; called by cdktf."""
        return {"import": list(self._blocks())}

    @jsii.member(jsii_name="toHclTerraform")
    def to_hcl_terraform(self) -> Any:
        """Return the same for a stack in Terraform's own language; called by cdktf."""
        return {
            "import": [
                {
                    name: {
                        "value": value,
                        "type": "simple",
                        "storageClassType": "string" if name == "id" else "reference",
                    }
                    for name, value in block.items()
                }
                for block in self._blocks()
            ]
        }

    @jsii.member(jsii_name="toMetadata")
    def to_metadata(self) -> Any:
        """Return which resources are imported, as cdktf notes its own; called by cdktf."""
        names: dict[str, list[str]] = {}
        for resource in self._present():
            names.setdefault(resource.TF_RESOURCE_TYPE, []).append(resource.friendly_unique_id)
        return {"imports": names} if names else {}

    def _blocks(self) -> Iterator[dict[str, str]]:
        for resource in self._present():
            id_, provider = self._wanted[resource]
            block = {
                "to": f"{resource.TF_RESOURCE_TYPE}.{resource.friendly_unique_id}",
                "id": id_,
            }
            yield block if provider is None else {**block, "provider": provider.fqn}

    def _present(self) -> list[Any]:
        present = set(self._stack.node.find_all())  # others were taken out of their scope
        return [resource for resource in self._wanted if resource in present]
