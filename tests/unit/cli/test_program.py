"""The typer application lists every command, and can run each."""

import pytest

from cordwood.cli import serve_run
from cordwood.cli.program import app


def test_list_contains_serve(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        app(["--help"])

    listed = capsys.readouterr().out
    assert all(each in listed for each in ("serve", "topics", "compact", "doctor"))


def test_application_runs_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    monkeypatch.setattr(serve_run, "serve", lambda *args, **_: calls.extend(args))

    with pytest.raises(SystemExit):
        app(["serve", "--set", "log.dirs=x", "a.properties"])

    assert calls == ["a.properties", ["log.dirs=x"]]
