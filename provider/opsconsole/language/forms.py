"""What Terraform demands of the form of a program: names, arguments, versions, sources."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from opsconsole.errors import UserError
from opsconsole.language.documents import COMMENT

RESERVED_VARIABLES: Final = frozenset(
    ("count", "depends_on", "for_each", "lifecycle", "locals", "providers", "source", "version")
)
"""Names that no variable can have."""
_PROVIDER_NAME: Final = re.compile(r"[^\W_](?:(?:[^\W_]|-)*[^\W_])?")
_SOURCE: Final = re.compile(r"(?:[\w.-]+(?::\d+)?/)?(?:[\w-]+/)?[\w-]+")
_VERSION: Final = re.compile(
    r"\s*(?:=|!=|>=|<=|~>|>|<)?\s*\d+(?:\.\d+)*(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?\s*"
)
_NAME_RULE: Final = (
    "A name starts with a letter or an underscore and holds letters, digits, underscores and "
    "dashes only."
)


def is_name(text: str) -> bool:
    """Return whether `text` is an identifier of Terraform's language."""
    return text[:1] != "-" and text.replace("-", "_").isidentifier()


def check_name(name: str, where: str) -> None:
    """Refuse what is not a name.

    Raises:
        UserError: It is not one.
    """
    if not is_name(name):
        raise UserError(f"{where}: {name!r} is not a valid name.", _NAME_RULE)


def check_arguments(body: Mapping[str, Any], allowed: Collection[str], where: str) -> None:
    """Refuse a block with an argument that its type does not have.

    Raises:
        UserError: There is one.
    """
    for name in body:
        if name not in allowed and name != COMMENT:
            raise UserError(
                f'{where}: there is no argument "{name}".', f"There are: {', '.join(allowed)}."
            )


def check_versions(text: str, where: str) -> None:
    """Refuse what is not a list of version constraints.

    Raises:
        UserError: It is not one.
    """
    if not all(_VERSION.fullmatch(part) for part in text.split(",")):
        raise UserError(
            f"{where}: {text!r} is not a version constraint.", 'Write one, such as ">= 1.5, < 2".'
        )


def check_required_provider(name: str, wanted: Mapping[str, Any], where: str) -> None:
    """Refuse an entry of `required_providers` that Terraform cannot read.

    Raises:
        UserError: Its name, its source, its version or an argument is wrong.
    """
    if not _PROVIDER_NAME.fullmatch(name) or name != name.lower():
        raise UserError(f"{where}: {name!r} is not a valid provider name.", "Use a-z, 0-9 and -.")
    check_arguments(wanted, ("source", "version", "configuration_aliases"), f"{where}.{name}")
    source = wanted.get("source", "x/y")
    if not isinstance(source, str) or not _SOURCE.fullmatch(source):
        raise UserError(
            f"{where}.{name}: {source!r} is not the source of a provider.",
            "Write it as [HOSTNAME/]NAMESPACE/TYPE.",
        )
    version = wanted.get("version", "> 0")
    if not isinstance(version, str):
        raise UserError(f"{where}.{name}: its version must be a string.", 'Such as "1.0".')
    check_versions(version, f"{where}.{name}")
