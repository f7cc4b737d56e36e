"""JSON values: reads them as Terraform does, evaluates the templates in them, and finds references.

This module also orders the local values that a local value needs, and makes the errors about an
expression. These say which expression failed and why, or what only Terraform can run.
"""

from __future__ import annotations

import errno
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from opsconsole.diagnostics import Mistakes, diagnostics_of
from opsconsole.errors import UserError
from opsconsole.language.failures import (
    MAX_PROGRAM,
    BeyondBounds,
    DependsOnRelease,
    EvaluationError,
    ExpressionFailure,
)
from opsconsole.language.model import Origin, Program
from opsconsole.language.nodes import Reference, Scope, make_object
from opsconsole.language.numbers import parse_number
from opsconsole.language.parser import parse_template
from opsconsole.language.values import STRING, Value, of_python, to_nfc, tuple_of
from opsconsole.named_files import read_named
from opsconsole.terraform_binary import engine_of
from opsconsole.text import did_you_mean

COMMENT = "//"
"""The property that holds comments and the metadata of constructs, and is not an argument."""

T = TypeVar("T")
_SHOWN = 200
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LONE = re.compile("[\ud800-\udfff]")


class DuplicateKeys(dict[str, Any]):
    """A JSON object in which a name occurs twice; `pairs` has all members, the dict only the last.

    If the names are types or labels of blocks, Terraform reads the object as several blocks.
    Terraform refuses the object everywhere else.
    """

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs

    def twice(self) -> str:
        """Return the first name that is declared twice."""
        counts = Counter(name for name, _ in self.pairs)
        return next(name for name, count in counts.items() if count > 1)


def read_json(path: Path) -> Any:
    """Return the content of a JSON file; an object with a repeated name is a DuplicateKeys.

    Raises:
        UserError: The file cannot be read or is not JSON. The message gives file, line and column.
    """
    text = read_text(path)
    try:
        found = parse_json(text, _members)
        # Python's reader keeps an escaped lone surrogate; Go's reader replaces it.
        return replace_surrogates(found) if _SURROGATE.search(text) else found
    except json.JSONDecodeError as error:
        raise UserError(
            f"{path}:{error.lineno}:{error.colno}: {error.msg}.",
            "Write JSON there; a file that a program wrote is to be synthesised again.",
        ) from error
    except RecursionError as error:
        raise UserError(f"{path}: it is nested too deeply.", "Use fewer levels.") from error
    except ExpressionFailure as error:
        raise UserError(f"{path}: {error}.", "Write a number with fewer digits.") from error
    except ValueError as error:
        raise UserError(f"{path}: {error}.", "Synthesise it again.") from error


def read_text(path: Path, most: int = MAX_PROGRAM) -> str:
    """Return the text of a file of a program, or of its variables.

    Raises:
        UserError: The file cannot be read, is too large, or is not UTF-8.
    """
    try:
        data = read_named(path, most)
    except OSError as error:
        too_large = error.errno == errno.EFBIG
        remedy = "Split it." if too_large else "Check the path."
        raise UserError(f"{path}: {error.strerror or error}.", remedy) from error
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: this is not UTF-8 text (byte {error.start}).", "Save it as UTF-8."
        ) from error


def parse_json(
    text: str, members: Callable[[list[tuple[str, Any]]], dict[str, Any]] | None = None
) -> Any:
    """Parse JSON into values of the language; `members` makes the objects.

    Raises:
        ValueError: The text is not JSON.
    """
    return json.loads(
        text,
        # A float would lose digits, because numbers of the language have a mantissa of 512 bits.
        parse_float=parse_number,
        parse_int=parse_number,
        # Python accepts NaN and Infinity, which JSON does not have.
        parse_constant=_refuse,
        object_pairs_hook=members,
    )


def says_twice(text: str) -> bool:
    """Return whether an object in a JSON text has the same name twice."""
    verdicts: list[bool] = []
    json.loads(text, object_pairs_hook=lambda pairs: verdicts.append(len(dict(pairs)) < len(pairs)))
    return any(verdicts)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    # Comments are not arguments, so there may be several.
    names = [name for name, _ in pairs if name != COMMENT]
    return found if len(set(names)) == len(names) else DuplicateKeys(pairs)


