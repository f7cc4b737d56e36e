"""Helpers for tests of programs that use this package: native deployment and a pytest plugin.

Assertions about constructs are in `opsconsole_cdktf.testing` and `opsconsole_cdktn.testing`.
"""
