"""The provider's log: hclog's JSON lines on stderr, only if TF_LOG asks, and without secrets."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Mapping
from typing import Final

from opsconsole.redaction import Redaction

_TRACE: Final = 5
_LEVELS: Final[Mapping[str, int]] = {
    "TRACE": _TRACE,
    "JSON": _TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
}
_HCLOG_LEVELS: Final = (
    (logging.ERROR, "error"),
    (logging.WARNING, "warn"),
    (logging.INFO, "info"),
    (logging.DEBUG, "debug"),
    (0, "trace"),
)
_WORDY: Final = ("hpack", "h2", "asyncio", "httpcore", "aiohttp")
"""Libraries whose debug lines are not about this provider, or quote headers."""


def wanted_level(environment: Mapping[str, str]) -> int | None:
    """Return the level of the log, or None for no log.

    TF_LOG_PROVIDER overrides TF_LOG. As in Terraform, a word that is not a level means TRACE.
    """
    word = environment.get("TF_LOG_PROVIDER") or environment.get("TF_LOG") or "OFF"
    return None if word.upper() == "OFF" else _LEVELS.get(word.upper(), _TRACE)


class HclogFormatter(logging.Formatter):
    """Formats a record as go-plugin's client reads it: one line of JSON."""

    def __init__(self, redaction: Redaction) -> None:
        super().__init__()
        self._redaction = redaction

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if record.exc_info:
            message = f"{message}\n{self.formatException(record.exc_info)}"
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        microseconds = int(record.created % 1 * 1_000_000)
        return json.dumps(
            {
                "@level": next(word for least, word in _HCLOG_LEVELS if record.levelno >= least),
                "@message": self._redaction.hide(message),
                "@module": record.name,
                "@timestamp": f"{moment}.{microseconds:06d}Z",
            }
        )


def set_up_logging(environment: Mapping[str, str], redaction: Redaction) -> None:
    """Send every record to stderr, or nowhere, as the environment demands."""
    level = wanted_level(environment)
    if level is None:
        logging.disable(logging.CRITICAL)
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(HclogFormatter(redaction))
    logging.basicConfig(handlers=[handler], level=level, force=True)
    logging.captureWarnings(True)
    for name in _WORDY:
        logging.getLogger(name).setLevel(max(level, logging.INFO))
