"""The pages as documents: escaping, policy, masks; and the diagram as a value."""

import base64
import hashlib
import re
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from fleet_reports import make_report
from opsconsole.diagnostics import error
from opsconsole.drift.model import Bucket, Difference, DriftReport, Finding
from opsconsole.reconcile.plan import Action, Change, Plan
from opsconsole.reports import drift_view, plan_view
from opsconsole.reports.html import page
from opsconsole.reports.html.diagram import (
    HEIGHT,
    ROOM,
    Column,
    Diagram,
    diagram_of,
    draw,
    merge_alike,
)
from opsconsole.reports.view import ELSEWHERE, SAME, GraphItem
from opsconsole.values import UNKNOWN

MARKUP = "</style><script>alert(1)</script><img src=//evil onerror=alert(1)>"
EVIL = f"{MARKUP}\x1b[31m\x07\u202e\x9b2J\nmore"
HOST = "opsconsole_host"


class Checker(HTMLParser):
    """Notes tags and what is not closed."""

    VOID = frozenset({"meta", "input", "br", "link", "path", "rect"})

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.outside: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), name
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "action") and not (value or "").startswith("#"):
                self.outside.append(value or "")
            assert name != "style"
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self._open.pop() == tag

    def close(self) -> None:
        super().close()
        assert self._open == []


def checked(html: str) -> Checker:
    checker = Checker()
    checker.feed(html)
    checker.close()
    return checker


def evil_pages() -> list[str]:
    address = f'{HOST}.x["{EVIL}"]'
    values = {"id": EVIL, "name": EVIL, "tags": [EVIL], "jump_host_ids": [EVIL]}
    more = values | {"knowledge": EVIL}
    told = (error(EVIL, EVIL),)
    change = Change(address, HOST, Action.UPDATE, values, more, notes=(EVIL,), construct_path=EVIL)
    shown = {"reason": EVIL, "values": values, "location": EVIL}
    differences = (Difference(EVIL, EVIL, [EVIL]),)
    finding = Finding(EVIL, address, HOST, Bucket.CHANGED, EVIL, EVIL, differences, **shown)
    plan = Plan((change,), diagnostics=told)
    report = DriftReport((finding,), EVIL, method=EVIL, diagnostics=told)
    return [
        page.render(plan_view.make_view(plan, title=EVIL, timestamp=EVIL)),
        page.render(drift_view.make_view(report, title=EVIL)),
    ]


@pytest.mark.parametrize("which", [0, 1])
def test_values_never_become_markup_or_steer_a_terminal(which):
    html = evil_pages()[which]
    found = checked(html)
    assert found.tags.count("script") == 1
    assert "img" not in found.tags
    assert MARKUP not in html
    assert [letter for letter in html if not letter.isprintable() and letter != "\n"] == []
    assert "\\u001b" in html


@pytest.mark.parametrize("kind", ["plan", "drift"])
def test_pages_are_whole_and_ask_nothing(kind, plan, report):
    html = (
        page.render(plan_view.make_view(plan))
        if kind == "plan"
        else page.render(drift_view.make_view(report))
    )
    found = checked(html)
    assert found.outside == []
    assert len(found.ids) == len(set(found.ids))
    assert set(re.findall(r'href="#([^"]+)"', html)) <= set(found.ids)
    assert "://" not in re.sub(r'xmlns="[^"]+"', "", html)


def test_the_policy_names_the_one_script_and_style_by_hash(plan):
    html = page.render(plan_view.make_view(plan))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', html)
    assert policy[1].startswith("default-src &#39;none&#39;;")
    for tag in ("style", "script"):
        body = re.search(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body[1].encode()).digest()).decode()
        assert f"sha256-{digest}" in policy[1]


