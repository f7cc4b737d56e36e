"""Random sequences of commands in one folder: which program a command means changes with a word
only, and no command leaves another program behind than it found, unless it names the file.
"""

import json
import random
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from engines import Run
from forked_runs import Forks
from sampling import EVERYTHING

APP = """
import json, os, pathlib
folder = pathlib.Path(os.environ["CDKTF_OUTDIR"])
(folder / "stacks" / "one").mkdir(parents=True, exist_ok=True)
stack = {"resource": {"opsconsole_host": {"app": {"name": "app"}}}}
(folder / "stacks" / "one" / "cdk.tf.json").write_text(json.dumps(stack))
entry = {"name": "one", "synthesizedStackPath": "stacks/one/cdk.tf.json"}
(folder / "manifest.json").write_text(json.dumps({"version": "0.21.0", "stacks": {"one": entry}}))
"""
FILES = '{"resource": {"opsconsole_host": {"files": {"name": "files"}}}}'

EDITS: dict[str, dict[str, str | None]] = {
    "write files": {"main.tf.json": FILES},
    "remove files": {"main.tf.json": None},
    "write app": {"cdktf.json": json.dumps({"app": f"{sys.executable} app.py"}), "app.py": APP},
    "remove app": {"cdktf.json": None},
    "remove what the app wrote": {"cdktf.out": None},
    "write HCL": {"more.tf": ""},
    "remove HCL": {"more.tf": None},
}
COMMANDS = (
    ("opsconsole", "plan", "-json"),
    ("opsconsole", "plan", "-json", "-dir=."),
    ("opsconsole", "validate"),
    ("opsconsole", "apply", "-auto-approve"),
    ("opsconsole", "plan", "-out=kept.plan"),
    ("opsconsole", "apply", "kept.plan"),
    ("opsconsole", "state", "list"),
    ("opsconsole", "drift"),
    ("opsconsole", "graph"),
    ("opsconsole", "workspace", "list"),
    ("opsconsole", "adopt", "--hcl", "hst_there"),
    ("opsconsole", "adopt", "hst_there"),
    ("opsconsole", "destroy", "-auto-approve"),
    ("opsconsole-terraform", "init"),
    ("opsconsole-terraform", "plan", "-json"),
    ("opsconsole-terraform", "apply", "-auto-approve"),
    ("opsconsole-terraform", "state", "list"),
)
PROGRAMS = ("*.tf", "*.tf.json", "cdktf.json", "*.py", "*.rows.json")


@dataclass
class Folder:
    """A folder, what was done in it, and which program it holds by the files that are there."""

    path: Path
    forks: Forks
    environment: dict[str, str]
    done: list[str] = field(default_factory=list)

    def edit(self, name: str) -> None:
        """Change the folder as a user does."""
        self.done.append(name)
        for file, text in EDITS[name].items():
            path = self.path / file
            if text is not None:
                path.write_text(text)
            elif path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def run(self, *words: str) -> Run:
        """Run a command; what it leaves behind must be named."""
        self.done.append(" ".join(words))
        before = self.program()
        ended = self.forks.run(*words, folder=self.path, environment=self.environment)
        after = self.program()
        for name in {name for name, _ in before.items() ^ after.items()}:
            assert before.get(name) is None or words[1] != "adopt", self.reproduction(ended)
            assert name in ended.out + ended.err, self.reproduction(ended)
        return ended

    def program(self) -> dict[str, str]:
        """The files that a program is made of, by name."""
        paths = (path for pattern in PROGRAMS for path in self.path.glob(pattern))
        return {path.name: path.read_text() for path in paths}

    def meant(self, words: tuple[str, ...]) -> str:
        """The host that a command's program declares; empty where none can be planned natively."""
        files = self.program()
        app = "cdktf.json" in files and words[0] == "opsconsole" and "-dir=." not in words
        if app:
            return "app" if "adopted" not in files["cdktf.json"] else "x"
        left = self.path / "cdktf.out" / "manifest.json"
        if not any(name.endswith(".tf.json") for name in files):
            return "app" if left.exists() and words == COMMANDS[0] else ""
        return "" if any(name.endswith(".tf") for name in files) else "files"

    def reproduction(self, ended: Run) -> str:
        """What to type to see it again."""
        return "\n".join([*self.done, f"→ {ended.code}", ended.out, ended.err])


@pytest.mark.meetings
@pytest.mark.parametrize("seed", range(200 if EVERYTHING else 4))
def test_a_command_means_one_program(
    forked_commands: Forks,
    plain_path: str,
    cli_environment: Callable[..., dict[str, str]],
    console_of: Any,
    tmp_path: Path,
    seed: int,
) -> None:
    choose = random.Random(seed)
    console = console_of("default")
    console.create("hosts", id="hst_there", name="x")
    environment = cli_environment(console) | {"PATH": plain_path}
    folder = Folder(tmp_path, forked_commands, environment, [f"seed {seed}"])
    for _ in range(12):
        if choose.random() < 0.4:
            folder.edit(choose.choice(list(EDITS)))
            continue
        words = choose.choice(COMMANDS)
        wanted = folder.meant(words)
        both = {"main.tf.json", "cdktf.json"} <= folder.program().keys()
        ended = folder.run(*words)
        if words[1:3] == ("plan", "-json"):
            told = {name for name in ("app", "files") if f"opsconsole_host.{name}" in ended.out}
            assert told == {wanted} - {"", "x"}, folder.reproduction(ended)
        if both and words[0] == "opsconsole" and words[1] in ("plan", "validate", "drift"):
            said = "the app is used" in ended.err
            assert said == ("-dir=." not in words), folder.reproduction(ended)
