"""Addresses of resources and instances, read and printed as Terraform does."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsconsole.errors import UserError
from opsconsole.state.address import Address, format_key

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
        ("opsconsole_host.cafe\u0301-हिन्दी", Address("opsconsole_host", "cafe\u0301-हिन्दी")),
        ('opsconsole_host.web["a.b"]', Address("opsconsole_host", "web", "a.b")),
        ('x.y["$${a} %%{b} $c \\"q\\" \\\\ \\n"]', Address("x", "y", '${a} %{b} $c "q" \\ \n')),
        (f"x.y[{'1' * 18}]", Address("x", "y", int("1" * 18))),
        ('x.y["\\ud7ff\\ue000\\U0010ffff"]', Address("x", "y", "\ud7ff\ue000\U0010ffff")),
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
    assert str(address.resource) == text.removesuffix(format_key(address.key))


@given(NAMES, NAMES, KEYS, st.sampled_from(["", "module.m", 'module.m["k"].module.n[3]']))
def test_what_is_printed_is_read_back(type_name, name, key, module):
    address = Address(type_name, name, key, module)
    assert Address.parse(str(address)) == address


@pytest.mark.parametrize(
    ("text", "place"),
    [
        *(
            ("", 1),
            ("a.-b", 3),
            ("a.b$c", 4),
            ("web", 4),
            ("a.b.c", 4),
            ("a.b[", 4),
            ("a.b[x]", 4),
            ('a.b["x]', 4),
        ),
        *(("a.b[-1]", 4), ("module.a", 9), ('a.b["\\x"]', 10), ('a.b["\\Uffffffff"]', 18)),
        *(('a.b["\\ud800"]', 14), ('a.b["\\uDFFF"]', 14), (f"a.b[{'1' * 19}]", 25)),
    ],
)
def test_what_is_no_address_is_refused(text, place):
    with pytest.raises(UserError, match="Write it as Terraform does, such as ") as caught:
        Address.parse(text)
    assert caught.value.message == f"{text!r} is not a resource address (character {place})."
