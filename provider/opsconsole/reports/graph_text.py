"""The graph of a program for other programs to draw: Mermaid, or Graphviz's DOT."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from opsconsole.definition import NodeStyle
from opsconsole.language import Block, Graph, Program
from opsconsole.resources import RESOURCES
from opsconsole.text import printable, short_type

_OTHER = NodeStyle()


def mermaid(program: Program, graph: Graph) -> str:
    """Return the graph as a Mermaid flowchart, with arrows from dependents to dependencies."""
    names = _node_names(graph)
    lines = ["flowchart LR"]
    for address in graph.order:
        before, after = _node_style(program.blocks[address]).brackets
        label = _label(program.blocks[address]).replace('"', "#quot;").replace("\n", "<br/>")
        lines.append(
            f'  {names[address]}{before}"{label}"{after}:::{_class_name(address, program)}'
        )
    for address in graph.order:
        lines += [f"  {names[address]} --> {names[item]}" for item in graph.direct[address]]
    used = {
        _class_name(address, program): _node_style(program.blocks[address]).fill
        for address in graph.order
    }
    lines += [
        f"  classDef {name} fill:{fill},stroke:#64748b,color:#0f172a" for name, fill in used.items()
    ]
    return "\n".join([*lines, ""])


def dot(program: Program, graph: Graph) -> str:
    """Return the graph in DOT, with arrows from dependents to dependencies."""
    names = _node_names(graph)
    lines = [
        "digraph program {",
        "  rankdir = LR;",
        '  node [fontname = "sans-serif", style = filled];',
    ]
    for address in graph.order:
        style = _node_style(program.blocks[address])
        label = _label(program.blocks[address])
        for letter, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")):
            label = label.replace(letter, written)
        lines.append(
            f'  {names[address]} [label = "{label}", shape = {style.shape}, '
            f'fillcolor = "{style.fill}"];'
        )
    for address in graph.order:
        lines += [f"  {names[address]} -> {names[item]};" for item in graph.direct[address]]
    return "\n".join([*lines, "}", ""])


FORMATS: Mapping[str, Callable[[Program, Graph], str]] = {"mermaid": mermaid, "dot": dot}


def _node_names(graph: Graph) -> dict[str, str]:
    return {address: f"n{number}" for number, address in enumerate(graph.order)}


def _node_style(block: Block) -> NodeStyle:
    return _OTHER if block.mode == "data" else RESOURCES[block.type_name].node_style


def _class_name(address: str, program: Program) -> str:
    block = program.blocks[address]
    return "data" if block.mode == "data" else short_type(block.type_name)


def _label(block: Block) -> str:
    kind = short_type(block.type_name).replace("_", " ")
    mode = "data: " if block.mode == "data" else ""
    many = " (count)" if block.counted else " (for_each)" if block.repeated else ""
    return f"{printable(block.name)}\n{mode}{kind}{many}"
