"""`cordwood spark checkpoint show` as it is called."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.commands import run
from tests.unit.spark.stream.test_checkpoint_offsets import write_checkpoint


def test_checkpoint_is_shown_as_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write_checkpoint(tmp_path, planned=3, finished=3)

    result = run(("spark", "checkpoint", "show", str(tmp_path)), monkeypatch, capfd)

    assert result.code == 0
    assert result.out.splitlines()[1].split() == ["query", "2", "finished", "1", "t", "0", "10"]


def test_checkpoint_is_shown_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write_checkpoint(tmp_path, planned=3, finished=2)

    result = run(("spark", "checkpoint", "show", str(tmp_path), "--json"), monkeypatch, capfd)

    assert json.loads(result.out.splitlines()[0])["next_offset"] == 10