def test_sensitive_values_stay_out_even_of_the_graph():
    hidden = frozenset({"name", "knowledge", "jump_host_ids"})
    values = {"id": "hst_1", "name": "hush", "knowledge": "hush", "jump_host_ids": ["hush"]}
    more = values | {"knowledge": "hush2"}
    change = Change(f"{HOST}.a", HOST, Action.UPDATE, values, more, sensitive=hidden)
    secret = (Difference("name", "hush", "hush2", sensitive=True),)
    # A drift report does not know which values in state are sensitive unless they differ.
    seen = values | {"jump_host_ids": []}
    finding = Finding("s", f"{HOST}.a", HOST, Bucket.CHANGED, "hst_1", "", secret, values=seen)
    assert "hush" not in page.render(plan_view.make_view(Plan((change,))))
    assert "hush" not in page.render(drift_view.make_view(DriftReport((finding,), "")))


def ties(diagram: Diagram) -> set[tuple[str, str]]:
    return {(tie.source.title, tie.target.title) for tie in diagram.ties}


def item(kind: str, name: str, **facts: Any) -> GraphItem:
    values = facts.pop("values", {})
    type_name = f"opsconsole_{kind}"
    named = {"address": f"{type_name}.{name}", "id": name, "label": name, "anchor": f"r-{name}"}
    defaults: dict[str, Any] = {"stack": "", "type_name": type_name, "style": SAME, **named}
    return GraphItem(**(defaults | facts), values=values)


def test_ties_by_id():
    ids = {"host_id": "web", "specialty_id": "linux", "plugin_ids": ["logs"]}
    items = [
        item("host", "jump"),
        item("host", "web", values={"jump_host_ids": ["jump", "elsewhere"]}),
        item("specialty", "linux"),
        item("agent", "a", values=ids),
        item("agent_plugin", "a/disk", values={"agent_id": "a", "plugin_id": "disk"}),
    ]
    diagram = diagram_of(items)
    of_agent = {("a", "linux"), ("a", "disk"), ("a", "logs")}
    assert ties(diagram) == {("jump", "web"), ("elsewhere", "web"), ("web", "a")} | of_agent
    columns = {box.title: box.column for box in diagram.boxes}
    assert columns["jump"] is columns["elsewhere"] is Column.JUMP_HOSTS
    assert columns["web"] is Column.HOSTS


def test_ties_across_stacks():
    """A jump host, an agent's host and specialty of one stack, which others refer to."""
    values = {"host_id": "web", "specialty_id": "linux"}
    items = [
        item("host", "web", stack="b", values={"jump_host_ids": ["jump"]}),
        item("host", "other", stack="c", values={"jump_host_ids": ["jump", "away"]}),
        item("agent", "a", stack="c", values=values),
        item("host", "jump", stack="a"),
        item("specialty", "linux", stack="a"),
        item("host", "third", stack="d", values={"jump_host_ids": ["away"]}),
    ]
    diagram = diagram_of(items)
    of_away = {("away", "other"), ("away", "third")}
    of_stacks = {("jump", "web"), ("jump", "other"), ("web", "a"), ("a", "linux")}
    assert ties(diagram) == of_stacks | of_away
    unmanaged = [box.title for box in diagram.boxes if box.style is ELSEWHERE]
    assert unmanaged == ["away"]
    jumps = {box.title for box in diagram.boxes if box.column is Column.JUMP_HOSTS}
    assert jumps == {"jump", "away"}


def test_ties_by_dependency_where_ids_are_not_known_yet():
    jump, web, many = ((f"opsconsole_host.{name}",) for name in ("jump", "web", "many"))
    behind = {"jump_host_ids": [UNKNOWN]}
    on = {"host_id": UNKNOWN}
    items = [
        item("host", "jump", id=""),
        item("host", "web", id="", values=behind, dependencies=jump),
        item("host", 'many["k"]', id=""),
        item("host", 'many["other"]', id=""),
        item("agent", "a", id="", values=on, dependencies=jump + web),
        item("agent", 'each["k"]', id="", values=on, dependencies=many),
    ]
    diagram = diagram_of(items)
    assert ties(diagram) == {("jump", "web"), ("web", "a"), ('many["k"]', 'each["k"]')}


