"""`python -m opsconsole.emulator`: the emulator alone, without the other commands."""

from __future__ import annotations

import argparse
import sys

from opsconsole.emulator.command import add_arguments, run

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="opsconsole emulator", description=__doc__)
    add_arguments(parser)
    sys.exit(run(parser.parse_args()))
