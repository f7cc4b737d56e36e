"""Dependencies and order. Cycles and references to nothing: `program_refusals.txt`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsconsole import resources
from opsconsole.language.graph import Graph, build_graph
from opsconsole.language.model import Block, Origin, Program
from opsconsole.language.reading import load_directory


@pytest.fixture
def graph(write_program: Callable[..., Path]) -> Callable[[Any], Graph]:
    """Return the graph of a program."""
    return lambda document: build_graph(load_directory(write_program(document), resources))


def test_dependencies_come_from_everywhere(graph):
    names = ["org", "plain", "called", "counted", "named", "trigger", "looped", "through_local"]
    user = {
        "name": "n",
        "provider": "opsconsole.x",
        "external_id": "${opsconsole_host.plain.id}",
        "tags": ["${upper(opsconsole_host.called.name)}"],
        "jump_host_ids": "${local.deep}",
        "count": "${length(opsconsole_host.counted.tags)}",
        "depends_on": ["opsconsole_host.named", "data.opsconsole_specialty.s"],
        "lifecycle": {"replace_triggered_by": ["opsconsole_host.trigger.name"]},
        "knowledge": "${[for h in opsconsole_host.looped.tags : h]}",
    }
    deeper = [{"${opsconsole_host.through_local.id}": 1}]
    hosts = {"user": user, **{name: {"name": "n"} for name in names}}
    program = {
        "provider": {"opsconsole": [{"alias": "x", "org_id": "${opsconsole_host.org.id}"}]},
        "locals": {"deep": "${local.deeper}", "deeper": deeper},
        "resource": {"opsconsole_host": hosts},
        "data": {"opsconsole_specialty": {"s": {"key": "k"}}},
        "output": {"o": {"value": "${opsconsole_host.user[0].id}"}},
    }
    made = graph(program)
    expected = {"data.opsconsole_specialty.s", *(f"opsconsole_host.{name}" for name in names)}
    assert set(made.direct["opsconsole_host.user"]) == expected
    assert made.ancestors("opsconsole_host.user") == tuple(sorted(expected))
    assert made.order[-1] == "opsconsole_host.user"
    assert made.outputs["o"] == ("opsconsole_host.user",)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=30))
def test_order_puts_every_block_after_what_it_depends_on(edges):
    acyclic = {(max(pair), min(pair)) for pair in edges if pair[0] != pair[1]}
    blocks = {}
    for place in (7, 3, 0, 12, 1, 5, 2, 11, 4, 10, 6, 9, 8):
        tags = [f"${{opsconsole_host.h{low}.id}}" for high, low in acyclic if high == place]
        address = ("managed", "opsconsole_host", f"h{place}")
        block = Block(*address, {"tags": tags}, Origin("f"), "opsconsole")
        blocks[block.address] = block
    made = build_graph(Program(Path(), blocks=blocks))
    assert sorted(made.order) == sorted(blocks)
    position = {address: place for place, address in enumerate(made.order)}
    for address, dependencies in made.direct.items():
        assert all(position[item] < position[address] for item in dependencies)
        ancestors = {*dependencies}.union(*map(made.ancestors, dependencies))
        assert made.ancestors(address) == tuple(sorted(ancestors))