def test_blocks_of_thousands_cost_a_bounded_number_of_steps_each():
    many = 2000
    items = [item("host", "jump[0]", id="")]
    for number in range(many):
        web = {"values": {"jump_host_ids": [UNKNOWN]}, "dependencies": ("opsconsole_host.jump",)}
        ops = {"values": {"host_id": UNKNOWN}, "dependencies": ("opsconsole_host.web",)}
        items += [
            item("host", f"web[{number}]", id="", **web),
            item("agent", f"ops[{number}]", id="", **ops),
        ]
    calls = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        diagram = diagram_of(items)
    finally:
        sys.setprofile(None)
    assert len(ties(diagram)) == 2 * many
    assert calls < 300 * len(items)


def test_the_plan_page_ties_what_it_creates(plan):
    assert {
        ("jump-ams-900", "app-ams-90001"),
        ("app-ams-90001", "app-ams-90001-windows-server"),
        ("app-ams-90001-windows-server", "Metrics"),
        ("app-ams-90001-windows-server", "windows-server"),
    } <= ties(diagram_of(plan_view.make_view(plan).items))


def test_large_graphs_collapse_and_lose_no_one():
    changed = plan_view.PLAN_STYLES[Action.UPDATE]
    items = [item("host", f"jump{number}", values={"is_jump_host": True}) for number in range(60)]
    for number in range(3000):
        values = {"jump_host_ids": [f"jump{number % 60}"]}
        style = changed if number % 500 == 0 else SAME
        items.append(item("host", f"web{number}", values=values, style=style))
    diagram = diagram_of(items)
    small = merge_alike(diagram)
    assert max(Counter(box.column for box in small.boxes).values()) <= ROOM
    assert sum(box.count for box in small.boxes) == len(diagram.boxes)
    alone = [box for box in small.boxes if box.style is changed]
    assert len(alone) == 6
    assert all(box.count == 1 for box in alone)
    assert sum(tie.count for tie in small.ties) == len(diagram.ties)


def test_boxes_do_not_overlap(plan):
    diagram = draw(plan_view.make_view(plan).items)
    for box in diagram.boxes:
        assert 0 <= box.y <= diagram.height - HEIGHT
        for other in diagram.boxes:
            if other is not box and other.x == box.x:
                assert abs(other.y - box.y) > HEIGHT


def test_nothing_to_draw_is_no_picture():
    assert draw([item("host", "web")]) is None
    assert 'id="graph"' not in page.render(plan_view.make_view(Plan(())))


@pytest.mark.parametrize(
    ("facts", "headline"),
    [
        ({"mode": "refresh-only"}, "2 objects differ from state"),
        ({"changes": (), "outputs": (), "drift": ()}, "No changes"),
    ],
)
def test_headlines(plan, facts, headline):
    assert plan_view.make_view(replace(plan, **facts)).headline == headline


def test_pages_claim_no_more_than_was_seen(plan, report):
    sections = {item.anchor: item for item in plan_view.make_view(plan).sections}
    assert "as far as it was read" in sections["s-same"].meaning
    # A blacklisted command is let go of, and its row stays.
    assert "deleted on the console if it can be" in sections["s-remove"].meaning
    one = next(item for item in report.findings if item.bucket is Bucket.UNMANAGED)
    shown = drift_view.make_view(replace(report, findings=(one, replace(one, counted=False))))
    [section] = shown.sections
    assert [row.verb for row in section.rows] == ["", "shown only"]


def test_several_stacks_keep_their_resources_apart():
    one = make_report(14)
    other = tuple(replace(finding, stack="lab") for finding in one.findings)
    both = replace(one, findings=(*one.findings, *other))
    titles = [row.title for section in drift_view.make_view(both).sections for row in section.rows]
    assert len(titles) == len(set(titles)) == len(both.findings)
