"""The ledger of what the API document leaves open: whole, and true to settings and switches."""

import re

import pytest
from scripts.cdktn_twin import ROOT
from scripts.generate.limits import read_ledger

from opsconsole.emulator.profiles import SWITCHES
from opsconsole.resources import PROVIDER

DOCUMENT = ROOT.parent / "shared" / "reference" / "api-v1.md"
"""The API document, where it lies beside the checkout."""

NOT_SHOWN = """
The general overview rules (the org_id rule, cursor pagination, the complete error-envelope rules)
Which host response fields are required or nullable, and the meaning of unique_id
Allowed values of credential_role and engine identifiers, and the semantics of disabled_rule_ids
Any further plugin fields
The allowed values of execution_mode
All other moves between idle, running, error and archived
States of tasks
Endpoints other than the eleven below
The success status code is 200 for the blacklist update and the bulk import
Required fields, and which field each length bound and array bound applies to
What rerouted_hosts contains and when it is non-empty
The CSV column layout and the shape of a row in the JSON envelope
The names of the query parameters and which of them overrides the envelope
Values of `results[].status` other than `created`
Required fields, which field each bound applies to, and the element shape of the request's
Query parameters and pagination inputs
The name of that query parameter, its effect, and all other query parameters or filters
The cookie's name, key scopes, roles, the permission model beyond tenant-level access
Webhooks, callbacks, event streams and event kinds
The conditions that distinguish each code within status 400 and within status 403
The code name of the 409 response
The status of each error for the operations other than the blacklist update and the specialty delete
The field to which each unattributed bound applies
Rate limits, page sizes, maximum import size and the numeric license cap
Deprecation policy, compatibility guarantees and any other version-selection mechanism
""".strip().splitlines()
"""How each sentence of the document begins that says what is not shown, in its order."""

NOT_ABOUT_GAPS = {
    *("api_key", "request_timeout", "max_retries", "ca_file", "insecure_skip_verify", "allow_http"),
    "max_deletions",
}
"""The settings that stand for nothing that the document leaves open."""

CLAUSES = read_ledger()
ROWS = [row for clause in CLAUSES for row in clause["rows"]]


def test_each_clause_that_shows_nothing_has_rows():
    quoted = [clause["not_shown"] for clause in CLAUSES if "not_shown" in clause]
    assert len(quoted) == len(NOT_SHOWN)
    for text, beginning in zip(quoted, NOT_SHOWN, strict=True):
        assert text.startswith(beginning)
    assert all(clause["rows"] for clause in CLAUSES)
    assert all(row.keys() <= {"open", "assumed", "settings", "switches"} for row in ROWS)


@pytest.mark.skipif(not DOCUMENT.exists(), reason="the API document is not beside the checkout")
def test_the_clauses_are_those_of_the_document():
    text = DOCUMENT.read_text("utf-8")
    said = re.findall(r"^(?:\d+\. |- )?(.*?not shown[^.\n]*\.)", text, re.MULTILINE)
    assert [clause["not_shown"] for clause in CLAUSES if "not_shown" in clause] == said
    assert {clause["section"] for clause in CLAUSES} <= {
        re.sub(r" \(bulk host import response\)$", "", heading)
        for heading in re.findall(r"^##+ (.+)$", text, re.MULTILINE)
    }


def test_each_switch_and_each_setting_that_stands_for_a_gap_is_in_a_row():
    assert {name for row in ROWS for name in row.get("switches", ())} == set(SWITCHES)
    named = {name for row in ROWS for name in row.get("settings", ())}
    assert named == {setting.name for setting in PROVIDER.attributes} - NOT_ABOUT_GAPS
