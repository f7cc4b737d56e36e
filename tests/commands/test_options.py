"""Options and the files and folders that they name."""

import sys
from pathlib import Path
from typing import Any

import pytest

from engines import Run, run_program
from text_groups import read_rows

ROWS = read_rows(__file__)

HOST = {"opsconsole_host": {"a": {"name": "a"}}}


@pytest.mark.parametrize(
    "words",
    [("hosts", "import"), ("plan", "-var-file"), ("plan", "-state"), ("state", "push"), ("show",)],
    ids=" ".join,
)
def test_a_device_that_never_ends(native, words):
    native.write(HOST)
    refused = native.run(*words, "/dev/zero", expect=1)
    assert refused.text.count("Error:") == 1
    kind = "is not a regular file" if words[-1] == "-state" else "it is a device, not a file"
    assert kind in refused.text


def test_dev_null_is_an_empty_file(native):
    assert "1 to add" in native.run_plan(HOST, "-var-file=/dev/null").out


@pytest.mark.parametrize(*ROWS["test_wrong_command_line_is_one_error"])
def test_wrong_command_line_is_one_error(native, words):
    native.write(HOST)
    assert native.run(*words, expect=1).err.count("Error:") == 1


def test_durations_are_read(native):
    native.write(HOST)
    for text in ("0", "0s", "1m30s", "250ms", "1.5h"):
        assert native.run("plan", f"-lock-timeout={text}").code == 0


def as_another_user(folder: Path, *words: str) -> Run:
    """Run a command as a user who does not own the folder, where this process may."""
    # That user may not read this Python either: what the command needs is imported before.
    script = (
        "import locale, os, sys\n"
        "import opsconsole.cli.plan, opsconsole.redaction, opsconsole.text\n"
        "from pathlib import Path\n"
        "from opsconsole.cli.main import main\n"
        "from opsconsole.language.synthesis import read_app\n"
        "Path('cdktf.json').exists() and read_app(Path('cdktf.json'))\n"
        "os.getuid() or os.setuid(65534)\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    return run_program(sys.executable, "-c", script, *words, folder=folder, expect={1})


@pytest.fixture
def unwritable() -> Any:
    """A folder that only its owner could write, where everybody gets to."""
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        yield folder
        folder.chmod(0o755)


def test_a_project_that_cannot_be_written(unwritable):
    (unwritable / "cdktf.json").write_text('{"language": "python", "app": "true"}')
    unwritable.chmod(0o555)
    seen = as_another_user(unwritable, "plan")
    assert seen.err == (
        f"Error: The app cannot write its program to {unwritable / 'cdktf.out'}: Permission "
        "denied.\nLet this user write there, or name another directory in CDKTF_OUTDIR.\n"
    )


def test_a_folder_that_cannot_be_entered(unwritable):
    inner = unwritable / "app"
    inner.mkdir()
    (inner / "cdktf.json").write_text('{"app": "true"}')
    inner.chmod(0)
    unwritable.chmod(0o555)
    seen = as_another_user(unwritable, "plan", "--dir", "app")
    assert "unexpected" not in seen.err
    assert "Traceback" not in seen.err
    inner.chmod(0o755)
