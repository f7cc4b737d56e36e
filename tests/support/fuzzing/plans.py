"""Saved plans: read from a file, and shown."""

import json
import tempfile
import zlib
from datetime import UTC, datetime
from pathlib import Path

from opsconsole.errors import OpsconsoleError
from opsconsole.reconcile.plan import Action, Change, Drift, OutputChange, Plan
from opsconsole.reconcile.saved_plan import SavedPlan, read_plan, write_plan
from opsconsole.reports import plan_json, plan_text
from opsconsole.resources import RESOURCES

_FILE = Path(tempfile.mkdtemp(prefix="opsconsole-fuzz-")) / "plan"
_HOST = {**RESOURCES["opsconsole_host"].empty(), "id": "hst_1", "name": "a", "tags": ["a:b"]}
_PLAN = Plan(
    changes=(
        Change(
            "opsconsole_host.a", "opsconsole_host", Action.UPDATE, _HOST, {**_HOST, "name": "b"}
        ),
        Change("opsconsole_host.b", "opsconsole_host", Action.CREATE, None, _HOST, config=_HOST),
    ),
    drift=(Drift("opsconsole_host.a", "opsconsole_host", _HOST, None),),
    outputs=(OutputChange("o", Action.CREATE, None, [1]),),
    planned_at=datetime(2026, 1, 1, tzinfo=UTC),
)


def _seed() -> bytes:
    write_plan(_FILE, SavedPlan(_PLAN, {"cdk.tf.json": "{}"}, "/x", "s", '{"v": 1}', "d"))
    return zlib.decompress(_FILE.read_bytes().partition(b"\n")[2])


SEEDS = [_seed(), json.dumps(json.loads(_seed())).encode()]


def check(data: bytes) -> None:
    """Read `data` as what a plan file holds packed, and as such a file itself."""
    for content in (zlib.compress(data, 1), data):
        _FILE.write_bytes(b"opsconsole plan 3\n" + content)
        try:
            plan = read_plan(_FILE).plan
            plan_text.render(plan)
            json.dumps(plan_json.document(plan))
        except OpsconsoleError as error:
            str(error)
