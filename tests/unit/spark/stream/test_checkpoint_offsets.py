"""Offsets in the checkpoint of a query."""

import json
from pathlib import Path

import pytest

from cordwood.core.errors import SettingError
from cordwood.spark.stream.checkpoint_offsets import (
    Checkpoint,
    checkpoint_rows,
    read_checkpoint,
)
from cordwood.spark.stream.stream_offset import StreamOffset
from tests.unit.spark.stream.stream_samples import T0, T1


def write_checkpoint(folder: Path, *, planned: int, finished: int) -> Path:
    """Write a checkpoint with offsets of two sources, of which one is not of topics."""
    (folder / "metadata").write_text(json.dumps({"id": "query"}))
    for name, count in (("offsets", planned), ("commits", finished)):
        (folder / name).mkdir()
        for batch in range(count):
            lines = ["v1", "{}", "7", json.dumps({"t": {"1": batch, "0": 5 * batch}})]
            (folder / name / str(batch)).write_text("\n".join(lines))
            (folder / name / f".{batch}.crc").write_bytes(b"crc")
    return folder


def test_last_batch_is_read_with_the_offsets_of_topics(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, planned=3, finished=2)

    found = read_checkpoint(tmp_path)

    assert found == Checkpoint(
        "query", 2, is_finished=False, ends={1: StreamOffset({T0: 10, T1: 2})}
    )


def test_finished_batch_is_known(tmp_path: Path) -> None:
    assert read_checkpoint(write_checkpoint(tmp_path, planned=2, finished=2)).is_finished


def test_rows_are_in_the_order_of_partitions(tmp_path: Path) -> None:
    rows = checkpoint_rows(read_checkpoint(write_checkpoint(tmp_path, planned=3, finished=2)))

    assert [(row["STATE"], row["PARTITION"], row["NEXT-OFFSET"]) for row in rows] == [
        ("planned", 0, 10),
        ("planned", 1, 2),
    ]


@pytest.mark.parametrize("text", (None, "", "[]", "{}"))
def test_other_folder_is_rejected(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "metadata").write_text(text)

    with pytest.raises(SettingError, match="is not the checkpoint of a query"):
        read_checkpoint(tmp_path)


def test_query_without_a_batch_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text('{"id": "query"}')

    with pytest.raises(SettingError, match="the query has no batch yet"):
        read_checkpoint(tmp_path)


@pytest.mark.parametrize("text", ("", "v1\n{}", 'v1\n{}\n{"t": {"1": 5'))
def test_batch_that_is_not_complete_is_rejected(tmp_path: Path, text: str) -> None:
    write_checkpoint(tmp_path, planned=3, finished=2)
    (tmp_path / "offsets" / "2").write_text(text)

    with pytest.raises(SettingError, match=r"offsets/2: is damaged or not complete"):
        read_checkpoint(tmp_path)


def test_source_without_an_offset_has_no_end(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, planned=1, finished=1)
    (tmp_path / "offsets" / "0").write_text('v1\n{}\n-\n{"t": {"0": 5}}')

    assert read_checkpoint(tmp_path).ends == {1: StreamOffset({T0: 5})}
