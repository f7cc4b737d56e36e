"""`-help`: the verbs, and the flags of one, from the table."""

from __future__ import annotations

from opsconsole.standin.verbs import VERBS

_GLOBAL = (
    ("-chdir=DIR", "go to another directory before anything else"),
    ("-help", "show this, or the flags of a verb"),
    ("-version", "the same as the verb version"),
)
_VARIABLES = (
    ("OPSCONSOLE_ENGINE", "native or terraform: force one engine"),
    ("OPSCONSOLE_TERRAFORM_FALLBACK", "the real Terraform; else terraform or tofu on PATH"),
    ("OPSCONSOLE_FORCE", "1: allow a plan that the guard refuses"),
)


def render(name: str) -> str:
    """Return the help for a verb, or for the program where it names none."""
    verb = VERBS.get(name)
    if verb is None:
        return _whole()
    lines = [f"Usage: opsconsole-terraform [global options] {name} [flags]", "", f"  {verb.line}."]
    if verb.flags:
        lines += ["", "Flags:"]
    for flag, facts in sorted(verb.flags.items()):
        shown = f"-{flag}=VALUE" if facts.valued else f"-{flag}"
        remark = {"pass": "", "own": "", "ignore": "changes nothing here"}.get(
            facts.use, "only Terraform has it"
        )
        lines.append(f"  {shown:28}{remark}".rstrip())
    return "\n".join([*lines, ""])


def _whole() -> str:
    lines = [
        "Usage: opsconsole-terraform [global options] <verb> [flags]",
        "",
        "Takes the place of terraform. What the native engine cannot run goes to the real one.",
        "",
        "Verbs:",
    ]
    lines += [f"  {name:18}{verb.line}" for name, verb in VERBS.items()]
    lines += ["", "Global options:"]
    lines += [f"  {name:18}{meaning}" for name, meaning in _GLOBAL]
    lines += ["", "Environment:"]
    lines += [f"  {name:31}{meaning}" for name, meaning in _VARIABLES]
    return "\n".join([*lines, ""])
