"""Assertions of the scene are explained as those of a test are."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("crash_scene")
