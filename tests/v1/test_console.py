"""What each operation sends, and the shape that its answer must have."""

import json
import re

import pytest

from opsconsole.errors import ConfigurationError, UnexpectedAnswer, UserError
from opsconsole.v1.bodies import ImportResult, RowResult
from opsconsole.v1.console import Gap, Listing
from opsconsole.v1.operations import DOCUMENTED, NAMEABLE

EXTRAS = {
    "host_get": "GET /api/v1/hosts/{id}",
    "host_list": "GET /api/v1/hosts",
    "agent_get": "GET /api/v1/agents/{id}",
    "agent_list": "GET /api/v1/agents",
    "agent_update": "PATCH /api/v1/agents/{id}",
    "agent_delete": "DELETE /api/v1/agents/{id}",
    "specialty_get": "GET /api/v1/specialties/{id}",
    "specialty_create": "POST /api/v1/specialties",
    "specialty_update": "PUT /api/v1/specialties/{id}",
    "blacklist_list": "GET /api/v1/blacklists",
    "blacklist_create": "POST /api/v1/blacklists",
    "blacklist_delete": "DELETE /api/v1/blacklists/{id}",
}

# operation and ids, request line, body (None: none)
RESOURCE_CALLS = [
    (("blacklist_get", "blk_1"), "GET /api/v1/blacklists/blk_1", None),
    (
        ("blacklist_update", "blk_1"),
        "POST /api/v1/blacklists/blk_1",
        {"org_id": None, "pattern": "rm *"},
    ),
    (("host_update", "hst_1"), "POST /api/v1/hosts/hst_1", {"name": "é"}),
    (("host_update", "hst_1"), "POST /api/v1/hosts/hst_1", {}),
    (("host_delete", "hst_1"), "DELETE /api/v1/hosts/hst_1", None),
    (("agent_create",), "POST /api/v1/agents", {"name": "a"}),
    (("plugin_attach", "agt_1"), "POST /api/v1/agents/agt_1/plugins", {"plugin_id": "plg_1"}),
    (("plugin_detach", "agt_1", "plg_1"), "DELETE /api/v1/agents/agt_1/plugins/plg_1", None),
    (("specialty_delete", "spc_1"), "DELETE /api/v1/specialties/spc_1", None),
    (("host_get", "hst_1"), "GET /api/v1/hosts/hst_1", None),
    (("agent_get", "agt_1"), "GET /api/v1/agents/agt_1", None),
    (("agent_update", "agt_1"), "PATCH /api/v1/agents/agt_1", {"name": "b"}),
    (("agent_delete", "agt_1"), "DELETE /api/v1/agents/agt_1", None),
    (("specialty_get", "spc_1"), "GET /api/v1/specialties/spc_1", None),
    (("specialty_create",), "POST /api/v1/specialties", {"key": "k"}),
    (("specialty_update", "spc_1"), "PUT /api/v1/specialties/spc_1", {"prompt": "p"}),
    (("blacklist_create",), "POST /api/v1/blacklists", {"pattern": "p"}),
    (("blacklist_delete", "blk_1"), "DELETE /api/v1/blacklists/blk_1", None),
]

LIST_CALLS = [
    (("plugin_list", "agt_1"), "GET /api/v1/agents/agt_1/plugins"),
    (("specialty_search",), "GET /api/v1/specialties/search"),
    (("host_list",), "GET /api/v1/hosts"),
    (("agent_list",), "GET /api/v1/agents"),
    (("blacklist_list",), "GET /api/v1/blacklists"),
]


def listed(*ids, **more):
    return {"object": "list", "data": [{"id": one} for one in ids], **more}


@pytest.mark.parametrize(("arguments", "line", "body"), RESOURCE_CALLS)
async def test_sends_what_the_document_shows(server, connect, answer, key, arguments, line, body):
    client, console = connect(extra_endpoints=EXTRAS)
    _, *ids = arguments
    answered = {"id": ids[0] if ids else "new_1", "more": 1}
    server.will(answer(body=answered))
    assert await console.call(*arguments, body=body) == answered
    (request,) = server.received
    assert f"{request.method} {request.target}" == line
    assert request.headers["authorization"] == f"Bearer {key}"
    if body is None:
        assert request.content == b""
        assert "content-type" not in request.headers
    else:
        assert request.body == body
        assert request.headers["content-type"] == "application/json"
    assert sum(client.calls.values()) == 1


