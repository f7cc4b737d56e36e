"""Generates `*_pb2.py` and `*_pb2.pyi` of `opsconsole.terraform.proto` from its `.proto` files.

Run by developers as `python -m scripts.protobuf`; needs grpcio-tools.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SOURCE_ROOT = Path(__file__).resolve().parents[1] / "provider"
HERE = SOURCE_ROOT / "opsconsole" / "terraform" / "proto"


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
