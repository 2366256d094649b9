"""The list of commands has all of them, and each can be run from there."""

import pytest

from cordwood.cli import serving
from cordwood.cli.program import app


def test_list_has_serve_among_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        app(["--help"])

    listed = capsys.readouterr().out
    assert all(each in listed for each in ("serve", "topics", "compact", "doctor"))


def test_program_serves_as_the_command_does(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[object] = []
    monkeypatch.setattr(serving, "serve", lambda *said: heard.extend(said))

    with pytest.raises(SystemExit):
        app(["serve", "--set", "log.dirs=x", "a.properties"])

    assert heard == ["a.properties", ["log.dirs=x"]]
