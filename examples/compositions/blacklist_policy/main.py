"""Patterns that no agent executes, in the scope of one org."""

from __future__ import annotations

from cdktf import App, TerraformStack

from opsconsole_cdktf import BlacklistPolicy, BlacklistRule, OpsconsoleProvider

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole")

BlacklistPolicy(
    stack,
    "policy",
    org_id="org_main",
    rules={
        "format": BlacklistRule(
            id="blk_format", pattern="mkfs*", description="Makes no file system"
        ),
        "wipe": BlacklistRule(id="blk_wipe", pattern="rm -rf /*"),
    },
)

app.synth()
