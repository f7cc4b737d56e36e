"""Programs of `examples/`, run in the process of the test."""

import functools
import runpy
from pathlib import Path

import cdktf
import pytest

from engines import ROOT

EXAMPLES = ROOT / "examples"


def synthesise(program: Path, folder: Path) -> Path:
    """Run a program with a stack `fleet`; return the file that is synthesised below a folder."""
    with pytest.MonkeyPatch.context() as patch:
        # CDKTF_OUTDIR would come too late: jsii's Node has started with the environment of tests.
        patch.setattr(cdktf, "App", functools.partial(cdktf.App, outdir=str(folder)))
        runpy.run_path(str(program), run_name="__main__")
    return folder / "stacks" / "fleet" / "cdk.tf.json"
