"""Proving who calls (the document: Authentication), and keeping the proof out of every text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from opsconsole.v1.settings import Settings

_REDACTED = b"[redacted]"


def authorization(settings: Settings) -> Mapping[str, str]:
    """Return the header that proves who calls: the bearer key, or the session cookie."""
    if settings.session_cookie is not None:
        return {"Cookie": settings.session_cookie}
    return {"Authorization": f"Bearer {settings.api_key}"}


class Redaction:
    """Takes the key, or the cookie, out of what a console or a proxy echoes."""

    def __init__(self, settings: Settings) -> None:
        secrets = {settings.api_key}
        if settings.session_cookie is not None:
            secrets |= {settings.session_cookie, settings.session_cookie.partition("=")[2]}
        spellings = {text for secret in secrets if secret for text in _spellings(secret)}
        # Longest first: a cookie holds its value.
        self._spellings = sorted((text.encode() for text in spellings), key=len, reverse=True)

    def __call__(self, content: bytes) -> bytes:
        """Return `content` without the secret, however JSON, HTML or a URL may spell it."""
        for spelling in self._spellings:
            if spelling in content:
                content = content.replace(spelling, _REDACTED)
        return content


def _spellings(secret: str) -> set[str]:
    escaped = secret.replace("\\", "\\\\").replace('"', '\\"')
    # Go's JSON may stand within HTML, and escapes these three.
    go = "".join(f"\\u{ord(c):04x}" if c in "&<>" else c for c in escaped)
    html = secret.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    urls = {quote(secret), quote(secret, safe="")}
    urls |= {re.sub("%..", lambda found: found[0].lower(), url) for url in urls}
    quoted = {html, html.replace('"', "&quot;")}
    return {secret, escaped, escaped.replace("/", "\\/"), go, *quoted, *urls}
