"""Single faults that may be planted in a module: a node of its syntax tree, and another for it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_SIGNS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_AT_IMPORT = ("annotation", "returns", "decorator_list")


@dataclass(frozen=True)
class Mutation:
    """A node of a function, where it hangs in the tree, and what takes its place.

    Attributes:
        function: The qualified name of the function; of nested ones that of the outermost.
    """

    function: str
    parent: ast.AST
    field: str
    index: int | None
    node: ast.AST
    replacement: ast.AST

    @property
    def words(self) -> str:
        """The original text and the changed one."""
        return f"{_text(self.node)}  ->  {_text(self.replacement)}"

    def make(self) -> None:
        """Change the tree."""
        changed = ast.fix_missing_locations(ast.copy_location(self.replacement, self.node))
        if self.index is None:
            setattr(self.parent, self.field, changed)
        else:
            getattr(self.parent, self.field)[self.index] = changed


def mutations(tree: ast.AST, prefix: str = "", function: str = "") -> Iterator[Mutation]:
    """Walk the bodies of functions; nothing that runs at import is changed, and no assertion."""
    if isinstance(tree, (*_FUNCTIONS, ast.ClassDef)):
        function = function or (prefix + tree.name if isinstance(tree, _FUNCTIONS) else "")
        prefix += f"{tree.name}."
    for field, value in ast.iter_fields(tree):
        if field in _AT_IMPORT or isinstance(value, ast.arguments):
            continue
        for number, node in enumerate(value if isinstance(value, list) else [value]):
            # Whether two sequences that are always as long must be: no test can tell.
            strict = isinstance(node, ast.keyword) and node.arg == "strict"
            if not isinstance(node, ast.AST) or isinstance(node, ast.Assert) or strict:
                continue
            index = number if isinstance(value, list) else None
            for replacement in _replacements(field, node) if function else ():
                yield Mutation(function, tree, field, index, node, replacement)
            yield from mutations(node, prefix, function)


def _replacements(field: str, node: ast.AST) -> Iterator[ast.AST]:
    """Return what may stand in the place of a node."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Compare(left=left, ops=[compared], comparators=comparators):
            yield ast.Compare(left, [_COMPARISONS[type(compared)]()], comparators)
        case ast.expr() if field in ("test", "ifs"):
            yield ast.UnaryOp(ast.Not(), node)
    match node:
        case ast.BoolOp(op=joined, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(joined, ast.And) else ast.And(), values)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _SIGNS:
            yield ast.BinOp(left, _SIGNS[type(sign)](), right)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1 if value < 2 else value * 2)
        case ast.Raise(exc=ast.Name(id="NotImplementedError")):
            pass
        case ast.Return(value=ast.Constant()) | ast.Assign([ast.Name()], ast.Constant()):
            # Its constant is changed; None in the place of another nothing shows nothing.
            pass
        case ast.Return(value=ast.expr()):
            yield ast.Return(ast.Constant(None))
        case ast.Assign(targets=[ast.Name()] as targets):
            yield ast.Assign(targets, ast.Constant(None))
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.AugAssign():
            yield ast.Pass()
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise() | ast.Delete():
            yield ast.Pass()
        case ast.Break() | ast.Continue():
            yield ast.Pass()
        case ast.For(target=target, body=body, orelse=orelse):
            yield ast.For(target, ast.Tuple([], ast.Load()), body, orelse)
        case ast.ExceptHandler(type=caught, name=name, body=body):
            if not isinstance(body[-1], ast.Raise):
                yield ast.ExceptHandler(caught, name, [ast.Raise()])


def _text(node: ast.AST) -> str:
    text = " ".join(ast.unparse(ast.fix_missing_locations(node)).split())
    return text if len(text) <= 90 else f"{text[:87]}..."
