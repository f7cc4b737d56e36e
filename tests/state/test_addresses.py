from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsconsole.errors import UserError
from opsconsole.state.address import Address

LETTERS = st.sampled_from(string.ascii_letters + "_")
NAMES = st.builds(
    str.__add__, LETTERS, st.text(LETTERS | st.sampled_from("0123456789-"), max_size=8)
).filter(lambda name: name not in ("module", "data"))
KEYS = st.none() | st.integers(0, 10**9) | st.text(st.characters(exclude_categories=("Cs",)))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("opsconsole_host.web", Address("opsconsole_host", "web")),
        ("opsconsole_host.web[0]", Address("opsconsole_host", "web", 0)),
        ('opsconsole_host.web["a.b"]', Address("opsconsole_host", "web", "a.b")),
        ('x.y["$${a} %%{b} $c \\"q\\" \\\\ \\n"]', Address("x", "y", '${a} %{b} $c "q" \\ \n')),
        ("data.opsconsole_specialty.s", Address("opsconsole_specialty", "s", mode="data")),
        (
            'module.a["x.y"].module.b[1].data.x.y[2]',
            Address("x", "y", 2, 'module.a["x.y"].module.b[1]', "data"),
        ),
    ],
)
def test_address_is_read_and_printed_as_terraform_does(text, address):
    assert Address.parse(text) == address
    assert str(address) == text


@given(NAMES, NAMES, KEYS, st.sampled_from(["", "module.m", 'module.m["k"].module.n[3]']))
def test_what_is_printed_is_read_back(type_name, name, key, module):
    address = Address(type_name, name, key, module)
    assert Address.parse(str(address)) == address


def test_a_resource_is_its_instances_without_the_key():
    assert str(Address.parse('module.a["x"].x.y[2]').resource) == 'module.a["x"].x.y'


@pytest.mark.parametrize(
    "text",
    [
        *("", "web", "a.b.c", "a.b[", "a.b[x]", 'a.b["x]', "a.b[-1]", "module.a", 'a.b["\\x"]'),
        'a.b["\\U00110000"]',
    ],
)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(UserError, match="not a resource address"):
        Address.parse(text)
