"""The pages in a real browser: filter, links, keyboard, no script, looks, size."""

from pathlib import Path

import pytest

from fleet_reports import make_creation, make_plan, make_report
from opsconsole.drift.model import DriftReport
from opsconsole.reconcile.plan import Plan
from opsconsole.reports import drift_view, plan_view
from opsconsole.reports.html import page as html_page

VISIBLE = "[...document.querySelectorAll('[data-k]')].filter(e => !e.hidden)"


@pytest.fixture(params=["plan", "drift"])
def page(request: pytest.FixtureRequest, plan: Plan, report: DriftReport) -> tuple[str, str]:
    if request.param == "plan":
        return "plan", html_page.render(
            plan_view.make_view(plan, title="fleet", timestamp="2026-03-01T02:00:00Z")
        )
    return "drift", html_page.render(drift_view.make_view(report))


async def test_asks_nothing_of_anyone_and_runs_without_complaint(browser, page):
    await browser.load(page[1])
    assert len(browser.requests) == 1
    assert browser.requests[0].startswith("file:")
    assert browser.complaints == []
    assert await browser.run("document.getElementById('bar').hidden") is False


async def test_is_readable_without_script(browser, page):
    await browser.load(page[1], script=False)
    document = await browser.call("DOM.getDocument")
    root = document["root"]["nodeId"]

    async def visible_changes(selector: str) -> bool:
        found = await browser.call("DOM.querySelector", nodeId=root, selector=selector)
        if not found["nodeId"]:
            return False
        try:
            await browser.call("DOM.getBoxModel", nodeId=found["nodeId"])
        except AssertionError:
            return False
        return True

    assert await visible_changes(".item > summary")
    assert await visible_changes("#graph svg .node")
    assert not await visible_changes("#bar")


async def test_filters_by_words(browser, page):
    await browser.load(page[1])
    everything = await browser.run(f"{VISIBLE}.length")
    await browser.press("/", "/")
    await browser.write("WEB-ams 0005")
    left = await browser.run(f"{VISIBLE}.map(e => e.textContent)")
    assert left
    assert len(left) < everything
    assert all("web-ams-0005" in text for text in left)
    assert await browser.run("document.getElementById('shown').textContent") == (
        f"{len(left)} of {everything} resources"
    )
    await browser.write(" no-such-item")
    assert await browser.run(f"{VISIBLE}.length") == 0
    assert await browser.run("document.getElementById('nothing').hidden") is False
    await browser.press("Escape")
    await browser.frames()
    assert await browser.run(f"{VISIBLE}.length") == everything


async def test_filters_by_section_and_type(browser, page):
    await browser.load(page[1])
    await browser.run("document.querySelector('.tile[data-section=s-same]').click()")
    await browser.frames()
    assert await browser.run("document.getElementById('s-same').hidden") is True
    await browser.run(
        "(() => { const k = document.getElementById('kind'); k.value = 'agent';"
        " k.dispatchEvent(new Event('change')) })()"
    )
    await browser.frames()
    assert set(await browser.run(f"{VISIBLE}.map(e => e.dataset.k)")) == {"agent"}


async def test_unfolds_what_the_graph_leads_to(browser, page):
    await browser.load(page[1])
    anchor = await browser.run(
        "(() => { const n = [...document.querySelectorAll('.node:not(.many)[href]')]"
        ".find(n => document.querySelector(n.getAttribute('href')).tagName === 'DETAILS');"
        " n.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}));"
        " return n.getAttribute('href') })()"
    )
    await browser.frames()
    assert await browser.run("location.hash") == anchor
    assert await browser.run(f"document.querySelector('{anchor}').open") is True
    quiet = "#s-same .row"
    await browser.run(f"location.hash = '#' + document.querySelector('{quiet}').id")
    await browser.frames()
    assert await browser.run("document.getElementById('s-same').open") is True


