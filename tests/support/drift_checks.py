"""`opsconsole drift` on a state that either engine left, and what its report says."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engines import run_command
from opsconsole.emulator import Emulator


@dataclass
class DriftCheck:
    """What one `opsconsole drift` came to: its exit code, and its JSON."""

    code: int
    document: dict[str, Any]

    @property
    def findings(self) -> list[dict[str, Any]]:
        return self.document["findings"]

    def of(self, address: str) -> dict[str, Any]:
        """Return the one finding of an address."""
        [found] = [item for item in self.findings if item["address"] == address]
        return found

    def bucket(self, address: str) -> str:
        return self.of(address)["bucket"]

    def changed(self, address: str) -> dict[str, tuple[Any, Any]]:
        """Return attribute to the values of state and console."""
        return {
            item["attribute"]: (item["state"], item["console"])
            for item in self.of(address)["differences"]
        }

    def addresses(self, bucket: str) -> set[str]:
        return {item["address"] for item in self.findings if item["bucket"] == bucket}

    @property
    def drifted(self) -> set[str]:
        """Addresses in a bucket that is drift, accepted or not; what is shown only is left out."""
        return {
            item["address"]
            for item in self.findings
            if item["bucket"] in ("changed", "missing", "archived", "unmanaged") and item["counted"]
        }

    @property
    def told(self) -> str:
        """Every diagnostic as one text."""
        return "\n".join(
            "\n".join(
                (f"{item['severity']}: {item['summary']}", item["detail"], *item["addresses"])
            )
            for item in self.document["diagnostics"]
        )


def check_drift(
    folder: Path, console: Emulator | None, *words: str, expect: int | None = None
) -> DriftCheck:
    """Check what is in a folder against a console, None: that of the environment.

    `expect` is the exit code, None any.
    """
    file = folder / "drift.json"
    file.unlink(missing_ok=True)
    words = ("drift", "--format", f"json={file}", *words)
    ended = run_command(*words, folder=folder, environment=console and console.environment)
    assert file.exists(), ended.text
    document = json.loads(file.read_text())
    assert document["verdict"]["exit_code"] == ended.code
    assert expect in (None, ended.code), ended.text
    return DriftCheck(ended.code, document)
