"""The command's options become settings, the plain ones stronger than `--set`."""

import subprocess
import sys

import pytest

from cordwood import cli
from cordwood.cli import serving

LIGHT = """
import sys
from cordwood.cli import main
sys.argv = ["cordwood", "serve", "--listen", "nowhere"]
try:
    main()
except SystemExit as left:
    print(left.code, [name for name in ("typer", "pydantic") if name in sys.modules])
"""


def test_serve_hands_on_what_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[object] = []
    monkeypatch.setattr(serving, "serve", lambda *said: heard.extend(said))
    arguments = ["a.properties", "--set", "log.dirs=x", "--data", "/d", "--listen", "h:1"]
    monkeypatch.setattr("sys.argv", ["cordwood", "serve", *arguments])

    cli.main()

    assert heard == ["a.properties", ["log.dirs=x", "log.dirs=/d", "listeners=PLAINTEXT://h:1"]]


def test_serve_does_without_what_the_other_commands_are_read_by() -> None:
    done = subprocess.run(
        (sys.executable, "-c", LIGHT), capture_output=True, text=True, check=True, timeout=30
    )

    assert done.stdout == "2 []\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    (
        (("--help",), 0, "Example: cordwood serve --data logs"),
        (("--lis", "h:1"), 2, "unrecognized arguments: --lis"),
    ),
)
def test_serve_tells_how_it_is_used(
    arguments: tuple[str, ...],
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["cordwood", "serve", *arguments])

    with pytest.raises(SystemExit) as left:
        cli.main()

    said = capsys.readouterr()
    assert left.value.code == code
    assert words in (said.err if code else said.out)
