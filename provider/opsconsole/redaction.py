"""Keeps secrets out of everything that a user, a log or a report may show.

Code that reads a secret setting passes it to `learn`; code that writes text calls `hide` first.
"""

from __future__ import annotations

import re
from urllib.parse import quote

_MASK = "***"
_SHORTEST = 4
"""Characters; hiding less would make every text unreadable and protect nothing."""
_KEY = re.compile(r"svc_ak_[^\s\"'\\,;…]+")
"""A key, but not `svc_ak_…`, which messages use as the form of a key."""
_IN_ADDRESS = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_HEADER = re.compile(r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)(['\"]?\s*[:=,]\s*)[^\r\n]+")


KEY_FORM = (
    "api_key is not of the form svc_ak_….",
    "Give the key alone, as the console's API Keys settings show it: no Bearer before it, no "
    "quotes, spaces or line breaks.",
)
COOKIE_FORM = (
    "session_cookie is not of the form name=value.",
    "Give one cookie as the browser's developer tools show it. Its name is not documented.",
)
_NO_SECRETS = "\n".join(KEY_FORM + COOKIE_FORM)


class Redaction:
    """Secrets, in each spelling that an answer or a message may hold."""

    def __init__(self) -> None:
        self._spellings: list[str] = []

    def learn(self, secret: str | None) -> None:
        """Hide `secret` from now on, and each value of a `name=value` cookie too.

        A placeholder such as `svc_ak_…` is not hidden.
        """
        if secret is None:
            return
        values = (pair.partition("=")[2].strip() for pair in secret.split(";"))
        known = set(self._spellings)
        for text in (secret, *values):
            # To hide a placeholder would hide the mistake.
            if len(text) >= _SHORTEST and text not in _NO_SECRETS:
                known |= _spellings_of(text)
        # Longest first: a cookie holds its value.
        self._spellings = sorted(known, key=len, reverse=True)

    def hide(self, text: str) -> str:
        """Hide known secrets, API keys, and credentials in headers and addresses."""
        for spelling in self._spellings:
            text = text.replace(spelling, _MASK)
        text = _IN_ADDRESS.sub(_MASK, _KEY.sub(_MASK, text))
        return _HEADER.sub(rf"\1\2{_MASK}", text)

    def hide_echoes(self, content: bytes) -> bytes:
        """Return an answer without the known secrets, which a console or a proxy may repeat."""
        for spelling in self._spellings:
            content = content.replace(spelling.encode(), _MASK.encode())
        return content


def _spellings_of(secret: str) -> set[str]:
    """Return a secret as it is, and as JSON, HTML or a URL may spell it."""
    escaped = secret.replace("\\", "\\\\").replace('"', '\\"')
    # Go's JSON may be part of HTML, and escapes these three.
    go = "".join(f"\\u{ord(c):04x}" if c in "&<>" else c for c in escaped)
    html = secret.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    urls = {quote(secret), quote(secret, safe="")}
    urls |= {re.sub("%..", lambda match: match[0].lower(), url) for url in urls}
    quoted = {html, html.replace('"', "&quot;")}
    return {secret, escaped, escaped.replace("/", "\\/"), go, *quoted, *urls}
