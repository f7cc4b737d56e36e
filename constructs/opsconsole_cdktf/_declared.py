"""What every construct of this package has in common: values, tokens and synthesis.

A construct keeps what is declared in Python and hands it to cdktf when it synthesises, so that
making one costs a single jsii call.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import cdktf
import jsii
from constructs import Construct

from opsconsole_cdktf._attributes import Argument, Setting
from opsconsole_cdktf._imports import Import
from opsconsole_cdktf._places import place
from opsconsole_cdktf._trees import Tree, tree_of
from opsconsole_cdktf._triggers import with_readable_triggers

PROVIDER_NAME = "opsconsole"
PROVIDER_SOURCE = "opsconsole/opsconsole"
PROVIDER_VERSION = "~> 0.1"

_METADATA = cdktf.TerraformProviderGeneratorMetadata(
    provider_name=PROVIDER_NAME, provider_version_constraint=PROVIDER_VERSION
)


@cache
def _plain_config(type_name: str) -> cdktf.TerraformResourceConfig:
    return cdktf.TerraformResourceConfig(
        terraform_resource_type=type_name, terraform_generator_metadata=_METADATA
    )


def _config(type_name: str, meta: dict[str, Any]) -> cdktf.TerraformResourceConfig:
    if not meta:
        return _plain_config(type_name)
    return cdktf.TerraformResourceConfig(
        terraform_resource_type=type_name, terraform_generator_metadata=_METADATA, **meta
    )


_PACKAGE = __name__.partition(".")[0]


def _no_such_attribute(construct: Declared, name: str) -> str:
    from difflib import get_close_matches  # only what is wrong needs it

    close = get_close_matches(name, construct._arguments, n=1)
    hint = f", did you mean {close[0]}?" if close else ""
    where = construct.node.path if isinstance(construct, Construct) else type(construct).__name__
    return f"{where}: {type(construct).__name__} has no attribute {name}{hint}"


def given(**values: Any) -> dict[str, Any]:
    """Return those of `values` that are not None."""
    return {name: value for name, value in values.items() if value is not None}


class Declared:
    """A construct's declared values and the tokens that were handed out.

    Stands behind jsii's classes in the order of resolution, as the attributes of each construct
    do: jsii looks through every member that stands before its own classes whenever a construct is
    made, which would take longer than the rest of it.
    """

    _arguments: ClassVar[dict[str, Argument[Any, Any] | Setting[Any]]] = {}
    _scope: Construct
    _tree: Tree
    _values: dict[str, Any]
    _tokens: dict[str, Any]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._arguments = {
            name: member
            for parent in reversed(cls.__mro__)
            for name, member in vars(parent).items()
            if isinstance(member, (Argument, Setting))
        }

    def _declare(self, scope: Construct, id_: str, values: dict[str, Any]) -> None:
        self._scope = scope
        self._tokens = {}
        self._values = {}
        for name, value in values.items():
            self._values[name] = self._checked(name, value, id_)
        self._tree = tree_of(scope)
        self._tree.revision += 1

    def _assign(self, name: str, value: Any) -> None:
        if value is None:
            self._values.pop(name, None)
        else:
            self._values[name] = self._checked(name, value)
        self._tree.revision += 1

    def _checked(self, name: str, value: Any, id_: str | None = None) -> Any:
        try:
            return self._arguments[name].checked(value)
        except (TypeError, ValueError) as failure:
            refused = failure
        if id_ is None:
            where = self.node.path if isinstance(self, Construct) else type(self).__name__
        else:
            where = "/".join(filter(None, (self._scope.node.path, id_)))
        # Raised here, and not while the other is handled: a program's author sees one traceback.
        raise type(refused)(f"{where}: {name}: {refused}")

    if not TYPE_CHECKING:  # a type checker would take it for leave to assign to any name

        def __setattr__(self, name: str, value: Any) -> None:
            """Refuse names that the construct has not: they would be dropped in silence."""
            if (
                name.startswith("_")
                or hasattr(type(self), name)
                or type(self).__module__.partition(".")[0] != _PACKAGE
            ):
                object.__setattr__(self, name, value)
            else:
                raise AttributeError(_no_such_attribute(self, name))

    def _hcl_attributes(self) -> dict[str, Any]:
        # cdktf guesses the notation of everything but a map.
        return {
            name: {"value": value, "type": "map", "isBlock": False, "storageClassType": "anyMap"}
            if isinstance(value, dict)
            else value
            for name, value in self._values.items()
        }


class Resource(cdktf.TerraformResource, Declared):
    """A resource of the console."""

    TF_RESOURCE_TYPE: ClassVar[str]
    _in_hcl = False

    def __init__(
        self, scope: Construct, id_: str, values: dict[str, Any], meta: dict[str, Any]
    ) -> None:
        self._declare(scope, id_, values)
        self._place = place()
        self._meta = with_readable_triggers(meta, lambda: self._in_hcl)
        jsii.create(
            cdktf.TerraformResource, self, [scope, id_, _config(self.TF_RESOURCE_TYPE, self._meta)]
        )
        self._tree.add(self, scope)

    @jsii.member(jsii_name="synthesizeAttributes")
    def _synthesize_attributes(self) -> dict[str, Any]:
        self._in_hcl = False
        if self._place is None:
            return self._values
        # Beside the metadata that cdktf puts there: that of its own it does not let anyone add to.
        return {**self._values, "//": {"stackTrace": [self._place]}}

    @jsii.member(jsii_name="synthesizeHclAttributes")
    def _synthesize_hcl_attributes(self) -> dict[str, Any]:
        self._in_hcl = True
        return self._hcl_attributes()

    def import_from(self, id: str, provider: cdktf.TerraformProvider | None = None) -> None:
        """Import an existing object of the console into this resource.

        Args:
            id: The import id of the object.
            provider: The provider to import with, where it is not the only one.
        """
        self._tree.import_blocks(self._scope).add(self, id, provider)

    @classmethod
    def generate_config_for_import(
        cls,
        scope: Construct,
        import_to_id: str,
        import_from_id: str,
        provider: cdktf.TerraformProvider | None = None,
    ) -> cdktf.ImportableResource:
        """Declare an import whose configuration Terraform generates.

        Args:
            scope: The construct that the import belongs to.
            import_to_id: The construct id, and so the name of the resource to import into.
            import_from_id: The import id of the existing object.
            provider: The provider to import with, where it is not the only one.
        """
        return cdktf.ImportableResource(
            scope, import_to_id, Import(cls.TF_RESOURCE_TYPE, import_from_id, provider)
        )


class DataSource(cdktf.TerraformDataSource, Declared):
    """Something that the console is asked for."""

    TF_RESOURCE_TYPE: ClassVar[str]

    def __init__(
        self, scope: Construct, id_: str, values: dict[str, Any], meta: dict[str, Any]
    ) -> None:
        self._declare(scope, id_, values)
        jsii.create(
            cdktf.TerraformDataSource, self, [scope, id_, _config(self.TF_RESOURCE_TYPE, meta)]
        )

    @jsii.member(jsii_name="synthesizeAttributes")
    def _synthesize_attributes(self) -> dict[str, Any]:
        return self._values

    @jsii.member(jsii_name="synthesizeHclAttributes")
    def _synthesize_hcl_attributes(self) -> dict[str, Any]:
        return self._hcl_attributes()


class Provider(cdktf.TerraformProvider, Declared):
    """The provider of a stack; further ones carry an alias."""

    TF_RESOURCE_TYPE: ClassVar[str] = PROVIDER_NAME

    def __init__(
        self, scope: Construct, id_: str, values: dict[str, Any], alias: str | None
    ) -> None:
        self._declare(scope, id_, values)
        self._alias = alias
        super().__init__(
            scope,
            id_,
            terraform_resource_type=PROVIDER_NAME,
            terraform_generator_metadata=_METADATA,
            terraform_provider_source=PROVIDER_SOURCE,
        )

    @property
    def alias(self) -> str | None:
        """The name by which resources choose this provider among several."""
        return self._alias

    @alias.setter
    def alias(self, value: str | None) -> None:
        self._alias = value

    @property
    def alias_input(self) -> str | None:
        """The declared alias, or None."""
        return self._alias

    def reset_alias(self) -> None:
        """Make this the provider of resources that choose none."""
        self._alias = None

    @property
    def fqn(self) -> str:
        """The provider's name in Terraform. Here, because cdktf's own asks `alias` twice."""
        return f"{PROVIDER_NAME}.{self._alias}" if self._alias else PROVIDER_NAME

    @jsii.member(jsii_name="synthesizeAttributes")
    def _synthesize_attributes(self) -> dict[str, Any]:
        return self._values

    @jsii.member(jsii_name="synthesizeHclAttributes")
    def _synthesize_hcl_attributes(self) -> dict[str, Any]:
        return self._hcl_attributes()
