"""Generates `*_pb2.py` and `*_pb2.pyi` from the `.proto` files beside this one.

Run by developers as `python -m opsconsole.terraform.proto.regenerate`; needs grpcio-tools.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE_ROOT = HERE.parents[2]


def regenerate(into: Path = SOURCE_ROOT) -> None:
    """Write the generated modules under `into`, a source root.

    Raises:
        subprocess.CalledProcessError: The protobuf compiler refused a file.
    """
    sources = sorted(str(path) for path in HERE.glob("*.proto"))
    flags = [f"-I{SOURCE_ROOT}", f"--python_out={into}", f"--pyi_out={into}"]
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *flags, *sources], check=True)


if __name__ == "__main__":
    regenerate()
