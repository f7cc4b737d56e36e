"""Expressions and templates, parsed and evaluated with a few local values around them."""

from pathlib import Path

from opsconsole.errors import OpsconsoleError
from opsconsole.language.evaluator import Evaluator
from opsconsole.language.functions import FUNCTIONS
from opsconsole.language.model import Program
from opsconsole.language.name_resolver import evaluate_argument

_PROGRAM = Program(
    root=Path("/nonexistent"),
    locals={"n": 2, "s": "text é", "l": ["x", "y"], "m": {"a": 1, "b": "z"}, "t": True, "z": None},
)
SEEDS = [
    f"${{{name}({arguments})}}".encode()
    for name in FUNCTIONS
    for arguments in ("", "local.s", "local.s, local.n", "local.l", "local.m", '"a", local.l, 2')
] + [
    b"a${local.s}b%{ if local.t }x%{ else ~} y %{ endif }%{ for k, v in local.m }${k}%{ endfor }",
    b"${[for k, v in local.m : upper(k) if v != 1]}",
    b"${{for v in local.l : v => length(v)...}}",
    b'${local.l[*]}${local.m["a"]}${local.l[0]}',
    b'${(1 + 2 * -3) / 4 % 5 == 0 && !true || 1 < 2 ? 1e3 : "a\\u00e9"}',
    b'${regexall("(?P<a>x)|y*", replace(local.s, "/t(e)/", "$1"))}',
    b'${format("%5.2f %-8s %q %v %#v %03d", 1.5, "a", "b", local.m, local.l, 7)}',
    b'${cidrsubnet("10.0.0.0/8", 8, 2)} ${formatdate("YYYY-MM-DD", "2020-01-02T03:04:05Z")}',
    b'${jsondecode("{\\"a\\": [1, 2.50, null]}").a[1]} ${csvdecode("a,b\\n1,2")[0].a}',
]


def check(data: bytes) -> None:
    """Evaluate `data` as a template."""
    text = data.decode("utf-8", "replace")
    # A file that an expression names is not what is tried here, and may be a device.
    if "file" in text and "/" in text:
        return
    scope = Evaluator(_PROGRAM, {}, lambda address: None, applying=True).scope()
    try:
        evaluate_argument("fuzz", "value", text, scope)
    except OpsconsoleError as error:
        str(error)
