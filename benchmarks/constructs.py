"""How long a program of many constructs takes to build and to synthesise.

Ours, the bindings that `cdktf get` generates (given by `--generated FOLDER`, its output), and
cdktf's own resource class without any attribute, which is the floor. Each in a process of its own,
in one run: compare the ratios, as the figures differ from machine to machine.
Run: `python benchmarks/constructs.py [--hosts N] [--generated FOLDER]`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from opsconsole.jsii_node import jsii_environment

HOSTS = 5000
SECONDS = 300

_FLOOR = """
from cdktf import TerraformResource

class OpsconsoleProvider:
    def __init__(self, stack, name):
        pass

def Host(stack, construct_id, **values):
    return TerraformResource(stack, construct_id, terraform_resource_type="opsconsole_host")
"""
_GENERATED = """
from opsconsole.host import Host
from opsconsole.provider import OpsconsoleProvider
"""
_OURS = "from opsconsole_cdktf import Host, OpsconsoleProvider"

_PROGRAM = """
import json, resource, sys, tempfile, time
from cdktf import App, TerraformStack
{imports}

app = App(outdir=tempfile.mkdtemp())
stack = TerraformStack(app, "stack")
OpsconsoleProvider(stack, "opsconsole")
started = time.perf_counter()
for number in range({hosts}):
    Host(
        stack,
        f"host{{number}}",
        name=f"host-{{number}}",
        private_ip="10.0.0.1",
        target_port=22,
        skip_tls_verify=True,
        tags=["site:north", "role:web"],
    )
built = time.perf_counter()
app.synth()
synthesised = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([built - started, synthesised - built, peak]))
"""


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    constructs: str
    build_seconds: float
    synth_seconds: float
    python_mebibytes: float


def measure(name: str, imports: str, hosts: int, path: Path | None = None) -> Row:
    """Build and synthesise `hosts` hosts with the classes that `imports` makes, in a process."""
    environment = {**os.environ, **jsii_environment(os.environ)}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    program = _PROGRAM.format(imports=imports, hosts=hosts)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
        timeout=SECONDS,
    )
    build, synth, peak = json.loads(done.stdout)
    return Row(name, build, synth, peak)


def rows(hosts: int = HOSTS, generated: Path | None = None) -> list[Row]:
    """Measure everything that can be measured, the floor first."""
    measured = [
        measure("cdktf's resource, no attributes", _FLOOR, hosts),
        measure("opsconsole_cdktf", _OURS, hosts),
    ]
    if generated is not None:
        measured.append(measure("cdktf get", _GENERATED, hosts, generated))
    return measured


def table(measured: Sequence[Row], hosts: int) -> str:
    """Lay the rows out, with the sum of both times as a ratio to the floor's."""
    floor = measured[0].build_seconds + measured[0].synth_seconds
    lines = [f"{f'{hosts} hosts':34}{'build':>9}{'synth':>9}{'ratio':>8}{'Python':>10}"]
    for row in measured:
        ratio = (row.build_seconds + row.synth_seconds) / floor
        lines.append(
            f"{row.constructs:34}{row.build_seconds:7.2f} s{row.synth_seconds:7.2f} s"
            f"{ratio:8.2f}{row.python_mebibytes:6.0f} MiB"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--hosts", type=int, default=HOSTS)
    parser.add_argument("--generated", type=Path, help="what `cdktf get` wrote")
    options = parser.parse_args()
    print(table(rows(options.hosts, options.generated), options.hosts))


if __name__ == "__main__":
    main()
