"""Help is fast, and every command has an example."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cordwood import __version__, cli
from cordwood.cli.exit_codes import FOUND_WRONG
from tests.unit.workbench.salvage_samples import batch, harmed

HEAVY = (
    "numpy",
    "pyarrow",
    "asyncio",
    "rich",
    "cordwood.records",
    "cordwood.workbench",
    "cordwood.client",
)
HELP = """
import sys
from cordwood.cli import main
sys.argv = ["cordwood", *{arguments}]
try:
    main()
except SystemExit:
    pass
print([name for name in {heavy} if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    (
        ["--help"],
        ["log", "--help"],
        ["log", "dump", "--help"],
        ["topics", "create", "--help"],
        ["configs", "alter", "--help"],
        ["groups", "reset-offsets", "--help"],
        ["produce", "--help"],
        ["consume", "--help"],
        ["bench", "produce", "--help"],
    ),
)
def test_help_imports_no_heavy_module(arguments: list[str]) -> None:
    code = HELP.format(arguments=arguments, heavy=HEAVY)

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )

    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize(
    "command", (["log", "dump", "--files"], ["log", "verify"], ["log", "stat"])
)
def test_command_on_a_log_does_not_load_numpy(command: list[str], tmp_path: Path) -> None:
    path = tmp_path / "t-0" / "00000000000000000000.log"
    path.parent.mkdir()
    path.write_bytes(batch(0))
    heavy = ("numpy", "pyarrow", "asyncio")
    code = HELP.format(arguments=[*command, str(path)], heavy=heavy)

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )

    assert done.stderr.strip() == "[]"
    assert done.stdout


def test_closed_pipe_does_not_change_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "00000000000000000000.log").write_bytes(harmed(batch(0), 70))
    arguments = ["", "log", "verify", str(tmp_path)]
    code = f"import sys; from cordwood.cli import main; sys.argv = {arguments}; main()"
    source, target = os.pipe()
    os.close(source)

    done = subprocess.run(
        [sys.executable, "-c", code], stdout=target, stderr=subprocess.PIPE, check=False, timeout=30
    )
    os.close(target)

    assert (done.returncode, done.stderr) == (FOUND_WRONG, b"")


@pytest.mark.parametrize("arguments", ([], ["log", "dump"]))
def test_help_has_an_example_and_exits_with_0(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["cordwood", *arguments, "--help"])

    with pytest.raises(SystemExit) as exited:
        cli.main()

    assert exited.value.code == 0
    assert "Example: cordwood log dump" in capsys.readouterr().out


def test_command_collects_young_objects_less_often(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, *_ = gc.get_threshold()
    monkeypatch.setattr("sys.argv", ["cordwood", "--version"])

    with pytest.raises(SystemExit):
        cli.main()

    assert gc.isenabled()
    assert gc.get_threshold()[0] > 10 * before
    assert capsys.readouterr().out


def test_command_ends_without_another_collection() -> None:
    program = (
        "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 1000));"
        "import sys; sys.argv = ['cordwood', '--version'];"
        "from cordwood import cli; cli.main()"
    )
    done = subprocess.run(
        (sys.executable, "-c", program), capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "True"


def test_package_runs_as_the_command() -> None:
    done = subprocess.run(
        (sys.executable, "-m", "cordwood", "--version"), capture_output=True, text=True, check=True
    )

    assert done.stdout == f"cordwood {__version__}\n"


def test_version_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["cordwood", "--version"])

    with pytest.raises(SystemExit) as exited:
        cli.main()

    assert (exited.value.code, capsys.readouterr().out) == (0, f"cordwood {__version__}\n")
