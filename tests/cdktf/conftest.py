"""A stack to declare in, and what it synthesises to."""

import json
from collections.abc import Callable
from typing import Any

import cdktf
import pytest

from opsconsole_cdktf import OpsconsoleProvider

NewStack = Callable[[], cdktf.TerraformStack]
Synth = Callable[[cdktf.TerraformStack], dict[str, Any]]


@pytest.fixture(scope="session")
def new_stack() -> NewStack:
    """Make an empty stack with the provider, in an app of its own."""

    def make() -> cdktf.TerraformStack:
        stack = cdktf.TerraformStack(cdktf.Testing.app(), "stack")
        OpsconsoleProvider(stack, "opsconsole")
        return stack

    return make


@pytest.fixture
def stack(new_stack: NewStack) -> cdktf.TerraformStack:
    """An empty stack with the provider."""
    return new_stack()


@pytest.fixture
def synth() -> Synth:
    """What a stack synthesises to, without cdktf's own notes."""

    def synthesised(stack: cdktf.TerraformStack) -> dict[str, Any]:
        result = _plain(json.loads(cdktf.Testing.synth(stack, True)))
        assert isinstance(result, dict)
        return result

    return synthesised


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if key != "//"}
    return [_plain(item) for item in value] if isinstance(value, list) else value
