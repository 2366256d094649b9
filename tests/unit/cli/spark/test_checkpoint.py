"""`cordwood spark checkpoint` as it is called."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.commands import run
from tests.unit.spark.stream.test_checkpoint_adoption import begun_by_kafka
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


def test_checkpoint_is_adopted_and_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    begun_by_kafka(tmp_path)
    words = ("spark", "checkpoint", "adopt", str(tmp_path))

    taken, again, given = (
        run((*words, *more), monkeypatch, capfd) for more in ((), (), ("--to-kafka",))
    )

    assert [each.code for each in (taken, again, given)] == [0, 0, 0]
    assert taken.err == f"{tmp_path}/offsets/0: written\n"
    assert given.err == f"{tmp_path}/sources/1/0: written\n{tmp_path}/offsets/0: written\n"
    assert again.err == f"{tmp_path}: no file needs a change\n"
    assert taken.out == again.out
    assert taken.out.splitlines()[1].split() == ["query", "0", "planned", "1", "t", "0", "10"]
