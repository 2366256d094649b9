"""The README shows a session; here it runs as it stands there."""

import doctest
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_readme_session_runs_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL

    outcome = doctest.testfile(str(README), module_relative=False, optionflags=flags)

    assert outcome.attempted > 8
    assert outcome.failed == 0
