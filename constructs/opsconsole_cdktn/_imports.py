"""An import whose configuration Terraform generates, in the shape that cdktn asks for."""

from __future__ import annotations

import cdktn
import jsii


@jsii.implements(cdktn.IImportableConfig)
class Import:
    """What is imported: the resource's type, its import id, and the provider to use."""

    def __init__(
        self, type_name: str, import_id: str, provider: cdktn.TerraformProvider | None
    ) -> None:
        self._type_name = type_name
        self._import_id = import_id
        self._provider = provider

    @property
    def terraform_resource_type(self) -> str:
        return self._type_name

    @terraform_resource_type.setter
    def terraform_resource_type(self, value: str) -> None:
        self._type_name = value

    @property
    def import_id(self) -> str:
        return self._import_id

    @import_id.setter
    def import_id(self, value: str) -> None:
        self._import_id = value

    @property
    def provider(self) -> cdktn.TerraformProvider | None:
        return self._provider

    @provider.setter
    def provider(self, value: cdktn.TerraformProvider | None) -> None:
        self._provider = value
