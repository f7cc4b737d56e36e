"""A set of patterns that the console refuses to execute, in one scope."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import cdktf
from constructs import Construct

from opsconsole_cdktf._rules import is_token
from opsconsole_cdktf.blacklisted_command import BlacklistedCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class BlacklistRule:
    """One pattern of a policy.

    Attributes:
        pattern: The command pattern, 1 to 200 characters.
        id: The row of the console that holds it. Without one the row is created, which needs the
            extra endpoint `blacklist_create`.
        description: Why it is refused.
    """

    pattern: str
    id: str | None = None
    description: str | None = None


class BlacklistPolicy(Construct):
    """Patterns that the console refuses to execute, all in one scope.

    Args:
        scope: The construct that it belongs to.
        id_: Its name within `scope`.
        rules: The patterns by a name of your choice, which makes up the address of each. A rule
            may be a `BlacklistRule`, a mapping of its attributes, or a pattern alone.
        org_id: The org whose commands are refused.
        tenant_wide: Whether the commands of every org are refused. Without this and without
            `org_id` each row keeps its scope.
        provider: The provider to use, if there are several.

    A pattern that another one covers is a warning and no error: the API document does not say how
    a pattern matches. `*` is taken for any text.

    Raises:
        TypeError, ValueError: A rule is of a wrong type or out of its bounds, or a pattern or a
            row is declared twice.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        rules: Mapping[str, BlacklistRule | Mapping[str, Any] | str],
        org_id: str | None = None,
        tenant_wide: bool | None = None,
        provider: cdktf.TerraformProvider | None = None,
    ) -> None:
        super().__init__(scope, id_)
        path = self.node.path
        read = {name: _rule(rule, f"{path}: {name}") for name, rule in rules.items()}
        _refuse_twice(path, "pattern", ((name, rule.pattern) for name, rule in read.items()))
        _refuse_twice(path, "id", ((name, rule.id) for name, rule in read.items()))
        self._commands = {
            name: BlacklistedCommand(
                self,
                name,
                id=rule.id,
                pattern=rule.pattern,
                description=rule.description,
                org_id=org_id,
                tenant_wide=tenant_wide,
                provider=provider,
            )
            for name, rule in read.items()
        }
        for name, wider in _find_covered(read):
            cdktf.Annotations.of(self._commands[name]).add_warning(
                f"{read[name].pattern!r} is covered by {read[wider].pattern!r} ({wider})"
            )

    @property
    def commands(self) -> Mapping[str, BlacklistedCommand]:
        """The declared rows by the names of their rules."""
        return dict(self._commands)


def _rule(rule: BlacklistRule | Mapping[str, Any] | str, place: str) -> BlacklistRule:
    if isinstance(rule, str):
        return BlacklistRule(pattern=rule)
    if isinstance(rule, Mapping):
        try:
            return BlacklistRule(**rule)
        except TypeError as problem:
            raise TypeError(f"{place}: {problem}") from None
    if not isinstance(rule, BlacklistRule):
        raise TypeError(f"{place}: expected a BlacklistRule, a mapping or a pattern, got {rule!r}")
    return rule


def _refuse_twice(path: str, what: str, values: Iterable[tuple[str, str | None]]) -> None:
    seen: dict[str, str] = {}
    problems = []
    for name, value in values:
        if value is None or is_token(value):
            continue
        if value in seen:
            problems.append(f"{path}: {name}: {what} {value!r} is declared by {seen[value]} too")
        seen.setdefault(value, name)
    if problems:
        raise ValueError("\n".join(problems))


def _find_covered(rules: Mapping[str, BlacklistRule]) -> Iterable[tuple[str, str]]:
    literal = {name: rule.pattern for name, rule in rules.items() if not is_token(rule.pattern)}
    wide = {name: pattern for name, pattern in literal.items() if "*" in pattern}
    for name, pattern in literal.items():
        for wider, glob in wide.items():
            # Only `*` has a meaning here: other signs of a glob are ordinary in a command.
            escaped = "".join(f"[{sign}]" if sign in "?[" else sign for sign in glob)
            if wider != name and fnmatchcase(pattern, escaped):
                yield name, wider
                break
