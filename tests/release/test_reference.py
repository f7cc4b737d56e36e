"""The reference pages: the Registry's layout, and examples that Terraform takes."""

import json
import re
import shutil
from pathlib import Path

import pytest

from example_programs import ROOT
from opsconsole.address import SOURCE
from opsconsole.resources import DATA_SOURCES, PROVIDER, RESOURCES

DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples" / "reference"
VERSIONS = {"terraform": {"required_providers": {"opsconsole": {"source": SOURCE}}}}
GUIDES = sorted((DOCS / "guides").glob("*.md"))
PAGES = {
    DOCS / "index.md": ("opsconsole Provider", PROVIDER),
    **{
        DOCS / "resources" / f"{item.name}.md": (f"{item.type_name} Resource", item)
        for item in RESOURCES.values()
    },
    **{
        DOCS / "data-sources" / f"{item.name}.md": (f"{item.type_name} Data Source", item)
        for item in DATA_SOURCES.values()
    },
}


def front_matter(page: Path) -> dict[str, str]:
    found = re.match(r"---\n(.*?)\n---\n", page.read_text("utf-8"), re.DOTALL)
    assert found, f"{page.name} has no front matter"
    return dict(re.findall(r'^(\w+): "?(.*?)"?$', found[1], re.MULTILINE))


def test_every_page_is_one_that_the_registry_shows():
    for folder in ("resources", "data-sources"):
        assert set((DOCS / folder).iterdir()) == {
            page for page in PAGES if page.parent.name == folder
        }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_has_title_examples_and_each_attribute(page):
    title, definition = PAGES[page]
    text = page.read_text("utf-8")
    assert front_matter(page)["page_title"] == title
    assert text.index("```terraform") < text.index("```python") < text.index("## Schema")
    section = re.split(r"^## ", text, flags=re.MULTILINE)
    (schema,) = (part for part in section if part.startswith("Schema"))
    groups = re.split(r"^### ", schema, flags=re.MULTILINE)[1:]
    listed = {
        group.split("\n")[0]: re.findall(r"^- `(\w+)`", group, re.MULTILINE) for group in groups
    }
    assert listed.get("Required", []) == sorted(a.name for a in definition if a.required)
    optional = sorted(a.name for a in definition if a.settable and not a.required)
    assert listed.get("Optional", []) == optional
    assert listed.get("Read-Only", []) == sorted(a.name for a in definition if not a.settable)


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_a_guide_has_title_and_description(page):
    named = front_matter(page)
    assert named["page_title"] and named["description"]
    assert "subcategory" in named


@pytest.mark.terraform
def test_terraform_finds_every_example_valid(installed_terraform):
    """All examples are modules of one program: one run judges them."""
    engine = installed_terraform({})
    modules = {}
    for example in sorted(EXAMPLES.rglob("main.tf")):
        name = "_".join(example.parent.relative_to(EXAMPLES).parts).replace("-", "_")
        module = shutil.copytree(example.parent, engine.folder / name)
        if "required_providers" not in example.read_text("utf-8"):
            (module / "versions.tf.json").write_text(json.dumps(VERSIONS))
        modules[name] = {"source": f"./{name}"}
    engine.write({"module": modules})
    engine.init()
    assert engine.validate()["diagnostics"] == []
