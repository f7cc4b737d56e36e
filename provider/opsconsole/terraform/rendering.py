"""Diagnostics and attribute paths as protocol messages, with no secret in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from opsconsole.definition import Attribute, Kind
from opsconsole.diagnostics import Diagnostic, Path, Severity
from opsconsole.redaction import Redaction
from opsconsole.terraform.proto import tfplugin6_pb2 as pb

_SEVERITIES: Final = {
    Severity.ERROR: pb.Diagnostic.ERROR,
    Severity.WARNING: pb.Diagnostic.WARNING,
}

_Step = pb.AttributePath.Step


def attribute_path(path: Path, attributes: Mapping[str, Attribute]) -> pb.AttributePath:
    """Return `path` as Terraform walks it, as far as it leads through `attributes`.

    It ends at a set, whose elements have no address, and before a name that there is not.
    """
    steps: list[_Step] = []
    kind: Kind | None = None
    for step in path:
        if kind is Kind.STRING_SET:
            break
        if isinstance(step, int):
            steps.append(_Step(element_key_int=step))
        elif kind is Kind.STRING_MAP:
            steps.append(_Step(element_key_string=step))
        elif step in attributes:
            steps.append(_Step(attribute_name=step))
            kind = attributes[step].kind
            attributes = {item.name: item for item in attributes[step].attributes}
        else:
            break
    return pb.AttributePath(steps=steps)


def rendered(
    diagnostics: Iterable[Diagnostic],
    attributes: Mapping[str, Attribute],
    redaction: Redaction,
) -> list[pb.Diagnostic]:
    """Return `diagnostics` on an object of `attributes` as Terraform shows them."""
    return [
        pb.Diagnostic(
            severity=_SEVERITIES[diagnostic.severity],
            summary=redaction.hide(diagnostic.summary),
            detail=redaction.hide(diagnostic.text),
            attribute=attribute_path(diagnostic.path, attributes) if diagnostic.path else None,
        )
        for diagnostic in diagnostics
    ]
