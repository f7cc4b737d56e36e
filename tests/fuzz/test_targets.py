"""A little fuzzing in every run of the tests; `make fuzz` does more of it."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzing import NAMES, inputs, target


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_input_raises_only_what_is_documented(name, data):
    module = target(name)
    module.check(data.draw(inputs(module)))
