"""The construct of `opsconsole_specialty`: generated, not edited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, Unpack

import cdktf
from constructs import Construct

from opsconsole.resources import RESOURCES
from opsconsole_cdktf import _attributes as attributes
from opsconsole_cdktf._declared import MetaArguments
from opsconsole_cdktf._ordering import SpecialtyBase

SpecialtyDeletionPolicy: TypeAlias = Literal["abandon", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialtyTimeouts(attributes.Struct):
    """One object of `timeouts` of `Specialty`.

    Attributes:
        delete: How long a delete may wait for the agents that carry the specialty to be archived,
            such as `2m`; 2 minutes where none is set.
    """

    _definition: ClassVar[attributes.Definition] = RESOURCES["opsconsole_specialty"]["timeouts"]

    delete: str | None = None


SpecialtyTimeoutsDeclaration: TypeAlias = SpecialtyTimeouts | Mapping[str, Any]


class SpecialtyTimeoutsOutputReference(attributes.Fields):
    """The tokens of one object of `timeouts` of `Specialty`."""

    _definition: ClassVar[attributes.Definition] = RESOURCES["opsconsole_specialty"]["timeouts"]

    delete = attributes.text_output()


class SpecialtyOptions(MetaArguments, total=False):
    """The arguments of `Specialty` that may be left out."""

    id: str | None
    key: str | None
    name: str | None
    prompt: str | None
    description: str | None
    execution_mode: str | None
    org_id: str | None
    deletion_policy: SpecialtyDeletionPolicy | cdktf.IResolvable | None
    timeouts: SpecialtyTimeoutsDeclaration | None


class SpecialtyAttributes:
    _definition: ClassVar[attributes.Definition] = RESOURCES["opsconsole_specialty"]

    id = attributes.text()
    id_input = attributes.Declaration[str]()
    reset_id = attributes.Reset()
    key = attributes.text()
    key_input = attributes.Declaration[str]()
    reset_key = attributes.Reset()
    name = attributes.text()
    name_input = attributes.Declaration[str]()
    reset_name = attributes.Reset()
    prompt = attributes.text()
    prompt_input = attributes.Declaration[str]()
    reset_prompt = attributes.Reset()
    description = attributes.text()
    description_input = attributes.Declaration[str]()
    reset_description = attributes.Reset()
    execution_mode = attributes.text()
    execution_mode_input = attributes.Declaration[str]()
    reset_execution_mode = attributes.Reset()
    org_id = attributes.text()
    org_id_input = attributes.Declaration[str]()
    reset_org_id = attributes.Reset()
    deletion_policy = attributes.Choice[SpecialtyDeletionPolicy]()
    deletion_policy_input = attributes.DeclaredChoice[SpecialtyDeletionPolicy]()
    reset_deletion_policy = attributes.Reset()
    timeouts = attributes.ObjectArgument(SpecialtyTimeouts, SpecialtyTimeoutsOutputReference)
    timeouts_input = attributes.Declaration[SpecialtyTimeoutsDeclaration]()
    reset_timeouts = attributes.Reset()
    owner_id = attributes.text_output()
    tenant_id = attributes.text_output()
    created_at = attributes.text_output()
    updated_at = attributes.text_output()


class Specialty(SpecialtyBase, SpecialtyAttributes):
    """A specialty that agents carry. The console has no operation that creates one: the declared
    `key` is looked up and adopted. Removed, it stays on the console unless `deletion_policy` says
    otherwise; deleting it is refused while an agent carries it.

    Args:
        id: The console's id of the specialty; it may be declared instead of `key`.
        key: The key that the specialty is looked up by.
        name: The specialty's name.
        prompt: The prompt that agents of this specialty work by.
        description: Purpose of the specialty.
        execution_mode: How agents of this specialty execute.
        org_id: The org that the specialty belongs to.
        deletion_policy: What removal does: `abandon` (the default) leaves the specialty on the
            console; `delete` deletes it, and the console cannot create it again.
        timeouts: How long to wait.
    """

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_specialty"

    def __init__(self, scope: Construct, id_: str, **others: Unpack[SpecialtyOptions]) -> None:
        super().__init__(scope, id_, **others)

    def put_timeouts(self, *, delete: str | None = None) -> None:
        """Declare `timeouts`."""
        self._assign("timeouts", SpecialtyTimeouts(delete=delete))