NO_OBJECT = [{}, [], [{"id": "x"}], "text", 1, None]
OTHER_SHAPES = {
    "resource": (
        lambda console: console.call("host_update", "hst_1", body={"name": "é"}),
        r"POST /api/v1/hosts/\{id\}.*status 200",
        [*NO_OBJECT, {"id": 7}, {"id": ""}, {"id": None}],
    ),
    "list": (
        lambda console: console.list_all("specialty_search"),
        r"GET /api/v1/specialties/search.*status 200",
        [
            *NO_OBJECT,
            *({"data": data} for data in (None, {}, ["plg_1"], [{}], [{"id": 1}])),
            {"object": "agent", "data": []},
            {"data": [], "has_more": "yes"},
            {"data": [], "total_count": "1"},
        ],
    ),
    "import result": (
        lambda console: console.import_hosts([], on_error="stop", dry_run=False),
        "import result|no JSON object",
        [*NO_OBJECT, {"results": {}}, {"results": ["created"]}, {"object": "list", "results": []}],
    ),
}


@pytest.mark.parametrize(
    ("kind", "answered"),
    [(kind, answered) for kind, row in OTHER_SHAPES.items() for answered in row[2]],
    ids=json.dumps,
)
async def test_refuses_an_answer_of_another_shape(server, connect, answer, kind, answered):
    call, said, _ = OTHER_SHAPES[kind]
    _, console = connect(answer(body=answered, headers={"Content-Type": "application/json"}))
    with pytest.raises(UnexpectedAnswer, match=said) as caught:
        await call(console)
    assert not caught.value.had_no_effect
    assert len(server.received) == 1


@pytest.mark.parametrize("name", ["blacklist_get", "host_delete", "specialty_delete"])
async def test_refuses_another_resource_than_asked_for(connect, answer, name):
    _, console = connect(answer(body={"id": "other"}))
    with pytest.raises(UnexpectedAnswer, match='the id "other" for "one"'):
        await console.call(name, "one")


@pytest.mark.parametrize("status", [200, 201, 202, 207, 299])
async def test_takes_any_2xx(connect, answer, status):
    _, console = connect(answer(status, {"id": "hst_1", "deleted": True}))
    assert await console.call("host_delete", "hst_1") == {"id": "hst_1", "deleted": True}


async def test_an_empty_204_is_no_documented_answer(connect, answer):
    _, console = connect(answer(raw=b"HTTP/1.1 204 No Content\r\n\r\n"))
    with pytest.raises(UnexpectedAnswer, match=r"status 204.*with an empty body"):
        await console.call("host_delete", "hst_1")


@pytest.mark.parametrize(("arguments", "line"), LIST_CALLS)
async def test_lists(server, connect, answer, arguments, line):
    _, console = connect(answer(body=listed("a", "b", has_more=False)), extra_endpoints=EXTRAS)
    assert await console.list_all(*arguments) == Listing([{"id": "a"}, {"id": "b"}])
    (request,) = server.received
    assert f"{request.method} {request.target}" == line


@pytest.mark.parametrize(
    ("members", "gap"),
    [
        ({"has_more": False}, None),
        ({"has_more": False, "total_count": 1}, None),
        ({"has_more": False, "total_count": 1.0}, None),
        ({"has_more": False, "total_count": None}, None),
        ({"total_count": 1}, None),
        ({"has_more": None, "total_count": 1}, None),
        ({}, Gap.UNSAID),
        ({"has_more": None}, Gap.UNSAID),
        ({"total_count": 2}, Gap.UNSAID),
        ({"has_more": True}, Gap.MORE),
        ({"has_more": True, "total_count": 2}, Gap.MORE),
        ({"has_more": True, "total_count": 1}, Gap.CONTRADICTED),
        ({"has_more": False, "total_count": 2}, Gap.CONTRADICTED),
        ({"has_more": False, "total_count": 0}, Gap.CONTRADICTED),
    ],
    ids=str,
)
async def test_a_list_is_whole_only_where_it_says_so(server, connect, answer, members, gap):
    _, console = connect(answer(body=listed("a", **members)))
    found = await console.list_all("specialty_search")
    assert (found.gap, found.complete) == (gap, gap is None)
    assert found.total_count == members.get("total_count")
    assert len(server.received) == 1


async def test_the_total_is_that_of_all_pages(connect, answer):
    pages = (listed("a", "b", total_count=3, next=1), listed("c", total_count=3))
    cursor = {"cursor_parameter": "after", "cursor_field": "next"}
    _, console = connect(*(answer(body=page) for page in pages), **cursor)
    found = await console.list_all("specialty_search")
    assert found == Listing([{"id": "a"}, {"id": "b"}, {"id": "c"}], None, 3)


