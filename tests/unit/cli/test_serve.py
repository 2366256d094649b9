"""The command's options become settings, the plain ones stronger than `--set`."""

import pytest

from cordwood import cli
from cordwood.cli import serving


def test_serve_hands_on_what_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[object] = []
    monkeypatch.setattr(serving, "serve", lambda *said: heard.extend(said))
    arguments = ["a.properties", "--set", "log.dirs=x", "--data", "/d", "--listen", "h:1"]
    monkeypatch.setattr("sys.argv", ["cordwood", "serve", *arguments])

    with pytest.raises(SystemExit) as left:
        cli.main()

    assert left.value.code == 0
    assert heard == ["a.properties", ["log.dirs=x", "log.dirs=/d", "listeners=PLAINTEXT://h:1"]]
