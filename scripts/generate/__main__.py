"""`python -m scripts.generate`: writes the files that are generated and differ, and names them."""

from __future__ import annotations

import json
from pathlib import Path

from scripts.cdktn_twin import ROOT, write_twin
from scripts.generate.constructs import construct_files
from scripts.generate.limits import limits_files
from scripts.generate.reference import reference_files

from opsconsole.drift.baseline import baseline_schema
from opsconsole.reports.drift_document import drift_report_schema, notification_schema


def generated_files(root: Path) -> dict[str, str]:
    """Return the content of every generated file by its path in the checkout `root`."""
    schemas = {
        "drift-baseline-1": baseline_schema(),
        "drift-notification-1": notification_schema(),
        "drift-report-1": drift_report_schema(),
    }
    return {
        **construct_files(),
        **reference_files(root),
        **limits_files(),
        **{
            f"docs/schemas/{name}.schema.json": json.dumps(schema, indent=2, ensure_ascii=False)
            + "\n"
            for name, schema in schemas.items()
        },
    }


def stale_files(root: Path) -> dict[str, str]:
    """Return the generated files that are missing in the checkout `root`, or differ there."""
    files = generated_files(root).items()
    return {
        name: content
        for name, content in files
        if not (path := root / name).is_file() or path.read_text("utf-8") != content
    }


def write_files(root: Path) -> None:
    """Write the stale files and the constructs for cdktn."""
    for name, content in stale_files(root).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content, "utf-8")
        print(f"written: {name}")
    write_twin(root)


if __name__ == "__main__":
    write_files(ROOT)
