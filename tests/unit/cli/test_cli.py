"""The command line answers at once, and says how each command is used."""

import subprocess
import sys

import pytest

from cordwood import cli

HEAVY = ("numpy", "pyarrow", "numba", "asyncio", "rich", "cordwood.records", "cordwood.workbench")
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


@pytest.mark.parametrize("arguments", (["--help"], ["log", "--help"], ["log", "dump", "--help"]))
def test_help_imports_nothing_of_weight(arguments: list[str]) -> None:
    code = HELP.format(arguments=arguments, heavy=HEAVY)

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )

    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("arguments", ([], ["log", "dump"]))
def test_help_has_an_example_and_ends_well(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["cordwood", *arguments, "--help"])

    with pytest.raises(SystemExit) as left:
        cli.main()

    assert left.value.code == 0
    assert "Example: cordwood log dump" in capsys.readouterr().out
