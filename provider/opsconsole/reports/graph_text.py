"""The graph of a program for other programs to draw: Mermaid, or Graphviz's DOT."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from opsconsole.language.graph import Graph
from opsconsole.language.model import Block, Program
from opsconsole.reports.literals import printable
from opsconsole.resources import AGENT, AGENT_PLUGIN, BLACKLISTED_COMMAND, HOST, SPECIALTY

_LOOKS = {
    HOST.type_name: ("[", "]", "box", "#dbeafe"),
    AGENT.type_name: ("([", "])", "oval", "#dcfce7"),
    AGENT_PLUGIN.type_name: ("[/", "/]", "parallelogram", "#f3e8ff"),
    SPECIALTY.type_name: ("{{", "}}", "hexagon", "#fef9c3"),
    BLACKLISTED_COMMAND.type_name: (">", "]", "cds", "#fee2e2"),
}
_OTHER = ("[(", ")]", "cylinder", "#f1f5f9")


def mermaid(program: Program, graph: Graph) -> str:
    """Return the graph as a Mermaid flowchart: an arrow leads to what something depends on."""
    names = _names(graph)
    lines = ["flowchart LR"]
    for address in graph.order:
        before, after, _, _ = _look(program.blocks[address])
        label = _label(program.blocks[address]).replace('"', "#quot;").replace("\n", "<br/>")
        lines.append(f'  {names[address]}{before}"{label}"{after}:::{_class(address, program)}')
    for address in graph.order:
        lines += [f"  {names[address]} --> {names[item]}" for item in graph.direct[address]]
    used = {_class(address, program): _look(program.blocks[address])[3] for address in graph.order}
    lines += [
        f"  classDef {name} fill:{fill},stroke:#64748b,color:#0f172a" for name, fill in used.items()
    ]
    return "\n".join([*lines, ""])


def dot(program: Program, graph: Graph) -> str:
    """Return the graph in DOT: an arrow leads to what something depends on."""
    names = _names(graph)
    lines = [
        "digraph program {",
        "  rankdir = LR;",
        '  node [fontname = "sans-serif", style = filled];',
    ]
    for address in graph.order:
        _, _, shape, fill = _look(program.blocks[address])
        label = _label(program.blocks[address])
        for letter, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")):
            label = label.replace(letter, written)
        lines.append(
            f'  {names[address]} [label = "{label}", shape = {shape}, fillcolor = "{fill}"];'
        )
    for address in graph.order:
        lines += [f"  {names[address]} -> {names[item]};" for item in graph.direct[address]]
    return "\n".join([*lines, "}", ""])


FORMATS: Mapping[str, Callable[[Program, Graph], str]] = {"mermaid": mermaid, "dot": dot}


def _names(graph: Graph) -> dict[str, str]:
    return {address: f"n{number}" for number, address in enumerate(graph.order)}


def _look(block: Block) -> tuple[str, str, str, str]:
    return _OTHER if block.mode == "data" else _LOOKS.get(block.type_name, _OTHER)


def _class(address: str, program: Program) -> str:
    block = program.blocks[address]
    return "data" if block.mode == "data" else block.type_name.removeprefix("opsconsole_")


def _label(block: Block) -> str:
    kind = block.type_name.removeprefix("opsconsole_").replace("_", " ")
    mode = "data: " if block.mode == "data" else ""
    many = " (count)" if block.counted else " (for_each)" if block.repeated else ""
    return f"{printable(block.name)}\n{mode}{kind}{many}"
