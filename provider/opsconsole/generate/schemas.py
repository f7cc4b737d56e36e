"""JSON Schemas of the documents that people and other programs read and write."""

from __future__ import annotations

import json
from pathlib import Path

from opsconsole.drift.baseline import baseline_schema
from opsconsole.reports.drift_document import drift_report_schema


def schema_files(root: Path) -> dict[str, str]:
    """Return the schema of each document by its path; `root` is not read."""
    schemas = {
        "drift-baseline-1": baseline_schema(),
        "drift-report-1": drift_report_schema(),
    }
    return {
        f"docs/schemas/{name}.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in schemas.items()
    }
