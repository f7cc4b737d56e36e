"""Texts of the frameworks' own grammars: what is declared is the text itself, or refused."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cdktf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opsconsole import resources
from opsconsole.adopt.fleet_rows import literal
from opsconsole.language import Evaluator, load_directory
from opsconsole_cdktf import BadRows, Fleet, Host
from sampling import EVERYTHING

TOKENS = (
    *("${TfToken[TOKEN.0]}", "#{TfToken[TOKEN.1]}", "x ${TfToken[TOKEN.9999]}"),
    *("$${TfToken[a]}", "$#{TfToken[:.-_]}", "-8.10956221259138e+298", "Any Map Token Value"),
    "a-0.0000810956221259138e303",
)
SIGNS = ("$", "${", "$${", "%{", "#", "}", '"', "\\", "\n", "a", " ", "1e5", "&{TfToken[a]}")
TEXTS = st.lists(st.sampled_from([*TOKENS, *SIGNS]), min_size=1, max_size=5).map("".join)
many = settings(
    max_examples=20 if EVERYTHING else 2,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def declared(stack: cdktf.TerraformStack, synth: Any, folder: Path) -> dict[str, dict[str, Any]]:
    """Return what each host of a stack declares, by the name in its address."""
    (folder / "cdk.tf.json").write_text(json.dumps(synth(stack)))
    program = load_directory(folder, resources)
    evaluator = Evaluator(program, {}, lambda address: None)
    return {
        address.partition(".")[2]: evaluator.config(instance).values
        for address, block in program.blocks.items()
        for instance in evaluator.instances(block).values()
    }


@many
@given(texts=st.lists(TEXTS, min_size=100, max_size=100))
def test_a_text_that_adopt_writes_is_declared_as_it_is(texts, new_stack, synth, tmp_path):
    stack = new_stack()
    texts = [*TOKENS, *texts]
    for number, text in enumerate(texts):
        Host(stack, f"h{number}", name=literal(f"x{text}"), tags=[literal(f"a:{text}")])
    rows = [{"key": f"r{n}", "name": literal(f"x{text}.")} for n, text in enumerate(texts)]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    Fleet.from_json(stack, "fleet", tmp_path / "rows.json")
    found = declared(stack, synth, tmp_path)
    hosts = [found[f"h{number}"] for number in range(len(texts))]
    assert [host["name"] for host in hosts] == [f"x{text}" for text in texts]
    assert [host["tags"] for host in hosts] == [[f"a:{text}"] for text in texts]
    assert {f"x{text}." for text in texts} <= {host["name"] for host in found.values()}


def test_an_id_of_hexadecimal_digits_is_written_as_it_is():
    assert literal("hst_0189b4e288c551988c94") == "hst_0189b4e288c551988c94"


WAYS: dict[str, Callable[[Any, str, str], Any]] = {
    "name": lambda stack, name, text: Host(stack, name, name=text),
    "tags": lambda stack, name, text: Host(stack, name, name="x", tags=[f"a:{text}"]),
    "assigned": lambda stack, name, text: setattr(Host(stack, name, name="x"), "name", text),
    "row": lambda stack, name, text: Fleet(stack, name, [{"key": name, "name": text}]),
}


@many
@given(texts=st.lists(TEXTS, min_size=50, max_size=50))
def test_a_text_in_a_program_is_declared_as_it_is_or_refused(texts, new_stack, synth, tmp_path):
    stack = new_stack()
    kept: list[str] = []
    for number, text in enumerate([*TOKENS, *texts]):
        # What Terraform takes for a template has a meaning of its own.
        is_template = re.search(r"\$\{(?!TfToken\[[\w:.-]+\]\})|%\{", text)
        for way, declare in WAYS.items() if not is_template else ():
            try:
                declare(stack, f"{way}{number}", text)
                kept += [text] * (way == "name")
            except ValueError as problem:
                assert "the form of a token" in str(problem) or not text.strip(), problem
    assert not {*kept} & {*TOKENS}
    assert {*kept} <= {host["name"] for host in declared(stack, synth, tmp_path).values()}


@pytest.mark.parametrize("text", ["a-{0}", "10.{0}", "{0}-a", "{0}5", "{0}e", "{0}-{1}"])
def test_a_number_that_the_framework_would_not_see_is_refused(text, stack, synth):
    """The framework would write the number of the token itself, or lose what stands beside it."""
    port = Host(stack, "a", name="a").target_port
    with pytest.raises(ValueError, match=r"stack/b: name: cdkt[fn] does not see.*Token\.as_string"):
        Host(stack, "b", name=text.format(port, port))
    seen = [text.format(*[cdktf.Token.as_string(port)] * 2), f"port {port}/tcp"]
    for number, name in enumerate(seen):
        Host(stack, f"b{number}", name=name)
    reference = "${opsconsole_host.a.target_port}"
    hosts = synth(stack)["resource"]["opsconsole_host"]
    names = [hosts[f"b{number}"]["name"] for number in range(len(seen))]
    assert names == [text.format(reference, reference), f"port {reference}/tcp"]


@pytest.mark.parametrize(
    "declare",
    [
        lambda tags: {"name": "b", "tags": [*tags, "a:b"]},
        lambda tags: {"name": tags[0]},
        lambda tags: {"name": f"b {tags}"},
    ],
)
def test_a_list_that_python_takes_apart_is_refused_with_the_remedy(declare, stack):
    tags = Host(stack, "a", name="a").tags
    with pytest.raises(ValueError, match=r"stack/b: \w+: a list of .*Fn\.concat\(\[LIST, …\]\)"):
        Host(stack, "b", **declare(tags))


def test_a_token_of_the_program_in_a_file_is_refused(stack, tmp_path):
    jump = Host(stack, "jump", name="jump")
    for name, text in (
        ("a.csv", f"name,knowledge\nweb,{jump.id}\n"),
        ("a.json", json.dumps([{"name": "web", "jump_hosts": [jump.id]}])),
        ("a.yaml", json.dumps({"web": {"tags": jump.tags, "knowledge": jump.id}})),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(BadRows, match=rf"{name}:\d+: .* a file holds no token"):
            getattr(Fleet, f"from_{name[2:]}")(stack, name[2:], tmp_path / name)
