"""For tests of programs that use this package: native deployment, and a plugin for pytest.

Assertions about constructs are in `opsconsole_cdktf.testing` and `opsconsole_cdktn.testing`.
"""
