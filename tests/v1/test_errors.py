"""Error answers: each becomes the error that it means, with everything that it says."""

import json

import pytest

from opsconsole.errors import (
    ApiError,
    BadRequest,
    Conflict,
    ErrorAnswer,
    Forbidden,
    NotFound,
    ServerError,
    TooLarge,
    TooManyRequests,
    Unauthorized,
    UnexpectedAnswer,
)
from opsconsole.redaction import Redaction


def test_a_remedy_is_a_sentence_of_its_own():
    assert str(Unauthorized(ErrorAnswer(401, "revoked"), "GET /x", "Ask.")).endswith("). Ask.")
    assert str(ApiError(ErrorAnswer(402, "no"), "GET /x")).endswith(")")


BY_STATUS = {
    **dict.fromkeys((400, 422), BadRequest),
    **dict.fromkeys((402, 408, 418), ApiError),
    **dict.fromkeys((500, 502, 503, 599), ServerError),
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    429: TooManyRequests,
}
PAGE = (
    "<html><head><title>Corporate\n proxy</title></head>\x1b[31m<body>Access denied</body></html>"
)


async def failure(console):
    with pytest.raises(Exception) as caught:
        await console.call("blacklist_update", "blk_1", body={})
    return caught.value


@pytest.mark.parametrize(("status", "kind"), BY_STATUS.items())
async def test_every_field_of_the_error_body_is_kept(connect, answer, status, kind):
    fields = {"code": "NEVER_SEEN", "message": "it is so", "request_id": "req_1"}
    fields |= {"field": "pattern", "details": {"limit": None, "deep": {"a": [1]}}}
    errors = (("org_id", "unknown"), ("pattern", "too long"))
    entries = [{"field": field, "message": message, "more": 1} for field, message in errors]
    body = fields | {"errors": entries, "more": True}
    _, console = connect(answer(status, body, {"Retry-After": "1000"}), max_retries=0)
    problem = await failure(console)
    assert type(problem) is kind
    assert problem.answer == ErrorAnswer(status=status, errors=errors, **fields)
    remedy = f". {problem.remedy}" if status in (401, 408, 429) else ""
    assert str(problem) == (
        f"POST /api/v1/blacklists/{{id}}: it is so (status {status}, code NEVER_SEEN, request id "
        'req_1); details: {"limit": null, "deep": {"a": [1]}}' + remedy
    )
    assert problem.had_no_effect is (status < 500 and status not in (408, 418))


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"request_id": None, "field": None, "errors": None, "details": None},
        {"request_id": 7, "message": "", "field": ["x"], "errors": {"a": 1}, "details": "x"},
        {"field": "", "errors": ["x", {}, {"field": 1, "message": "m"}, {"field": "f"}]},
    ],
    ids=json.dumps,
)
@pytest.mark.parametrize("status", [400, 404, 409])
async def test_odd_fields_of_an_error_body_are_left_out(connect, answer, status, odd):
    _, console = connect(answer(status, {"code": "C", "message": "m", **odd}))
    problem = await failure(console)
    message = odd.get("message", "m")
    assert problem.answer == ErrorAnswer(status=status, code="C", message=message)
    assert f": {message or 'no message'} (status {status}, code C)" in str(problem)


UNDOCUMENTED = {
    "page": PAGE,
    "empty": "",
    "other API": {"detail": "Not Found"},
    "list": [],
    "no message": {"code": "NOT_FOUND"},
    "code is not text": {"code": 404, "message": "m"},
    "not UTF-8": b"\xff\xfe\xfd",
    "deep": b"[" * 100_000,
    "half a surrogate pair": b'{"code": "\\ud800", "message": "m"}',
    "half a surrogate pair in bytes": b'{"id": "blk_1", "code": "\xed\xa0\x80", "message": "m"}',
    "truncated": b'{"code": "NOT_FOUND", "mess',
}


@pytest.mark.parametrize("body", UNDOCUMENTED.values(), ids=UNDOCUMENTED)
@pytest.mark.parametrize("status", [400, 403, 404, 405, 409, 410, 422])
async def test_a_4xx_of_another_shape_is_no_word_of_the_console(
    server, connect, answer, status, body
):
    _, console = connect(answer(status, body))
    problem = await failure(console)
    assert type(problem) is UnexpectedAnswer
    assert f"status {status}, content type " in str(problem)
    assert (problem.status, problem.without_body) == (status, False)
    assert problem.had_no_effect is (status in (400, 404, 405)), "gateways refuse so early"
    assert len(server.received) == 1


@pytest.mark.parametrize("body", UNDOCUMENTED.values(), ids=UNDOCUMENTED)
@pytest.mark.parametrize("status", [401, 408, 413, 429, 500, 502, 503, 504])
async def test_some_statuses_speak_for_themselves(connect, answer, status, body):
    _, console = connect(answer(status, body, headers={"Retry-After": "1000"}), max_retries=0)
    problem = await failure(console)
    assert type(problem) is BY_STATUS.get(status, ServerError)
    assert problem.answer.code == ""
    assert "content type" in problem.answer.message


@pytest.mark.parametrize("body", UNDOCUMENTED.values(), ids=UNDOCUMENTED)
async def test_a_2xx_of_another_shape_is_an_error(server, connect, answer, body):
    _, console = connect(answer(200, body))
    problem = await failure(console)
    assert type(problem) is UnexpectedAnswer
    assert (problem.status, problem.without_body) == (200, body == "")
    assert not problem.had_no_effect
    assert len(str(problem)) < 500
    assert len(server.received) == 1


@pytest.mark.parametrize("status", [200, 403, 404, 502])
@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "text/plain"])
async def test_a_proxys_page_names_itself(connect, answer, status, content_type):
    page = answer(status, PAGE, headers={"Content-Type": content_type})
    _, console = connect(page, max_retries=0)
    problem = await failure(console)
    shown = " ".join(PAGE.replace("\x1b", " ").split())
    said = f'status {status}, content type {content_type}, beginning with "{shown}"'
    assert said in str(problem)
    assert "check base_url and the proxy settings" in problem.remedy


async def test_numbers_and_text_survive(server, connect, answer):
    _, console = connect()
    body = {"id": "blk_1", "pattern": "\u2028😀\x00", "n": 2**70, "f": 1.5}
    server.will(answer(body=body))
    assert await console.call("blacklist_get", "blk_1") == body


@pytest.mark.parametrize(
    ("credentials", "said"),
    [({}, "API Keys settings"), ({"session_cookie": "sid=x"}, "The session cookie may be")],
)
async def test_a_401_says_what_to_do(server, connect, answer, credentials, said):
    _, console = connect(**credentials)
    server.will(answer(401, {"code": "UNAUTHORIZED", "message": "key revoked", "request_id": "r"}))
    problem = await failure(console)
    assert "key revoked" in str(problem)
    assert said in Redaction().hide(problem.remedy)
    assert ("API key" in problem.remedy) is (not credentials)
