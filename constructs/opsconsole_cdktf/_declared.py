"""Values, tokens and synthesis of all constructs.

Making a construct costs a single jsii call, which takes its attributes to Node (`_elements.js`);
Python keeps them too, to check declarations together.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypedDict

import cdktf
import jsii
from constructs import Construct

from opsconsole.text import did_you_mean, nearest
from opsconsole_cdktf._attributes import Settable
from opsconsole_cdktf._elements import NPM_PACKAGE, load
from opsconsole_cdktf._trees import Tree, tree_of

Connection: TypeAlias = cdktf.SSHProvisionerConnection | cdktf.WinrmProvisionerConnection
"""How provisioners reach a machine."""

Count: TypeAlias = int | float | cdktf.TerraformCount
"""The number of instances of a construct."""

Lifecycle: TypeAlias = cdktf.TerraformResourceLifecycle | dict[str, Any]
"""Terraform's `lifecycle` block."""

Provisioners: TypeAlias = Sequence[
    cdktf.FileProvisioner | cdktf.LocalExecProvisioner | cdktf.RemoteExecProvisioner
]
"""Actions to run when a resource is made."""


class DataMetaArguments(TypedDict, total=False):
    """The arguments of every data source."""

    count: Count | None
    depends_on: Sequence[cdktf.ITerraformDependable] | None
    for_each: cdktf.ITerraformIterator | None
    lifecycle: Lifecycle | None
    provider: cdktf.TerraformProvider | None


class MetaArguments(DataMetaArguments, total=False):
    """The arguments of every resource."""

    connection: Connection | None
    provisioners: Provisioners | None


load()

_UNSEEN_TOKENS = {
    "blurred number": "cdktf does not see a number of another construct directly beside a digit, "
    "'-', '+', '.', '|' or 'e'. Write cdktf.Token.as_string(NUMBER) in its place.",
    "list in parts": "a list of another construct is known to Terraform only. Write "
    "cdktf.Fn.concat([LIST, …]) to add to it, and cdktf.Fn.element(LIST, 0) for an item.",
}
"""What `_elements.js` says of a token that the framework would not see, with the remedy."""

_OURS = Path(__file__).parent
_PACKAGE = __name__.partition(".")[0]


def _no_such_attribute(construct: Declared, name: str) -> str:
    close = nearest(name, construct._arguments)
    hint = f", did you mean {close}?" if close else ""
    where = construct.node.path if isinstance(construct, Construct) else type(construct).__name__
    return f"{where}: {type(construct).__name__} has no attribute {name}{hint}"


def _refuse_unknown(kind: type[Declared]) -> Callable[..., None]:
    """Return the constructor of `kind` with a check for misspelt arguments."""
    construct: Callable[..., None] = kind.__init__
    known = [*kind._arguments, *kind._META]

    @functools.wraps(construct)
    def check_names(self: Any, scope: Construct, id_: str, **arguments: Any) -> None:
        for name in arguments:
            if name not in known:
                made = f"{type(self).__name__}.__init__()"
                hint = did_you_mean(name, known)
                raise TypeError(f"{made} got an unexpected keyword argument {name!r}. {hint}")
        construct(self, scope, id_, **arguments)

    return check_names


def _place() -> str | None:
    """Return FILE:LINE of the innermost caller under the working directory, or None.

    Files of this package and of installed ones do not count.
    """
    # The framework leaves no stack trace for Python programs. With a relative path the synthesised
    # program is the same on every machine: the working directory is that of `cdktf.json` while the
    # framework's command synthesises.
    folder = str(Path.cwd())
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        relative = _relative(frame.f_code.co_filename, folder)
        if relative is not None:
            return f"{relative}:{frame.f_lineno}"
        frame = frame.f_back
    return None


@lru_cache(maxsize=256)
def _relative(file: str, folder: str) -> str | None:
    path = Path(folder, file)
    if (
        "site-packages" in path.parts
        or path.is_relative_to(_OURS)
        or not path.is_relative_to(folder)
    ):
        return None
    return path.relative_to(folder).as_posix()