def replace_surrogates(value: Any) -> Any:
    """Replace lone surrogates, which no text can hold, by the replacement character, as Go does.

    The texts of the result are in normal form C; the names, as in Terraform, are not.
    """
    if isinstance(value, str):
        return to_nfc(_LONE.sub("\ufffd", value))
    if isinstance(value, list):
        return [replace_surrogates(item) for item in value]
    if not isinstance(value, dict):
        return value
    pairs = value.pairs if isinstance(value, DuplicateKeys) else value.items()
    return _members([(_LONE.sub("\ufffd", name), replace_surrogates(item)) for name, item in pairs])


def evaluate_json(value: Any, scope: Scope) -> Value:
    """Return the value of a JSON value in `scope`.

    Raises:
        EvaluationError: A template in it cannot be evaluated.
        UnsupportedExpression: A template uses something that only Terraform has.
    """
    if isinstance(value, str):
        # Every template sequence, even an escaped one, contains a brace.
        if "{" not in value:
            return Value(STRING, to_nfc(value))
        return _evaluate_template(value, scope)
    if isinstance(value, list):
        return tuple_of(evaluate_json(item, scope) for item in value)
    if isinstance(value, DuplicateKeys):
        raise EvaluationError(f'the key "{value.twice()}" is declared twice')
    if isinstance(value, dict):
        pairs = (
            (evaluate_json(name, scope), evaluate_json(raw, scope)) for name, raw in value.items()
        )
        return make_object(pairs, 'the key "{}" is declared twice')
    return of_python(value)


def _evaluate_template(text: str, scope: Scope) -> Value:
    try:
        result = parse_template(text).evaluate(scope)
    except ExpressionFailure as failure:
        # A smaller template may be set already.
        failure.expression = failure.expression or text
        raise
    if isinstance(result.data, str):
        return Value(STRING, to_nfc(result.data), result.marks)
    return result


def readable_references(value: Any) -> list[Reference]:
    """Return every reference in a JSON value; empty if the value cannot be parsed."""
    try:
        return references_in(value)
    except (ExpressionFailure, RecursionError):
        # Evaluating the value reports the error.
        return []


def references_in(value: Any) -> list[Reference]:
    """Return every reference in a JSON value; raises as `evaluate_json`."""
    return [item for text in templates_in(value) for item in parse_template(text).references()]


