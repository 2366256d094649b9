"""`cordwood doctor` as it is called."""

import json
from pathlib import Path

import pytest

from cordwood.cli import checkup
from cordwood.cli.checkup import BAD, GOOD, Finding
from tests.unit.cli.commands import run


def test_doctor_says_what_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    said = run(("doctor", "--data", str(tmp_path)), monkeypatch, capfd)

    assert said.code == 0
    assert "good: Python: 3." in said.out


@pytest.mark.parametrize(("state", "code"), ((GOOD, 0), (BAD, 1)))
def test_doctor_ends_with_1_when_something_has_to_be_done(
    state: str,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(checkup, "look", lambda _data: [Finding("numpy", state, "?")])

    said = run(("doctor", "--json"), monkeypatch, capfd)

    expected = {"subject": "numpy", "state": state, "found": "?", "remedy": ""}
    assert said.code == code
    assert json.loads(said.out) == {"findings": [expected]}