async def test_is_reached_by_keyboard(browser, page):
    await browser.load(page[1])
    seen = []
    for _ in range(200):
        await browser.press("Tab")
        here = await browser.run(
            "(() => { const e = document.activeElement; const s = getComputedStyle(e);"
            " return [e.tagName.toLowerCase(), e.id || e.className.baseVal || e.className,"
            " s.outlineStyle !== 'none' || !!e.closest('svg')] })()"
        )
        seen.append(tuple(here))
        if here[0] == "summary" and len(seen) > 20:
            break
    assert seen[0][:2] == ("a", "skip")
    names = [name for _, name, _ in seen]
    assert names.index("q") < names.index("kind") < names.index("unfold")
    assert [here for here in seen if not here[2]] == [], "focus is always visible"
    assert {tag for tag, _, _ in seen} >= {"a", "input", "select", "button", "summary"}
    opened = "document.activeElement.parentElement.open"
    before = await browser.run(opened)
    await browser.press("Enter", "\r")
    await browser.frames()
    assert await browser.run(opened) is not before


async def test_names_everything_for_assistive_technology(browser, page):
    await browser.load(page[1])
    tree = await browser.call("Accessibility.getFullAXTree")
    wanted = {"button", "link", "searchbox", "combobox", "region", "navigation"}
    unnamed = [
        node["role"]["value"]
        for node in tree["nodes"]
        if not node["ignored"]
        and node["role"]["value"] in wanted
        and not node.get("name", {}).get("value")
    ]
    assert unnamed == []
    roles = {node["role"]["value"] for node in tree["nodes"] if not node["ignored"]}
    assert roles >= {"main", "banner", "contentinfo", "search", "heading", "searchbox", "link"}


CONTRAST = Path(__file__).with_name("poor_contrast.js").read_text()


@pytest.mark.parametrize(
    ("look", "width", "dark"),
    [("light", 1280, False), ("dark", 1280, True), ("narrow", 390, False)],
)
async def test_looks(browser, page, pictures, look, width, dark):
    await browser.size(width, 900, dark)
    await browser.load(page[1])
    assert await browser.run(CONTRAST) == []
    assert await browser.run("document.documentElement.scrollWidth") <= width
    await browser.load(page[1])
    path = pictures(f"{page[0]}-{look}")
    if path is not None:
        await browser.run(
            "document.querySelectorAll('.item').forEach((e, i) => { e.open = i % 4 === 2 })"
        )
        await browser.size(width, 3600, dark)
        await browser.frames()
        await browser.picture(path)


FILTERED = """(async () => {
  const q = document.getElementById('q');
  const counts = {};
  for (const text of ['w', 'web-ams-0405', 'env:staging', 'no-such-item', '']) {
    q.value = text;
    q.dispatchEvent(new Event('input'));
    await new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)));
    counts[text || 'cleared'] = VISIBLE.length;
  }
  document.getElementById('unfold').click();
  await new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)));
  return counts;
})()""".replace("VISIBLE", VISIBLE)


@pytest.mark.unmeasured
@pytest.mark.parametrize("kind", ["plan", "drift", "create"])
async def test_a_fleet_of_5000_hosts_opens_and_filters(browser, pictures, kind):
    if kind == "drift":
        html = html_page.render(drift_view.make_view(make_report(5000)))
    else:
        plan = make_plan(5000) if kind == "plan" else make_creation(5000)
        html = html_page.render(plan_view.make_view(plan))
    await browser.size(1280, 900)
    await browser.load(html)
    found = await browser.run(FILTERED)
    assert found["no-such-item"] == 0
    assert 0 < found["web-ams-0405"] < found["w"] <= found["cleared"]
    assert found["env:staging"] < found["cleared"]
    path = pictures(f"big-{kind}")
    if path is not None:
        await browser.run("document.getElementById('graph').scrollIntoView()")
        await browser.frames()
        await browser.picture(path)
