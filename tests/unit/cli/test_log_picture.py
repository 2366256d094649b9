"""`cordwood log picture` as it is called."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.test_log_verify import LOG, run
from tests.unit.storage.log_samples import batch


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("t-0", "t-1"):
        (tmp_path / "logs" / name).mkdir(parents=True)
        (tmp_path / "logs" / name / LOG).write_bytes(batch(2))
    return tmp_path / "logs"


@pytest.mark.parametrize("width", (80, 140))
def test_picture_is_as_wide_as_asked_for(
    logs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    width: int,
) -> None:
    assert run(monkeypatch, "picture", "logs/t-0", "--width", str(width)) == 0

    assert len(capsys.readouterr().out.splitlines()[1]) == width


def test_picture_of_a_log_directory_is_that_of_its_partitions(
    logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "picture", "logs", "--json") == 0

    found = [json.loads(line)["path"] for line in capsys.readouterr().out.splitlines()]
    assert found == [str(logs / "t-0"), str(logs / "t-1")]


def test_picture_is_written_as_svg(
    logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "picture", "logs/t-0", "--svg", "t.svg") == 0
    assert Path("t.svg").read_text().startswith("<svg ")
    assert run(monkeypatch, "picture", "logs", "--svg", "t.svg") == 2
    assert "--svg draws one partition (2 are given)" in capsys.readouterr().err
