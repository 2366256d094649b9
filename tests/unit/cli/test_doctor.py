"""`cordwood doctor` as it is called."""

import json
from pathlib import Path

import pytest

from cordwood.cli import doctor_checks
from cordwood.cli.doctor_checks import BAD, GOOD, CheckResult
from tests.unit.cli.commands import run


def test_doctor_prints_its_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    result = run(("doctor", "--data", str(tmp_path)), monkeypatch, capfd)

    assert result.code == 0
    assert "good: Python: 3." in result.out


@pytest.mark.parametrize(("state", "code"), ((GOOD, 0), (BAD, 1)))
def test_doctor_exits_with_1_when_a_check_fails(
    state: str,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(
        doctor_checks, "run_checks", lambda _data: [CheckResult("numpy", state, "?")]
    )

    result = run(("doctor", "--json"), monkeypatch, capfd)

    expected = {"subject": "numpy", "state": state, "found": "?", "remedy": ""}
    assert result.code == code
    assert json.loads(result.out) == {"findings": [expected]}
