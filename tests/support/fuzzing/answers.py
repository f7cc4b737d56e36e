"""Answers of a console: bodies of every status, pages, resources and import results."""

from fuzzing.mutation import compact
from opsconsole.errors import OpsconsoleError
from opsconsole.v1.answers import Reply, WrongShape, decode_object
from opsconsole.v1.bodies import DeleteResult, ImportResult, ListEnvelope
from opsconsole.v1.console import check_resource

SEEDS = compact(
    [
        {"data": [{"id": "hst_1", "name": "a"}], "has_more": False, "total_count": 1},
        {"id": "agt_1", "plugin_ids": ["p"], "host_id": "hst_1"},
        {
            "dry_run": True,
            "counts": {"created": 1, "skipped": 0, "failed": 0},
            "results": [{"index": 0, "status": "created", "id": "hst_1", "name": "a"}],
        },
        {
            "code": "bad",
            "message": "no",
            "field": "name",
            "errors": [{"field": "a", "message": "b"}],
        },
    ]
)
_STATUSES = (200, 201, 400, 404, 409, 418, 500)


def check(data: bytes) -> None:
    """Read `data` as the body of an answer; its length chooses the status."""
    reply = Reply(_STATUSES[len(data) % len(_STATUSES)], {"content-type": "application/json"}, data)
    try:
        answer = decode_object(reply, "GET /x", lambda content: content)
    except OpsconsoleError as error:
        str(error)
        return
    for read in (ListEnvelope.read, ImportResult.read, DeleteResult.read, check_resource):
        try:
            read(answer)
        except WrongShape as error:
            str(error)
