"""What one expression may ask for has bounds: one clear error, no hang and no gigabytes."""

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from forked_runs import Forks, forks_of
from opsconsole.errors import UserError
from opsconsole.language.failures import MAX_FILE, MAX_INSTANCES
from opsconsole.language.functions.regular_expressions import replace_all

LIMITED = """
import json, resource
from pathlib import Path
from opsconsole import resources
from opsconsole.errors import UserError
from opsconsole.language.evaluator import Evaluator
from opsconsole.language.graph import build_graph
from opsconsole.language.synthesis import load_directory

def run(directory):
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    try:
        program = load_directory(Path(directory), resources)
        build_graph(program)
        print(json.dumps(Evaluator(program, {}, lambda address: None).output("o").value))
    except UserError as error:
        print(error)
"""


@pytest.fixture(scope="module")
def limited() -> Iterator[Forks]:
    """Processes that may have a gigabyte of memory."""
    with forks_of(LIMITED) as forks:
        yield forks


def out(expression: str, **local_values: Any) -> dict[str, Any]:
    """Return a program with one output."""
    return {"locals": local_values, "output": {"o": {"value": f"${{{expression}}}"}}}


BEFORE = {f"t{place}": f"local.t{place - 1}" for place in range(1, 41)}
GROWTH = {
    "texts that double": out(
        "length(local.t40)", t0="x" * 16, **{t: f"${{{it}}}${{{it}}}" for t, it in BEFORE.items()}
    ),
    "lists that double": out(
        "length(local.t40)", t0=[1], **{t: f"${{concat({it}, {it})}}" for t, it in BEFORE.items()}
    ),
    "lists of lists": out(
        "length(jsonencode(local.t40))",
        t0=[1],
        **{t: [f"${{{it}}}"] * 2 for t, it in BEFORE.items()},
    ),
    "nested for": out("[for a in range(1000): [for b in range(1000): [for c in range(1000): c]]]"),
    "product": out("setproduct(range(1000), range(1000), range(1000))"),
    "width": out('format("%999999999d", 1)'),
    "precision": out('format("%.999999999f", 1)'),
    "long texts": out('join("", [for i in range(1000): format("%1000000d", i)])'),
    "replace": out('replace(format("%1000000d", 1), " ", format("%100000d", 1))'),
    "replace by pattern": out('replace(format("%1000000d", 1), "/ /", format("%100000d", 1))'),
    "indent": out('indent(999999999, "a\\nb")'),
    "large number": out("1e999999999"),
    "small number": out("1e-999999999"),
    "product of numbers": out("1e3000 * 1e3000"),
    "digits": out("9" * 5000),
    "digits in a text": out(f'parseint("{"9" * 5000}", 10)'),
    "unary minus": out("-" * 20_000 + "1"),
    "brackets": out("(" * 20_000 + "1" + ")" * 20_000),
    "lists in lists": out("[" * 20_000 + "]" * 20_000),
    "calls": out("upper(" * 5_000 + '"a"' + ")" * 5_000),
    "strings in strings": out('"${' * 3_000 + "1" + '}"' * 3_000),
    "tokens": out("1" + " + 1" * 50_000),
    "operators": out(" || ".join(["true"] * 5_000)),
    "conditionals": out("true ? 1 : " * 2_000 + "2"),
    "JSON in a text": out(f'jsondecode("{"[" * 5_000}{"]" * 5_000}")'),
    "directives": out(
        '"%{ for a in range(1000) }%{ for b in range(1000) }%{ for c in range(1000) }'
        f'{"x" * 400}%{{ endfor }}%{{ endfor }}%{{ endfor }}"'
    ),
    "a device": out('file("/dev/zero")'),
}


@pytest.mark.parametrize("name", GROWTH)
def test_growth_ends_at_a_bound(name, write_program, limited):
    directory = write_program(GROWTH[name])
    done = limited.run(str(directory), folder=directory)
    assert done.code == 0, done.err
    assert done.out.count("\n") == 1
    bounds = ("asks for too much", "nested too deeply", "not a regular file")
    assert any(words in done.out for words in bounds), done.out


def test_a_pattern_takes_linear_time(start):
    text = "a" * 100_000 + "b"
    assert start(out('can(regex("^(a+)+$", local.text))', text=text)).output("o") is False


def test_local_values_may_refer_to_each_other_in_a_long_chain(start):
    chain = {f"v{place}": f"${{local.v{place - 1}}}" for place in range(1, 5000)}
    assert start({**out("local.v4999", v0="end", **chain)}).output("o") == "end"


@pytest.mark.parametrize("end", ['${upper("a", "b")}', "${opsconsole_host.a.id}"])
def test_a_long_chain_may_end_in_what_has_no_value(start, end):
    chain = {f"v{place}": f"${{local.v{place - 1}}}" for place in range(1, 3000)}
    declared = {"opsconsole_host": {"a": {"name": "a"}}}
    run = start({**out("local.v2999", v0=end, **chain), "resource": declared})
    if "upper" in end:
        with pytest.raises(UserError, match="upper"):
            run.output("o")
    else:
        assert run.output("o") is not None
        run.held["opsconsole_host.a"] = {"id": "hst_1"}
        assert run.output("o") == "hst_1"


