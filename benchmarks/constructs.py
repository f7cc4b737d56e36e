"""How long a program of many constructs takes to build and to synthesise.

Ours, the bindings that `cdktf get` generates, and cdktf's own resource class without any attribute,
which is the floor; each under `python -O` too, which leaves out what the bindings check. Each in a
process of its own, in one run: compare the ratios, as the figures differ from machine to machine.
Run: `python -m benchmarks.constructs [--hosts N] [--generated FOLDER]`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.deploy import find_cdktf
from benchmarks.terraform import find_terraform
from opsconsole.language import jsii_environment

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


def measure(name: str, imports: str, hosts: int, path: Path | None = None, *flags: str) -> Row:
    """Build and synthesise `hosts` hosts with the classes that `imports` makes, in a process.

    Args:
        path: Where Python looks for modules first.
        flags: Options of Python.
    """
    environment = {**os.environ, **jsii_environment()}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    program = _PROGRAM.format(imports=imports, hosts=hosts)
    done = subprocess.run(
        [sys.executable, *flags, "-c", program],
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
    subjects: list[tuple[str, str, Path | None]] = [
        ("cdktf's resource, no attributes", _FLOOR, None),
        ("opsconsole_cdktf", _OURS, None),
    ]
    if generated is not None:
        subjects.append(("cdktf get", _GENERATED, generated))
    plain = [measure(name, imports, hosts, path) for name, imports, path in subjects]
    optimised = [
        measure(f"{name}, python -O", imports, hosts, path, "-O")
        for name, imports, path in subjects[1:]
    ]
    return [*plain, *optimised]


@contextlib.contextmanager
def generated_bindings() -> Iterator[Path | None]:
    """Have `cdktf get` generate the bindings; None where cdktf or Terraform is not installed."""
    cdktf = find_cdktf()
    if cdktf is None or find_terraform() is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        install = ["-m", "opsconsole.cli.main", "provider", "install", "--plugin-dir", name]
        subprocess.run([sys.executable, *install], check=True, capture_output=True)
        settings = {
            "language": "python",
            "app": "true",
            "projectId": "00000000-0000-0000-0000-000000000000",
            "sendCrashReports": "false",
            "terraformProviders": ["opsconsole/opsconsole@~> 0.1"],
            "codeMakerOutput": "generated",
        }
        (folder / "cdktf.json").write_text(json.dumps(settings))
        environment = {
            **os.environ,
            **jsii_environment(),
            "TF_CLI_CONFIG_FILE": str(folder / "opsconsole.tfrc"),
            "CHECKPOINT_DISABLE": "1",
        }
        subprocess.run(
            [cdktf, "get", "--force"],
            cwd=folder,
            env=environment,
            check=True,
            capture_output=True,
            timeout=SECONDS,
        )
        yield folder / "generated"


def table(measured: Sequence[Row], hosts: int) -> str:
    """Lay the rows out, with the sum of both times as a ratio to the floor's."""
    floor = measured[0].build_seconds + measured[0].synth_seconds
    lines = [f"{f'{hosts} hosts':38}{'build':>9}{'synth':>9}{'ratio':>8}{'Python':>10}"]
    for row in measured:
        ratio = (row.build_seconds + row.synth_seconds) / floor
        lines.append(
            f"{row.constructs:38}{row.build_seconds:7.2f} s{row.synth_seconds:7.2f} s"
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
