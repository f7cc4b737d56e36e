"""A little fuzzing in every run of the tests; `make fuzz` does more of it."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz_targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_input_raises_only_what_is_documented(name, data):
    target = TARGETS[name]
    target.check(data.draw(target.inputs()))
