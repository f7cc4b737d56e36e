"""A console under load: its token bucket, and its refusals."""

import json

from opsconsole.emulator import profiles, serve
from opsconsole.emulator.bodies import Refusal
from opsconsole.emulator.traffic import RateLimit


def profile(**switches):
    return profiles()["default"].model_copy(update=switches)


def accepted(load, limited, moments):
    count = 0
    for now in moments:
        try:
            load.admit(limited, now)
        except Refusal as refusal:
            assert (refusal.status, refusal.code) == (429, "RATE_LIMITED")
        else:
            count += 1
    return count


def test_a_bucket_fills_at_its_rate_up_to_what_it_holds():
    load, limited = RateLimit(), profile(requests_per_second=10, requests_at_once=3)
    assert accepted(load, limited, [0.0] * 5) == 3
    assert accepted(load, limited, [0.05, 0.1, 0.11]) == 1
    assert accepted(load, limited, [60.0] * 5) == 3
    assert accepted(RateLimit(), profile(requests_per_second=10), [0.0] * 50) == 10
    assert accepted(RateLimit(), profile(), [0.0] * 50) == 50


def test_refusals_are_answered_and_logged(call):
    limited = profile(requests_per_second=1, requests_at_once=1, retry_after=7)
    with serve(limited) as console:
        answers = (call(console, "GET", "/api/v1/specialties/search") for _ in range(50))
        status, headers, content = next(answer for answer in answers if answer[0] != 200)
        body = json.loads(content)
        assert (status, headers["retry-after"]) == (429, "7")
        assert (body["code"], body["request_id"][:4]) == ("RATE_LIMITED", "req_")
        assert console.requests()[-1]["status"] == 429
        console.switch(requests_per_second=None)
        assert call(console, "GET", "/api/v1/specialties/search")[0] == 200
