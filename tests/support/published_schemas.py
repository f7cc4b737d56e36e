"""The JSON Schemas of `docs/schemas`, by which tests judge documents."""

import json
from functools import cache
from typing import Any

from engines import ROOT

_FOLDER = ROOT / "docs" / "schemas"


def published_schema(name: str) -> Any:
    """Return a schema; `name` is that of its file without the version."""
    return json.loads((_FOLDER / f"{name}-1.schema.json").read_text())


def follows_schema(document: Any, name: str) -> bool:
    """Return whether a document follows a schema, formats included."""
    # As JSON, because YAML has dates.
    return bool(_validator(name).is_valid(json.loads(json.dumps(document, default=str))))


@cache
def _validator(name: str) -> Any:
    # Few tests need it, and its import takes longer than most of them.
    from jsonschema import Draft202012Validator

    schema = published_schema(name)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
