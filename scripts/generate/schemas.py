"""The JSON Schemas under docs/schemas, made of the models that read and write the documents."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from opsconsole.drift import BASELINE_FILE
from opsconsole.drift.baseline import VERSION, BaselineFile
from opsconsole.reports.drift_document import DriftDocument, NotificationDocument


def schema_files() -> dict[str, str]:
    """Return every schema: path in the checkout to content."""
    schemas = {
        "drift-report-1": _schema(
            DriftDocument,
            "drift-report:1",
            "Drift report of opsconsole, version 1",
            "What `opsconsole drift --format json` writes. Within version 1 members are only "
            "added: readers ignore members that they do not know.",
        ),
        "drift-notification-1": _schema(
            NotificationDocument,
            "drift-notification:1",
            "Notification of drift of opsconsole, version 1",
            "What `opsconsole drift --notify` sends where something is newly drifted or newly "
            "resolved. Within version 1 members are only added.",
        ),
        f"drift-baseline-{VERSION}": _schema(
            BaselineFile,
            f"drift-baseline:{VERSION}",
            f"Baseline of accepted drift of opsconsole, version {VERSION}",
            f"What `{BASELINE_FILE}` holds: drift that is known and accepted for now. A check "
            "shows it and does not count it; plan and apply never look here.",
        ),
    }
    return {
        f"docs/schemas/{name}.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in schemas.items()
    }


class _Documented(GenerateJsonSchema):
    """A schema for readers: no title made of a name, no default that a file need not hold."""

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _schema(model: type[BaseModel], name: str, title: str, description: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a document; `name` is the end of its `$id`."""
    found = model.model_json_schema(schema_generator=_Documented)
    for part in found.get("$defs", {}).values():
        part.pop("title", None)
        part["description"] = " ".join(part["description"].split())
    head = {
        "$schema": GenerateJsonSchema.schema_dialect,
        "$id": f"urn:opsconsole:schema:{name}",
        "title": title,
        "description": description,
    }
    return head | {key: value for key, value in found.items() if key not in head}
