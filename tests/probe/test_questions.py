"""What the document leaves open is listed once, with settings that exist, on one generated page."""

from __future__ import annotations

from pathlib import Path

from scripts.generate.limits import PATH, limits_files

from opsconsole.probe.questions import QUESTIONS, UNASKED
from opsconsole.resources import PROVIDER

ROOT = Path(__file__).parents[2]


def test_each_question_is_named_once_and_by_settings_that_exist() -> None:
    names = [question.name for question in (*QUESTIONS, *UNASKED)]
    assert len(names) == len(set(names))
    for question in (*QUESTIONS, *UNASKED):
        assert set(question.settings) <= set(PROVIDER.names)


def test_the_page_is_as_generated_and_holds_every_question() -> None:
    [(path, page)] = limits_files().items()
    assert path == PATH
    assert (ROOT / PATH).read_text("utf-8") == page
    for question in (*QUESTIONS, *UNASKED):
        assert question.open in page
        assert question.default in page