def templates_in(value: Any) -> list[str]:
    """Return the strings in a JSON value, names included, that may be more than plain text."""
    if isinstance(value, str):
        return [value] if "{" in value else []
    found: list[str] = []
    if isinstance(value, list):
        for item in value:
            found += templates_in(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key != COMMENT:
                found += templates_in(key)
                found += templates_in(item)
    return found


class LocalCycle(Exception):
    """Local values refer to each other in a cycle; the message names them."""


def order_locals(name: str, values: Mapping[str, Any], done: Collection[str]) -> list[str]:
    """Return the local values to evaluate, each after its references and `name` last.

    Args:
        done: Names that are already evaluated.

    Raises:
        LocalCycle: Local values refer to each other in a cycle.
    """
    order: list[str] = []
    listed: set[str] = set()
    # A stack instead of recursion, because chains may be long; the dict finds a cycle at once.
    path: dict[str, Iterator[str]] = {name: _named_in(values[name])}
    while path:
        current = next(reversed(path))
        following = next(path[current], None)
        if following is None:
            del path[current]
            listed.add(current)
            order.append(current)
        elif following in path:
            names = list(path)
            raise LocalCycle(" → ".join([*names[names.index(following) :], following]))
        elif following in values and following not in listed and following not in done:
            path[following] = _named_in(values[following])
    return order


def _named_in(value: Any) -> Iterator[str]:
    """Yield the local values that a value names. A value that cannot be parsed fails when used."""
    for item in readable_references(value):
        if item.steps[0] == "local" and item.steps[1:]:
            yield str(item.steps[1])


class OnlyTerraform(UserError):
    """The program is for Terraform or OpenTofu, or only they know whether it is correct.

    Attributes:
        construct: The part that this engine cannot run.
        program: The readable part of the program, if the program alone showed the error. Nothing
            was then asked of a console, and nothing was changed.
    """

    program: Program | None = None

    def __init__(self, message: str, construct: str, remedy: str = "") -> None:
        engine = engine_of()
        can = f"{engine.name} can run it: use `{engine.command}` or `cdktf` with this program"
        super().__init__(message, remedy or f"{can}, or leave it out.")
        self.construct = construct


class UnreadProgram(Mistakes):
    """A program with mistakes; `program` is its readable part."""

    def __init__(self, mistakes: Iterable[UserError], program: Program) -> None:
        super().__init__(item for mistake in mistakes for item in diagnostics_of(mistake))
        self.program = program


def raise_any(problems: Sequence[UserError]) -> None:
    """Raise all problems as one error, if there are any. OnlyTerraform takes precedence.

    Raises:
        OnlyTerraform: One of the problems is an OnlyTerraform.
        UserError: Otherwise the problem, or Mistakes if there are several.
    """
    for problem in problems:
        if isinstance(problem, OnlyTerraform) or len(problems) == 1:
            raise problem
    if problems:
        raise Mistakes(item for problem in problems for item in diagnostics_of(problem))


def only_terraform_error(what: str, origin: Origin, address: str = "") -> OnlyTerraform:
    """Return the error that says that `what`, at `origin`, is not supported here."""
    named = f"{origin.path or origin.file} ({address})" if address else origin.path or origin.file
    return OnlyTerraform(
        f"{named}: {what}: not supported by the native engine.", f"{named}: {what}"
    )


def unknown_name_error(what: str, name: str, known: Iterable[str], where: str) -> OnlyTerraform:
    """Return the error about a name that this engine does not know.

    Args:
        what: The kind of name, such as `block type`.
        known: The names that are known here.
    """
    named = f'{where}: the {what} "{name}"'
    # The name may be a slip, or belong to a release of Terraform or OpenTofu that this engine does
    # not follow. Terraform or OpenTofu decides.
    return OnlyTerraform(
        f"{named} is not known to the native engine.",
        f"{named}, which the native engine does not know",
        f"{did_you_mean(name, known)} If your release of Terraform or OpenTofu has it, use that.",
    )


def evaluate_argument(
    title: str, name: str, raw: Any, scope: Scope, then: Callable[[Any], Any] | None = None
) -> Any:
    """Evaluate a JSON value and convert the result with `then`.

    Args:
        title: The owner of the value: the construct's path and the address.
        name: The argument that the value belongs to.

    Raises:
        UserError: The value cannot be evaluated.
    """

    def evaluate(raw: Any) -> Any:
        scope.work.start()
        value = evaluate_json(raw, scope)
        return value if then is None else then(value)

    return try_step(title, name, evaluate, raw)


def try_step(title: str, name: str, step: Callable[..., T], *arguments: Any) -> T:
    """Return `step(*arguments)`; report its failures with the first argument.

    Raises:
        UserError: The step failed.
    """
    try:
        return step(*arguments)
    except (ExpressionFailure, RecursionError) as error:
        raise expression_error(title, name, arguments[0], error) from error


def expression_error(
    title: str, name: str, raw: Any, error: ExpressionFailure | RecursionError
) -> UserError:
    """Return the error that names the place, the expression and the cause."""
    where = f"{title}: {name}" if name else title
    if isinstance(error, RecursionError):
        return UserError(f"{where}: its value is nested too deeply.", "Use fewer levels.")
    written = shorten(error.expression or raw)
    if isinstance(error, DependsOnRelease):
        return OnlyTerraform(
            f"{where}: {written} cannot be evaluated as Terraform 1.11 does it: {error}; newer "
            "releases and OpenTofu pass over that.",
            f"{where}: {written}, which newer releases pass over",
            "Upgrade Terraform, or guard that operand by a conditional: `a ? b : false`.",
        )
    if isinstance(error, EvaluationError):
        stop = "" if str(error).endswith(("?", ".")) else "."
        return UserError(f"{where}: {written} cannot be evaluated: {error}{stop}")
    if isinstance(error, BeyondBounds):
        return OnlyTerraform(f"{where}: {written} asks for too much: {error}.", f"{where}: {error}")
    return OnlyTerraform(
        f"{where}: {written} uses {error}, which the native engine does not support.",
        f"{where}: {error}",
    )


def shorten(raw: Any) -> str:
    """Return a JSON value as one short text."""
    # JSON has no fractions, so a message shows them as floats.
    text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False, default=float)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
