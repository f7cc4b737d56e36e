"""How much is tested: a sample in `make test`, everything where a variable asks for it."""

from __future__ import annotations

import os
from typing import Final

EVERYTHING: Final = os.environ.get("OPSCONSOLE_TEST_EVERYTHING", "") not in ("", "0")
"""Whether every case is to run, and not only the sample that fits `make test`."""
