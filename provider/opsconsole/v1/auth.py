"""Proving who calls (the document: Authentication), and keeping the proof out of every text."""

from __future__ import annotations

from collections.abc import Mapping

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
        """Return `content` without the secret, however JSON or HTML may have escaped it."""
        for spelling in self._spellings:
            if spelling in content:
                content = content.replace(spelling, _REDACTED)
        return content


def _spellings(secret: str) -> set[str]:
    escaped = secret.replace("\\", "\\\\").replace('"', '\\"')
    html = secret.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {secret, escaped, escaped.replace("/", "\\/"), html, html.replace('"', "&quot;")}
