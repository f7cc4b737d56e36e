"""Tells a webhook of newly drifted and newly resolved resources: as JSON, for Slack or for Teams.

A message has addresses and names of attributes, and no values. The webhook's URL is a secret, which
texts of the HTTP library may quote: none is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlsplit

from opsconsole.drift.model import Comparison, DriftReport, judge
from opsconsole.errors import UserError
from opsconsole.reports.drift_document import NOTIFICATION, NotificationDocument
from opsconsole.reports.drift_view import entry_text, since_text
from opsconsole.v1.settings import is_loopback

_TIMEOUT: Final = 10.0
_ENTRIES: Final = 100
"""The largest number of resources in a JSON list; `counts` has the full numbers."""
_CHARACTERS: Final = 2500
"""The size of the text. Slack allows 3,000 characters in a section, and Teams 28 KB in a
message."""


def check_url(url: str, source: str) -> None:
    """Refuse a webhook whose secret URL would be sent unencrypted; `source` gives it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        # A malformed IPv6 address in brackets is refused below like any other URL.
        parts = urlsplit("")
    host = parts.hostname or ""
    if not host or parts.scheme not in ("http", "https"):
        raise UserError(
            f"The URL of {source} is not one.", "It begins with https://, as the service shows it."
        )
    if parts.scheme == "http" and not is_loopback(host):
        raise UserError(
            f"The URL of {source} is http: it is a secret, and would cross the network "
            "unencrypted.",
            "Use https; http is for this machine alone.",
        )


def notify(report: DriftReport, url: str, format: str) -> str:
    """Post a message once, if drift is new or resolved; return why it did not arrive, or empty."""
    comparison = report.comparison
    if comparison is None or not (comparison.new or comparison.resolved):
        return ""
    import httpx  # loaded for a notification only

    make = {"json": _as_json, "slack": _for_slack, "teams": _for_teams}[format]
    # As for the console, no proxy is used for requests to this machine.
    trusted = not is_loopback(urlsplit(url).hostname or "")
    client = httpx.Client(timeout=_TIMEOUT, trust_env=trusted)
    try:
        # Only the status is read, so that a webhook's answer cannot hold up the check.
        with client, client.stream("POST", url, json=make(report, comparison)) as answer:
            return "" if answer.is_success else f"the webhook answered {answer.status_code}"
    except httpx.TimeoutException:
        return f"the webhook did not answer within {_TIMEOUT:.0f} seconds"
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError) as problem:
        return f"the webhook cannot be reached ({type(problem).__name__})"


def _as_json(report: DriftReport, comparison: Comparison) -> dict[str, Any]:
    lists = {name: getattr(comparison, name) for name in ("new", "resolved", "open")}
    cut = replace(comparison, **{name: entries[:_ENTRIES] for name, entries in lists.items()})
    document = {
        "format": NOTIFICATION,
        "format_version": "1.0",
        "checked_at": report.checked_at,
        "verdict": judge(report),
        "counts": {name: len(entries) for name, entries in lists.items()},
        "since": cut,
    }
    return NotificationDocument.model_validate(document).model_dump(mode="json")


def _for_slack(report: DriftReport, comparison: Comparison) -> dict[str, Any]:
    title = _title(report)
    text = "\n".join(_lines(report, comparison))
    return {
        "text": title,
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": title}},
            # Plain text: an address must not become a mention or a link.
            {"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}},
        ],
    }


def _for_teams(report: DriftReport, comparison: Comparison) -> dict[str, Any]:
    lines = [
        (_title(report), "Bolder"),
        *((line, "Default") for line in _lines(report, comparison)),
    ]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [
            # Not a TextBlock, which takes the underscores of an address for Markdown.
            {
                "type": "RichTextBlock",
                "inlines": [{"type": "TextRun", "text": line, "weight": weight}],
            }
            for line, weight in lines
        ],
    }
    attachment = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": card,
    }
    return {"type": "message", "attachments": [attachment]}


def _title(report: DriftReport) -> str:
    verdict = judge(report)
    # Slack refuses a header of more than 150 characters.
    return f"opsconsole: {verdict.headline}. {verdict.explanation}"[:150]


def _lines(report: DriftReport, comparison: Comparison) -> Iterator[str]:
    yield since_text(report)
    stacks = report.has_several_stacks
    entries = [("New", entry) for entry in comparison.new]
    entries += [("Resolved", entry) for entry in comparison.resolved]
    left = _CHARACTERS
    for number, (word, entry) in enumerate(entries):
        line = f"{word}: {entry_text(entry, stacks=stacks)}"
        left -= len(line)
        if left < 0:
            yield f"… and {len(entries) - number:,} more; the report lists all."
            return
        yield line
