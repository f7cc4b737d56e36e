"""What is generated is what is committed, and does not shadow what it builds on."""

import inspect
import shutil

import cdktf
import constructs
import pytest
from scripts.cdktn_twin import SOURCE, TWIN, rename, write_twin
from scripts.generate.__main__ import stale_files, write_files
from scripts.generate.attributes import MEMBERS, camel

import opsconsole_cdktf
from engines import ROOT
from opsconsole import __version__
from opsconsole.definition import Kind
from opsconsole.resources import DATA_SOURCES, PROVIDER, RESOURCES
from opsconsole_cdktf import _attributes
from opsconsole_cdktf._elements import PROVIDER_VERSION, pack


def test_every_file_is_committed_as_generated():
    assert list(stale_files(ROOT)) == [], "Run `make generate`."


def test_a_changed_file_is_found_and_mended(tmp_path, capsys):
    for folder in ("constructs", "docs", "examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    host = tmp_path / "constructs/opsconsole_cdktf/host.py"
    generated = host.read_text("utf-8")
    host.write_text(generated + "# edited\n", "utf-8")
    (host.parent / "agent.py").unlink()
    write_files(tmp_path)
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "written: constructs/opsconsole_cdktf/agent.py",
        "written: constructs/opsconsole_cdktf/host.py",
    ]
    assert host.read_text("utf-8") == generated
    assert stale_files(tmp_path) == {}


@pytest.mark.parametrize("kind", [kind for kind in Kind if not kind.is_nested])
def test_constructs_can_hold_attributes_of_every_kind(kind):
    member = MEMBERS[kind]
    assert isinstance(getattr(_attributes, f"{member}_output")(), _attributes.Output)
    assert isinstance(getattr(_attributes, member)(), _attributes.Argument)


def test_the_twin_is_that_of_these_constructs():
    wanted = {path.name: rename(path.read_text("utf-8")) for path in (ROOT / SOURCE).glob("*.*")}
    found = {path.name: path.read_text("utf-8") for path in (ROOT / TWIN).glob("*.*")}
    assert found == wanted, "Run `make setup`: it writes opsconsole_cdktn from opsconsole_cdktf."


def test_the_twin_follows_its_source(tmp_path):
    source, twin = tmp_path / SOURCE, tmp_path / TWIN
    source.mkdir(parents=True)
    (source / "kept.py").write_text("import cdktf\n# cdktf.json belongs to cdktf\n", "utf-8")
    (source / "deleted.py").touch()
    write_twin(tmp_path)
    (source / "deleted.py").unlink()
    write_twin(tmp_path)
    assert [path.name for path in twin.iterdir()] == ["kept.py"]
    text = (twin / "kept.py").read_text("utf-8")
    assert text == "import cdktn\n# cdktf.json belongs to cdktn\n"


def test_the_constructs_package_of_cdktf_is_not_shadowed():
    assert constructs.__file__ is not None
    assert "site-packages" in constructs.__file__
    assert issubclass(opsconsole_cdktf.Host, constructs.Construct)


@pytest.mark.parametrize(
    ("attributes", "parent"),
    [
        *((definition, cdktf.TerraformResource) for definition in RESOURCES.values()),
        *((definition, cdktf.TerraformDataSource) for definition in DATA_SOURCES.values()),
        (PROVIDER, cdktf.TerraformProvider),
    ],
)
def test_no_attribute_hides_behind_a_member_of_cdktf(attributes, parent):
    members = set(dir(parent))
    for attribute in attributes:
        names = {attribute.name, f"{attribute.name}_input", f"reset_{attribute.name}"}
        assert not names & members


def test_the_version_that_is_asked_for_is_this_one():
    major, minor, _ = __version__.split(".")
    assert f"~> {major}.{minor}" == PROVIDER_VERSION


def test_descriptions_are_found_where_python_looks():
    documented = [(getattr(opsconsole_cdktf, camel(d.name)), d) for d in RESOURCES.values()]
    documented.append((opsconsole_cdktf.OpsconsoleProvider, PROVIDER))
    for construct, definition in documented:
        for attribute in definition:
            assert getattr(construct, attribute.name).__doc__ == attribute.full_description
            if attribute.settable:
                assert attribute.name in getattr(construct, f"{attribute.name}_input").__doc__
                assert f"\n    {attribute.name}: " in inspect.getdoc(construct)
            if attribute.optional:
                assert attribute.name in getattr(construct, f"reset_{attribute.name}").__doc__


def test_the_package_for_node_is_the_same_at_any_time():
    assert pack()[4:8] == bytes(4)
