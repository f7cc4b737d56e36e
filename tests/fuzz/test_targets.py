"""A little fuzzing in every run of the tests; `make fuzz` does more of it."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzing import NAMES, target
from fuzzing.mutation import mutated


@pytest.mark.parametrize("name", NAMES)
def test_seeds_raise_only_what_is_documented(name):
    module = target(name)
    for seed in module.SEEDS:
        module.check(seed)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_mutations_raise_only_what_is_documented(name, data):
    module = target(name)
    seed = data.draw(st.sampled_from(module.SEEDS))
    module.check(mutated(seed, data.draw(st.integers(0, 2**31 - 1))))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.binary(max_size=300))
def test_bytes_raise_only_what_is_documented(name, data):
    target(name).check(data)
