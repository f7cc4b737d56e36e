"""A drift report as SARIF 2.1.0."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
from sarif_pydantic import Sarif

from opsconsole.drift.report import Bucket, DriftReport, Finding
from opsconsole.reports import sarif

FOUND = Finding("s", "opsconsole_host.a", "opsconsole_host", Bucket.MISSING)

SARIF_SHAPE = {
    "level": {"enum": ["none", "note", "warning", "error"]},
    "text": {
        "type": "object",
        "required": ["text"],
        "properties": {"text": {"type": "string", "minLength": 1}},
        "additionalProperties": False,
    },
}


def strict(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": list(required),
        "properties": properties,
        "additionalProperties": False,
    }


RULE = strict(
    ("id",),
    id={"type": "string"},
    name={"type": "string", "pattern": "^[A-Za-z]+$"},
    shortDescription=SARIF_SHAPE["text"],
    fullDescription=SARIF_SHAPE["text"],
    defaultConfiguration=strict(level=SARIF_SHAPE["level"]),
)
PLACE = strict(
    logicalLocations={"type": "array", "minItems": 1},
    physicalLocation=strict(
        ("artifactLocation",),
        artifactLocation=strict(("uri",), uri={"type": "string", "pattern": "^[^ \\\\]+$"}),
        region=strict(startLine={"type": "integer", "minimum": 1}),
    ),
)
RESULT = strict(
    ("message", "ruleId", "ruleIndex"),
    ruleId={"type": "string"},
    ruleIndex={"type": "integer", "minimum": 0},
    level=SARIF_SHAPE["level"],
    message=SARIF_SHAPE["text"],
    locations={"type": "array", "items": PLACE, "minItems": 1},
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
    properties={"type": "object"},
    suppressions={
        "type": "array",
        "items": strict(
            ("kind",),
            kind={"enum": ["inSource", "external"]},
            status={"enum": ["accepted", "underReview", "rejected"]},
            justification={"type": "string"},
        ),
    },
)


def test_sarif_has_the_shape_of_2_1_0(report: DriftReport) -> None:
    log = json.loads(sarif.render(report))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    for rule in run["tool"]["driver"]["rules"]:
        jsonschema.validate(rule, RULE)
    for result in run["results"]:
        jsonschema.validate(result, RESULT)
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    assert len(run["results"]) == len(report.drifted) + 2  # one accepted, one unchecked
    assert run["invocations"][0]["exitCode"] == 2


def test_sarif_passes_as_typed_objects(report: DriftReport) -> None:
    read = Sarif.model_validate_json(sarif.render(report))
    assert len(read.runs) == 1


def test_sarif_points_into_the_program(report: DriftReport) -> None:
    results = json.loads(sarif.render(report))["runs"][0]["results"]
    places = [result["locations"][0] for result in results]
    known = [place["physicalLocation"] for place in places if "physicalLocation" in place]
    assert known[0] == {"artifactLocation": {"uri": "main.py"}, "region": {"startLine": 42}}
    assert len(known) == len(places) - 2  # the unmanaged and the unchecked one
    everywhere = json.loads(sarif.render(report, unlocated="cdktf.json"))["runs"][0]["results"]
    assert all("physicalLocation" in result["locations"][0] for result in everywhere)
    prints = {str(result["partialFingerprints"]) for result in results}
    assert len(prints) == len(results)


def test_sarif_takes_any_location() -> None:
    for location, uri, line in (
        ("a b/ü.py:7", "a%20b/%C3%BC.py", 7),
        ("C:\\x\\main.py:3", "C%3A/x/main.py", 3),
        ("main.py", "main.py", 1),
    ):
        found = replace(FOUND, location=location)
        log = json.loads(sarif.render(DriftReport((found,), "")))
        place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == uri
        assert place["region"]["startLine"] == line
