"""The log's lines, and that no secret is in them."""

import json
import logging
import sys

import pytest

from opsconsole.redaction import Redaction
from opsconsole.terraform.serving import HclogFormatter, wanted_level


@pytest.mark.parametrize(
    ("environment", "level"),
    [
        ({}, None),
        ({"TF_LOG": ""}, None),
        ({"TF_LOG": "off"}, None),
        ({"TF_LOG": "trace"}, 5),
        ({"TF_LOG": "JSON"}, 5),
        ({"TF_LOG": "yes"}, 5),
        ({"TF_LOG": "WARN"}, logging.WARNING),
        ({"TF_LOG": "trace", "TF_LOG_PROVIDER": "error"}, logging.ERROR),
        ({"TF_LOG_PROVIDER": "debug"}, logging.DEBUG),
    ],
)
def test_levels(environment, level):
    assert wanted_level(environment) == level


@pytest.mark.parametrize(
    ("level", "word"),
    [(5, "trace"), (10, "debug"), (20, "info"), (30, "warn"), (40, "error"), (50, "error")],
)
def test_a_record_is_one_line_of_hclog(level, word):
    record = logging.LogRecord("opsconsole", level, "f.py", 1, "sent %s\nall", ("it",), None)
    record.created = 1_700_000_000.25
    line = HclogFormatter(Redaction()).format(record)
    assert "\n" not in line
    assert json.loads(line) == {
        "@level": word,
        "@message": "sent it\nall",
        "@module": "opsconsole",
        "@timestamp": "2023-11-14T22:13:20.250000Z",
    }


def test_tracebacks_are_kept_and_cleaned():
    redaction = Redaction()
    redaction.learn("hunter22")
    try:
        raise ValueError("not hunter22")
    except ValueError:
        record = logging.LogRecord("x", 40, "f.py", 1, "failed", (), sys.exc_info())
    message = json.loads(HclogFormatter(redaction).format(record))["@message"]
    assert "ValueError: not ***" in message


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("key svc_ak_a-B_9.x end", "key *** end"),
        ('{"api_key": "svc_ak_1"}', '{"api_key": "***"}'),
        ("Authorization: Bearer abc def", "Authorization: ***"),
        ("('cookie', 'sid=1')", "('cookie': '***"),
        ("learned hunter22, sid=s3cret-value", "learned ***, ***"),
        ("only s3cret-value", "only ***"),
        ("http://user:pass@proxy:1/", "http://***@proxy:1/"),
        ("mail a@b.c of https://console/x", "mail a@b.c of https://console/x"),
        ("a b c", "a b c"),
    ],
)
def test_redaction(text, hidden):
    redaction = Redaction()
    for secret in ("hunter22", "sid=s3cret-value", None, "", "a", "b=c"):
        redaction.learn(secret)
    found = redaction.hide(text)
    if "cookie" in text:
        assert "sid=1" not in found
    else:
        assert found == hidden
