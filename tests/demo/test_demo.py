"""`make demo` tells its story, with Terraform and without, and leaves nothing behind."""

import shutil
import sys
from pathlib import Path

import pytest

from engines import ROOT, run_program

DEMO = ROOT / "examples" / "demo.py"
CDKTF = ROOT / "node_modules" / ".bin" / "cdktf"

NATIVE_REPAIR = (
    "$ opsconsole drift",
    "Missing (2)",
    "Archived (2)",
    "Changed (1)",
    "~ target_port = 22 -> 2222",
    "Drift. 5 resources drifted.",
    "Apply complete! Resources: 4 added, 1 changed, 0 destroyed.",
    "$ opsconsole destroy",
    "along",
    "Destroy complete! Resources: 23 destroyed.",
    "0 hosts are left",
)


def show(folder: Path, **variables: str) -> str:
    """Run the demo with `folder` as the place of temporary files; return what it wrote."""
    done = run_program(sys.executable, DEMO, folder=folder, TMPDIR=str(folder), **variables)
    left = [path.name for path in folder.iterdir() if path.name.startswith("opsconsole-")]
    assert left == []
    return done.out


def in_order(text: str, *sentences: str) -> None:
    """Check that `sentences` stand in `text`, one after the other."""
    position = 0
    for sentence in sentences:
        found = text.find(sentence, position)
        assert found >= 0, f"{sentence!r} is missing after:\n{text[:position]}\nin:\n{text}"
        position = found + len(sentence)


@pytest.mark.real_client
@pytest.mark.cdktf
@pytest.mark.terraform
def test_the_whole_way(tmp_path):
    # Not "Apply complete!" and the like: cdktf may end before it has passed on the last lines.
    in_order(
        show(tmp_path),
        "It declares 6 agents, 6 plugin attachments, 2 blacklisted commands, 8 hosts, 1 specialty",
        "$ cdktf plan",
        "Plan: 23 to add, 0 to change, 0 to destroy.",
        "$ cdktf deploy",
        "web-north   10.1.0.10  jump-north       web-north  disk, logs",
        "No changes.",
        "Behind everybody's back",
        "gone",
        '~ tags = - "role:cache" + "role:web"',
        "~ target_port = 2222 -> 22",
        "Plan: 4 to add, 1 to change, 0 to destroy.",
        "The repair",
        "$ cdktf deploy",
        "No changes.",
        "$ cdktf destroy",
        "0 hosts are left",
        "carried out by the reconciler",
        "$ cdktf deploy",
        "through Terraform it took",
        "The same without Terraform",
        *NATIVE_REPAIR,
    )


@pytest.mark.real_client
def test_without_terraform(tmp_path):
    node = shutil.which("node")
    programs = tmp_path / "programs"
    programs.mkdir()
    if node:
        (programs / "node").symlink_to(node)
    in_order(
        show(tmp_path, PATH=str(programs)),
        "Neither Terraform nor OpenTofu is here",
        "$ python examples/fleet/main.py",
        "It declares 6 agents",
        *(("$ cdktf deploy", "$ cdktf destroy") if node and CDKTF.exists() else ()),
        "$ opsconsole plan",
        "Plan: 1 to adopt, 22 to add, 0 to change, 0 to destroy.",
        "web-north   10.1.0.10  jump-north       web-north  disk, logs",
        "No changes.",
        *NATIVE_REPAIR,
    )