async def test_parameters_may_narrow_the_lists_that_they_are_for(server, connect, answer):
    query = {"specialties.q": "linux", "plugins.limit": "9", "plain.q": "x"}
    for narrows, of_search, of_plugins in ((True, Gap.NARROWED, Gap.NARROWED), (False, None, None)):
        _, console = connect(list_query=query, list_query_narrows=narrows)
        server.will(*(answer(body=listed("a", has_more=False)) for _ in range(2)))
        assert (await console.list_all("specialty_search")).gap is of_search
        assert (await console.list_all("plugin_list", "agt_1")).gap is of_plugins
    sent = [request.target.partition("?")[2] for request in server.received[-2:]]
    assert sent == ["q=linux&plain.q=x", "limit=9&plain.q=x"]
    _, console = connect(list_query={"plugins.limit": "9"})
    server.will(answer(body=listed("a", has_more=False)))
    assert (await console.list_all("specialty_search")).complete


@pytest.mark.parametrize("again", [1, 3])
@pytest.mark.parametrize("second", [[], ["c"]])
async def test_a_list_that_gets_shorter_while_it_is_read_is_read_again(
    server, connect, answer, again, second
):
    _, console = connect(cursor_parameter="after", cursor_field="next")
    # Once "a" is gone, "c" may move to the first page, and no second page shows it.
    shifting = [
        answer(body=listed("a", "b", has_more=True, total_count=3, next=2)),
        answer(body=listed(*second, has_more=False, total_count=2)),
    ]
    server.will(*shifting * again, answer(body=listed("b", "c", has_more=False, total_count=2)))
    found = await console.list_all("specialty_search")
    read = ["b", "c"] if again == 1 else ["a", "b", *second]
    assert [entry["id"] for entry in found.entries] == read
    assert found.gap is (None if again == 1 else Gap.SHIFTED)


async def test_follows_pages_where_the_cursor_is_known(server, connect, answer):
    cursor = {"cursor_parameter": "after", "cursor_field": "next", "list_query_narrows": False}
    client, console = connect(**cursor, list_query={"limit": "2", "q": "a&b"})
    server.will(
        answer(body=listed("a", "b", has_more=True, next="x/y=")),
        answer(body=listed("b", "c", has_more=True, next=7)),
        answer(body=listed("d", has_more=False, next=None)),
    )
    found = await console.list_all("plugin_list", "agt_1")
    assert [entry["id"] for entry in found.entries] == ["a", "b", "c", "d"]
    assert found.complete
    path = "/api/v1/agents/agt_1/plugins?limit=2&q=a%26b"
    # / and = may stand in a query as they are.
    sent = [item.target.replace("%2F", "/").replace("%3D", "=") for item in server.received]
    assert sent == [path, f"{path}&after=x/y=", f"{path}&after=7"]
    assert client.calls == {"plugin_list": 3}


@pytest.mark.parametrize(
    "cursors", [("x", "x"), ("x", "y", "x"), ("x", None), ("",), (True,), ({},)], ids=str
)
async def test_a_cursor_that_does_not_move_on_ends_the_list_incomplete(
    server, connect, answer, cursors
):
    _, console = connect(cursor_parameter="after", cursor_field="next")
    server.will(*(answer(body=listed("a", has_more=True, next=cursor)) for cursor in cursors))
    assert await console.list_all("specialty_search") == Listing([{"id": "a"}], Gap.MORE)
    assert len(server.received) == len(cursors)


async def test_a_list_that_never_ends_is_given_up(server, connect, answer, monkeypatch):
    monkeypatch.setattr("opsconsole.v1.console._MAX_PAGES", 3)
    _, console = connect(cursor_parameter="after", cursor_field="next")
    server.will(*(answer(body=listed(str(n), has_more=True, next=n)) for n in range(4)))
    assert not (await console.list_all("specialty_search")).complete
    assert len(server.received) == 3


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("on_error", ["stop", "continue"])
async def test_imports_rows(server, connect, answer, dry_run, on_error):
    counts = {"created": 1, "updated": 0, "skipped": 0, "failed": 1}
    said = {"dry_run": dry_run, "stopped": True, "counts": counts}
    made = {"index": 0, "status": "created", "id": "hst_1"}
    failed = {"index": 1, "status": "failed", "error": "no name"}
    results = [made | {"error": None}, failed]
    client, console = connect(answer(body={"object": "import_result", "results": results} | said))
    rows = [{"name": "a", "tags": ["k:v"]}, {"name": ""}]
    found = await console.import_hosts(rows, on_error=on_error, dry_run=dry_run)
    assert found == ImportResult(**said, results=[RowResult(**made), RowResult(**failed)])
    (request,) = server.received
    assert request.target == f"/api/v1/hosts/batch?dry_run={str(dry_run).lower()}"
    assert request.body == {"rows": rows, "on_error": on_error, "dry_run": dry_run}
    assert client.calls == {"host_import": 1}