class Declared:
    """A construct's declared values and tokens.

    Stands behind jsii's classes in the order of resolution, as the attributes of each construct do:
    whenever a construct is made, jsii looks through every member before its own classes, which
    would take longer than the rest.
    """

    _META: ClassVar[Collection[str]]
    """The names of the arguments that every construct of its kind takes."""
    _arguments: ClassVar[dict[str, Settable[Any]]] = {}
    _scope: Construct
    _id: str
    _tree: Tree
    _values: dict[str, Any]
    _tokens: dict[str, Any]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._arguments = {
            name: member
            for parent in reversed(cls.__mro__)
            for name, member in vars(parent).items()
            if isinstance(member, Settable)
        }
        # A class of a program may take arguments of its own.
        if hasattr(cls, "TF_RESOURCE_TYPE") and cls.__module__.startswith(f"{_PACKAGE}."):
            cls.__init__ = _refuse_unknown(cls)  # type: ignore[method-assign]

    def _declare(self, scope: Construct, id_: str, arguments: Mapping[str, Any]) -> None:
        if not isinstance(scope, Construct):
            raise TypeError(f"{id_}: scope: expected a construct, got {type(scope).__name__}")
        if not isinstance(id_, str):
            raise TypeError(f"{scope.node.path}: id: expected a string, got {type(id_).__name__}")
        self._scope = scope
        self._id = id_
        self._tokens = {}
        # jsii would tell a page about its own types.
        each = arguments.get("for_each")
        if isinstance(each, (str, Mapping, Sequence, Set)):
            raise TypeError(
                f"{self._where(id_)}: for_each: expected an iterator, got {type(each).__name__}, "
                "did you mean TerraformIterator.from_map or TerraformIterator.from_list?"
            )
        needed = arguments.get("depends_on")
        if isinstance(needed, Sequence) and any(isinstance(item, str) for item in needed):
            raise TypeError(f"{self._where(id_)}: depends_on: expected constructs, got str")
        self._values = {
            name: self._check_argument(name, arguments[name], id_)
            for name in self._arguments
            if arguments.get(name) is not None
        }
        self._tree = tree_of(scope)
        self._tree.revision += 1

    def _meta_of(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {name: arguments[name] for name in self._META if arguments.get(name) is not None}

    def _assign(self, name: str, value: Any) -> None:
        if value is None:
            self._values.pop(name, None)
        else:
            self._values[name] = self._check_argument(name, value)
        try:
            jsii.invoke(self, "assign", [name, _to_json(self._values.get(name))])
        except RuntimeError as problem:
            raise self._explain_failure(problem) from None
        self._tree.revision += 1

    def _create(self, kind: type, id_: str, made_of: list[Any]) -> None:
        try:
            jsii.create(kind, self, [self._scope, id_, *made_of])
        except RuntimeError as problem:
            raise self._explain_failure(problem, id_) from None

    def _explain_failure(self, failure: RuntimeError, id_: str | None = None) -> Exception:
        """Return the error for a text that `_elements.js` refuses; any other failure as it is."""
        # jsii makes a RuntimeError of every error in Node: only the text tells them apart.
        for problem, remedy in _UNSEEN_TOKENS.items():
            _, found, name = str(failure).partition(f"{problem}: ")
            if found:
                return ValueError(f"{self._where(id_)}: {name.strip()}: {remedy}")
        _, refused, text = str(failure).partition("no token: ")
        if not refused:
            return failure
        return ValueError(
            f"{self._where(id_)}: {text.strip()} has the form of a token of cdktf, and is none of "
            'this program. For the text itself write one sign as an interpolation, such as ${"$"}.'
        )

    def _where(self, id_: str | None) -> str:
        if id_ is not None:
            return "/".join(filter(None, (self._scope.node.path, id_)))
        return self.node.path if isinstance(self, Construct) else type(self).__name__

    def _check_argument(self, name: str, value: Any, id_: str | None = None) -> Any:
        try:
            return self._arguments[name].check(value)
        except (TypeError, ValueError) as problem:
            refused = problem
        # Raised here, and not while the other is handled: a program's author sees one traceback.
        raise type(refused)(f"{self._where(id_)}: {name}: {refused}")

    if not TYPE_CHECKING:  # a type checker would then allow assignments to any name

        def __setattr__(self, name: str, value: Any) -> None:
            """Refuse names that the construct does not have: they would be dropped silently."""
            # A class of a program may have attributes of its own.
            if (
                name.startswith("_")
                or hasattr(type(self), name)
                or type(self).__module__.partition(".")[0] != _PACKAGE
            ):
                object.__setattr__(self, name, value)
            else:
                raise AttributeError(_no_such_attribute(self, name))


def _to_json(value: Any) -> str:
    """Return a value as JSON; an object that JSON cannot hold is a token, written as its text."""
    return json.dumps(value, default=cdktf.Token.as_string)


def _meta_arguments(meta: dict[str, Any]) -> cdktf.TerraformMetaArguments | None:
    if not meta:
        return None
    # jsii knows no tuples.
    given: dict[str, Any] = {
        name: list(item) if isinstance(item, tuple) else item for name, item in meta.items()
    }
    return cdktf.TerraformMetaArguments(**given)


class Resource(
    cdktf.TerraformResource, Declared, metaclass=jsii.JSIIMeta, jsii_type=f"{NPM_PACKAGE}.Resource"
):
    """A resource of the console.

    Args:
        scope: The construct that it belongs to.
        id_: Its name within `scope`.
        arguments: Its attributes, and `MetaArguments`.

    Raises:
        TypeError, ValueError: An argument is of a wrong type, or out of its bounds.
    """

    _META = MetaArguments.__annotations__
    TF_RESOURCE_TYPE: ClassVar[str]
    NEEDED: ClassVar[Sequence[str]] = ()
    """Arguments that must be given, and may be None: it was imported, and they were never shown."""

    def __init__(self, scope: Construct, id_: str, **arguments: Any) -> None:
        self._declare(scope, id_, arguments)
        self._place = _place()
        self._meta = self._meta_of(arguments)
        made_of = [self.TF_RESOURCE_TYPE, _to_json(self._with_nulls()), self._place]
        self._create(Resource, id_, [*made_of, _meta_arguments(self._meta)])
        self._tree.add(self, scope)

    def _with_nulls(self) -> dict[str, Any]:
        """Return the declared values, and a null for each missing argument that must be given."""
        # The framework leaves out a None, and a required argument that is left out of a program
        # would be taken for forgotten.
        nulls = {name: "${null}" for name in self.NEEDED if name not in self._values}
        return {**self._values, **nulls}

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
            provider: The provider to import with, if there are several.
        """
        arguments = [scope, import_to_id, cls.TF_RESOURCE_TYPE, import_from_id, provider]
        made: cdktf.ImportableResource = jsii.sinvoke(Resource, "importable", arguments)
        return made


class DataSource(
    cdktf.TerraformDataSource,
    Declared,
    metaclass=jsii.JSIIMeta,
    jsii_type=f"{NPM_PACKAGE}.DataSource",
):
    """A query to the console. Arguments and errors are as in `Resource`."""

    _META = DataMetaArguments.__annotations__
    TF_RESOURCE_TYPE: ClassVar[str]

    def __init__(self, scope: Construct, id_: str, **arguments: Any) -> None:
        self._declare(scope, id_, arguments)
        made_of = [
            self.TF_RESOURCE_TYPE,
            _to_json(self._values),
            _meta_arguments(self._meta_of(arguments)),
        ]
        self._create(DataSource, id_, made_of)


class Provider(
    cdktf.TerraformProvider, Declared, metaclass=jsii.JSIIMeta, jsii_type=f"{NPM_PACKAGE}.Provider"
):
    """The provider of a stack; further ones carry an alias. Arguments as in `Resource`."""

    _META = ("alias",)
    TF_RESOURCE_TYPE: ClassVar[str]

    def __init__(self, scope: Construct, id_: str, **arguments: Any) -> None:
        self._declare(scope, id_, arguments)
        self._create(Provider, id_, [_to_json(self._values), arguments.get("alias")])

    @property
    def alias_input(self) -> str | None:
        """The declared alias, or None."""
        return self.alias

    def reset_alias(self) -> None:
        """Make this the provider of resources that choose none."""
        self.alias = None
