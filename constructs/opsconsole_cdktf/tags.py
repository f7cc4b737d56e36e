"""Tags for every host under a scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import cdktf
import jsii
from constructs import Construct, IConstruct

from opsconsole_cdktf._rules import is_token
from opsconsole_cdktf.host import Host


@jsii.implements(cdktf.IAspect)
class Tags:
    """An aspect that adds tags to every host under a scope.

    `Tags({"site": "north"}).add_to(stack)` tags every host of a stack with `site:north`.

    A host that declares the same key with another value is an error of the synthesis, with the
    host's path; all of them are named together. So are two `Tags` that disagree on one host.

    Args:
        tags: Tag keys to values; each becomes the tag `key:value`.

    Raises:
        ValueError: A key is empty or holds a colon, or a value is empty.
    """

    def __init__(self, tags: Mapping[str, str]) -> None:
        for key, value in tags.items():
            if not is_token(key) and (not key or ":" in key):
                raise ValueError(f"tag {key!r}: a key is not empty and holds no colon")
            if not value:
                raise ValueError(f"tag {key!r}: the value is empty")
        self._tags = dict(tags)
        self._joined: set[Host] = set()

    def add_to(self, scope: Construct) -> Tags:
        """Add the tags to every host under `scope`, now and later; return this."""
        cdktf.Aspects.of(scope).add(self)
        return self

    def visit(self, node: IConstruct) -> None:
        """Add the tags to one construct, if it is a host; called by cdktf."""
        if not isinstance(node, Host):
            return
        declared = node.tags_input
        wanted = [f"{key}:{value}" for key, value in self._tags.items()]
        if _is_list_token(declared):
            # A stack is visited each time that it is synthesised, and a token does not show that
            # the tags are in it already.
            if node not in self._joined:
                self._joined.add(node)
                node.tags = cdktf.Fn.concat([declared, wanted])
            return
        present = list(declared or ())
        for key, value in self._tags.items():
            same_key = (tag for tag in present if tag.startswith(f"{key}:"))
            other = next((tag for tag in same_key if tag != f"{key}:{value}"), None)
            if other is not None:
                cdktf.Annotations.of(node).add_error(
                    f"tags: {other} is declared, and {key}:{value} is asked for every host"
                )
                return
        node.tags = [*present, *(tag for tag in wanted if tag not in present)]


def _is_list_token(declared: Sequence[str] | None) -> bool:
    if isinstance(declared, str):
        return True
    # The token of a list is itself a list, of one such text.
    return any(tag.startswith("#{") for tag in declared or ())
