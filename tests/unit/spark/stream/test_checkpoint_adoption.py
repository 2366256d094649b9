"""Takeover of a checkpoint of spark-sql-kafka, and the way back."""

import json
from pathlib import Path

import pytest

from cordwood.core.errors import SettingError
from cordwood.core.system import SystemFiles
from cordwood.spark.stream.checkpoint_adoption import adopt_from_kafka, adopt_to_kafka
from cordwood.spark.stream.checkpoint_offsets import read_checkpoint
from cordwood.spark.stream.stream_offset import JsonObject, StreamOffset, checkpoint_json
from cordwood.spark.stream.stream_progress import ranges_between
from tests.unit.spark.stream.stream_samples import T0, T1
from tests.unit.spark.stream.test_checkpoint_offsets import write_checkpoint

FILES = SystemFiles()
#: The start of a query, as spark-sql-kafka 4.0.0 stores it.
KAFKA_START = b'\0v1\n{"t":{"1":0,"0":3}}'
#: The number of the source in the checkpoints of `write_checkpoint`.
SOURCE = 1
IDS = {"t": "kX1"}


def begun_by_kafka(folder: Path, start: bytes | None = KAFKA_START) -> Path:
    """Write a checkpoint of spark-sql-kafka whose batch 0 is planned."""
    write_checkpoint(folder, planned=1, finished=0)
    end(folder, 0, {"t": {"0": 10, "1": 2}})
    if start is not None:
        (folder / "sources" / str(SOURCE)).mkdir(parents=True)
        (folder / "sources" / str(SOURCE) / "0").write_bytes(start)
    return folder


def end(folder: Path, batch: int, offset: JsonObject) -> None:
    lines = ["v1", "{}", "7", json.dumps(offset)]
    (folder / "offsets" / str(batch)).write_text("\n".join(lines))


def lines_of(folder: Path, batch: int) -> list[str]:
    return (folder / "offsets" / str(batch)).read_text().split("\n")


def test_batch_that_kafka_has_begun_gets_its_start(tmp_path: Path) -> None:
    begun_by_kafka(tmp_path)

    changed = adopt_from_kafka(FILES, tmp_path)

    assert changed == [tmp_path / "offsets" / "0"]
    found = read_checkpoint(tmp_path).ends[SOURCE]
    assert found == StreamOffset({T0: 10, T1: 2}, start={T0: 3, T1: 0})
    assert [(each.start, each.end) for each in ranges_between(StreamOffset({}), found)] == [
        (3, 10),
        (0, 2),
    ]
    assert lines_of(tmp_path, 0)[:3] == ["v1", "{}", "7"]
    assert not (tmp_path / "offsets" / ".0.crc").exists()


def test_repeated_takeover_changes_nothing(tmp_path: Path) -> None:
    adopt_from_kafka(FILES, begun_by_kafka(tmp_path))

    assert adopt_from_kafka(FILES, tmp_path) == []


@pytest.mark.parametrize(("planned", "finished"), ((1, 1), (3, 2)))
def test_later_checkpoint_of_kafka_needs_no_change(
    tmp_path: Path, planned: int, finished: int
) -> None:
    write_checkpoint(tmp_path, planned=planned, finished=finished)

    assert adopt_from_kafka(FILES, tmp_path) == []


@pytest.mark.parametrize(
    "start", (None, b"", b'v1\n{"t":{"0":3}}', b"\0v2\n{}", b"\0v1\n[]", b"\0v1\n{")
)
def test_batch_without_a_start_is_rejected(tmp_path: Path, start: bytes | None) -> None:
    begun_by_kafka(tmp_path, start)

    with pytest.raises(SettingError, match="sources/1/0: not the start of a query"):
        adopt_from_kafka(FILES, tmp_path)


def test_key_of_this_source_is_removed_for_kafka(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, planned=3, finished=2)
    for batch in (1, 2):
        end(tmp_path, batch, checkpoint_json(StreamOffset({T0: batch}, IDS, leader_epochs={T0: 4})))

    changed = adopt_to_kafka(FILES, tmp_path)

    assert changed == [tmp_path / "offsets" / "1", tmp_path / "offsets" / "2"]
    assert lines_of(tmp_path, 2) == ["v1", "{}", "7", '{"t":{"0":2}}']
    assert adopt_to_kafka(FILES, tmp_path) == []


def test_kafka_gets_the_start_of_a_batch_that_is_not_finished(tmp_path: Path) -> None:
    begun_by_kafka(tmp_path, None)
    end(tmp_path, 0, checkpoint_json(StreamOffset({T0: 10, T1: 2}, IDS, start={T0: 3, T1: 0})))

    changed = adopt_to_kafka(FILES, tmp_path)

    stored = tmp_path / "sources" / str(SOURCE) / "0"
    assert changed == [stored, tmp_path / "offsets" / "0"]
    assert stored.read_bytes() == b'\0v1\n{"t":{"0":3,"1":0}}'
    assert lines_of(tmp_path, 0)[3] == '{"t":{"0":10,"1":2}}'


def test_batch_that_kafka_could_not_repeat_is_rejected(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, planned=3, finished=2)
    end(tmp_path, 2, checkpoint_json(StreamOffset({T0: 12}, IDS, start={T0: 9})))

    with pytest.raises(SettingError, match="batch 2 is not finished"):
        adopt_to_kafka(FILES, tmp_path)