async def test_unreadable_fields_of_a_verdict_hide_no_others(connect, answer):
    counts = {"created": "1", "failed": True, "skipped": 1.5, "updated": 2.0}
    results = [{"index": "0", "status": 1, "id": "", "error": []}, {"index": 1.0}]
    body = {"dry_run": "true", "counts": counts, "results": results}
    _, console = connect(answer(body=body))
    result = await console.import_hosts([], on_error="stop", dry_run=True)
    assert (result.dry_run, result.counts) == (False, {"updated": 2})
    assert result.results == [RowResult(), RowResult(index=1)]


async def test_imports_csv(server, connect, answer):
    _, console = connect(answer(body={"results": []}), answer(body={"results": []}))
    await console.import_hosts_csv("name\nä\n", {}, dry_run=True)
    await console.import_hosts_csv("name\nb\n", {"on_error": "stop"}, dry_run=False)
    first, second = server.received
    assert first.target == "/api/v1/hosts/batch?dry_run=true"
    assert second.target == "/api/v1/hosts/batch?on_error=stop&dry_run=false"
    assert first.content == "name\nä\n".encode()
    assert first.headers["content-type"] == "text/csv"


@pytest.mark.parametrize("name", EXTRAS)
async def test_only_named_extra_endpoints_are_called(server, connect, name):
    _, console = connect(extra_endpoints={name: EXTRAS[name]})
    assert [extra for extra in EXTRAS if console.has(extra)] == [name]
    unnamed = "agent_list" if name in ("host_get", "host_list") else "host_list"
    with pytest.raises(ConfigurationError, match="extra_endpoints"):
        await console.list_all(unnamed)
    assert server.received == []


def test_every_operation_is_tested():
    lines = {line for _, line, _ in RESOURCE_CALLS} | {line for _, line in LIST_CALLS}
    lines.add("POST /api/v1/hosts/batch")
    assert set(EXTRAS) == set(NAMEABLE)
    for operation in [*map(str, DOCUMENTED), *EXTRAS.values()]:
        form = re.sub(r"\{\w+\}", r"\\w{3}_1", operation)
        assert any(re.fullmatch(form, line) for line in lines), operation


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("a/b", "a%2Fb"),
        ("a?b#c", "a%3Fb%23c"),
        ("a b", "a%20b"),
        ("100%", "100%25"),
        ("%2F", "%252F"),
        ("é", "%C3%A9"),
        ("..%2f", "..%252f"),
        ("...", "..."),
        ("a\nb", "a%0Ab"),
    ],
)
async def test_ids_are_percent_encoded(server, connect, answer, written, sent):
    _, console = connect(answer(body={"id": written}), base_url=f"{server.url}/prefix/")
    await console.call("blacklist_get", written)
    assert server.received[0].target == f"/prefix/api/v1/blacklists/{sent}"


@pytest.mark.parametrize("wrong", ["", ".", "..", "\ud800"])
async def test_what_cannot_be_an_id_is_never_sent(server, connect, wrong):
    _, console = connect()
    with pytest.raises(UserError, match="cannot be an id"):
        await console.call("host_delete", wrong)
    assert server.received == []


@pytest.mark.parametrize(
    "call",
    [
        lambda console: console.call("host_update", "hst_1", body={"name": "\ud800"}),
        lambda console: console.import_hosts_csv("\ud800", {}, dry_run=True),
        lambda console: console.list_all("specialty_search"),
    ],
)
async def test_half_a_character_is_never_sent(server, connect, call):
    _, console = connect(list_query={"q": "\ud800"})
    with pytest.raises(UserError, match=r"'.ud800' is an unpaired surrogate") as caught:
        await call(console)
    assert caught.value.remedy == "Write the whole character, or leave it out."
    assert server.received == []


@pytest.mark.parametrize("operation", DOCUMENTED, ids=lambda item: item.name)
def test_no_id_makes_the_path_of_another_operation(operation):
    fixed = {(item.method, item.path) for item in DOCUMENTED if "{" not in item.path}
    if operation.path.count("{") != 1:
        return
    for method, path in fixed:
        before, _, word = path.rpartition("/")
        if (method, before) == (operation.method, operation.path.rpartition("/")[0]):
            with pytest.raises(UserError, match="is another operation"):
                operation.path_of([word])
    assert operation.path_of(["x"]).endswith("/x") == operation.path.endswith("}")
