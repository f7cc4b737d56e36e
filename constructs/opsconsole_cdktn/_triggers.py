"""`replace_triggered_by`, written as Terraform reads it. Nothing else belongs here.

cdktn writes a construct as "${opsconsole_host.web}". In HCL, Terraform takes that for the reference
in it; in JSON it refuses it, and wants the reference alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cdktn
import jsii


@jsii.implements(cdktn.IStringProducer)
class _Reference:
    def __init__(self, item: Any, in_hcl: Callable[[], bool]) -> None:
        self._item = item
        self._in_hcl = in_hcl

    def produce(self, context: cdktn.IResolveContext) -> str:
        """Return the reference; called by cdktn while it synthesises."""
        item = self._item
        found = str(context.resolve(item if isinstance(item, str) else item.fqn))
        return found if self._in_hcl() else found.removeprefix("${").removesuffix("}")


def with_readable_triggers(meta: dict[str, Any], in_hcl: Callable[[], bool]) -> dict[str, Any]:
    """Return a construct's meta-arguments with triggers that Terraform reads in either syntax.

    Args:
        meta: The meta-arguments.
        in_hcl: Tells whether HCL is being written.
    """
    lifecycle = meta.get("lifecycle")
    if lifecycle is None:
        return meta
    values = dict(lifecycle if isinstance(lifecycle, dict) else lifecycle._values)
    if not values.get("replace_triggered_by"):
        return meta
    values["replace_triggered_by"] = [
        _readable(item, in_hcl) for item in values["replace_triggered_by"]
    ]
    return {**meta, "lifecycle": cdktn.TerraformResourceLifecycle(**values)}


def _readable(item: Any, in_hcl: Callable[[], bool]) -> str:
    if isinstance(item, str) and not cdktn.Token.is_unresolved(item):
        return item
    return cdktn.Lazy.string_value(_Reference(item, in_hcl))