def test_a_chain_of_resources_may_be_long(start):
    hosts = {
        f"h{place}": {"name": f"${{opsconsole_host.h{place - 1}.id}}"} for place in range(1, 3000)
    }
    run = start({"resource": {"opsconsole_host": {"h0": {"name": "first"}, **hosts}}})
    assert run.config("opsconsole_host.h2999")["name"] is not None


def test_a_count_has_a_bound(start):
    counts = {"a": MAX_INSTANCES, "b": MAX_INSTANCES + 1}
    run = start({"resource": {"opsconsole_host": {k: {"count": n} for k, n in counts.items()}}})
    assert len(run.evaluator.instances(run.program.blocks["opsconsole_host.a"])) == MAX_INSTANCES
    with pytest.raises(UserError, match=f"more than {MAX_INSTANCES:,} instances"):
        run.evaluator.instances(run.program.blocks["opsconsole_host.b"])


def test_a_file_has_a_bound(start, tmp_path):
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(MAX_FILE + 1)
    run = start(out(f'try(file("{large}"), "caught")'))
    with pytest.raises(UserError, match="more than 16,777,216 bytes"):
        run.output("o")


def test_a_pipe_that_nobody_writes_to_is_no_file(start, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    run = start(out(f'file("{tmp_path / "pipe"}")'))
    with pytest.raises(UserError, match="not a regular file"):
        run.output("o")


def test_a_bound_is_not_caught_by_try(start):
    run = start(out('try(format("%9999999d", 1), "caught")'))
    with pytest.raises(UserError, match="Terraform can run it"):
        run.output("o")


def test_a_duration_has_a_bound(start):
    run = start(out(f'timeadd("2024-01-01T00:00:00Z", "{"9" * 5000}s")'))
    with pytest.raises(UserError, match="is not a duration"):
        run.output("o")


def test_each_value_has_a_bound_of_its_own(start):
    half = '[for x in [format("%1000000d", 1)] : [for i in range(9) : "${x}${x}" == ""]]'
    run = start(out(half, a=f"${{{half}}}", b=f"${{{half}}}"))
    assert run.evaluator.outputs()["o"].value == run.output("o") == [[False] * 9]


def test_the_depth_of_a_value_has_a_bound(start):
    # Some test libraries raise Python's limit for the whole process.
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    try:
        with pytest.raises(UserError, match=r"output\.o: value: its value is nested too"):
            start('{"output": {"o": {"value": ' + "[" * 700 + "]" * 700 + "}}}").output("o")
    finally:
        sys.setrecursionlimit(limit)


def test_halves_of_characters_become_the_replacement_character(start):
    run = start('{"output": {"o": {"value": ["a\\ud800b"]}, "p": {"value": "\\ud83d\\ude00"}}}')
    assert (run.output("o"), run.output("p")) == (["a\ufffdb"], "\U0001f600")


@pytest.mark.parametrize(
    ("pattern", "text", "replacement", "result"),
    [
        ("a*", "baac", "x", "xbxcx"),
        ("", "é1", "-", "-é-1-"),
        ("(?P<n>a)(b)?", "abac", "<${n}$2$$$3$01>", "<ab$><a$>c"),
        ("a", "aa", "${1}x", "xx"),
        ("(a)", "aa", "$1x", ""),
    ],
)
def test_replacing_is_gos(pattern, text, replacement, result):
    assert replace_all(text, pattern, replacement) == result


PATTERNS = (
    "a*", "", "^", "$", r"\b", "(a)|(b)", "(?i)É", r"\pL+", r"[[:alpha:]]+", r"\Qa.b\E", r"(?s).+",
    "(?m)^.$", "(?U)a+", "x{2,3}?", "[^a]", r"\x{e9}", "(?P<n>.)(?P<m>.)?", "(?<k>a)", r"\z",
    "(a+)+$", "a**", "(", "[a-", "x{1001}", r"\C", r"\1", "(?=a)", "(?P<é>a)", r"\8", "[[:nope:]]",
    "a{,2}", "(?P<n>a)(b)", "(?:)", "é*",
)  # fmt: skip
TEXTS = ("", "a", "aab", "éaÉ", "a.b\na", "xxx\n", "1\r\n2")


@pytest.mark.terraform
def test_patterns_mean_what_they_mean_for_terraform(assert_judged_alike):
    templates = []
    for pattern in PATTERNS:
        for text in TEXTS:
            written, of = json.dumps(pattern), json.dumps(text, ensure_ascii=False)
            inside = json.dumps(f"/{pattern}/")
            templates.append(f"${{try(regex({written}, {of}), null)}}")
            templates.append(f"${{regexall({written}, {of})}}")
            templates.append(f'${{replace({of}, {inside}, "<$0$1$${{n}}>")}}')
    assert_judged_alike(templates)
