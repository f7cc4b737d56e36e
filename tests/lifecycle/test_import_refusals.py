"""Imports that are refused as a whole: for their size, or for a row in them."""

import pytest

from opsconsole.emulator import Profile
from outcomes import errors


@pytest.mark.parametrize("skip", [0, 1], ids=["dry run", "real import"])
@pytest.mark.parametrize("status", [400, 413])
async def test_a_chunk_that_is_refused_by_a_page_is_halved(steps_of, console, status, skip):
    hosts = steps_of("host")
    page = {"text": "<html>too large", "content_type": "text/html"}
    console.fault(method="POST", path="/hosts/batch", status=status, skip=skip, **page)

    outcomes = await hosts.create_all(*(hosts.config(name=f"h{number}") for number in range(4)))

    assert [errors(outcome) for outcome in outcomes] == [[]] * 4
    assert len(console.rows("hosts")) == 4


async def test_a_row_that_cannot_even_be_written_fails_alone(steps_of, console):
    hosts = steps_of("host")
    configs = [hosts.config(name=name) for name in ("one", "half \ud800", "two")]

    one, half, two = await hosts.create_all(*configs)

    assert errors(one) == errors(two) == []
    assert half.state is None
    assert "half a character" in half.diagnostics[0].text
    assert len(console.rows("hosts")) == 2


@pytest.mark.parametrize(
    "profile", [Profile(name="small", summary="Two rows.", max_rows=2)], indirect=True
)
async def test_a_size_that_was_refused_is_not_tried_again(steps_of, console):
    hosts = steps_of("host", import_chunk_size=4)
    hosts.provider = hosts.open()
    await hosts.create_all(*(hosts.config(name=f"a{number}") for number in range(4)))
    console.reset_log()

    await hosts.create_all(*(hosts.config(name=f"b{number}") for number in range(4)))
    await hosts.provider.close()

    assert console.request_counts()["host_import"] == 2 * 2
