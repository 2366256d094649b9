"""`cordwood log diff` as it is called."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.test_log_verify import LOG, run
from tests.unit.storage.log_samples import batch


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, data in (("a", batch(2)), ("b", batch(2)), ("c", batch(3))):
        (tmp_path / name / "t-0").mkdir(parents=True)
        (tmp_path / name / "t-0" / LOG).write_bytes(data)
    return tmp_path


@pytest.mark.parametrize(("other", "code"), (("b/t-0", 0), ("c/t-0", 1), ("d/t-0", 3)))
def test_exit_code_is_that_of_the_comparison(
    logs: Path, monkeypatch: pytest.MonkeyPatch, *, other: str, code: int
) -> None:
    assert run(monkeypatch, "diff", "a/t-0", other) == code


def test_diff_prints_json(
    logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "diff", "a/t-0", "c/t-0", "--json") == 1

    assert json.loads(capsys.readouterr().out)["only_b"] == [[2, 2]]
