"""The worked example of docs/formats/records.md: our writer's bytes, and our reader's records."""

from pathlib import Path
from typing import Final

from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.record_batch import RecordBatch

PAGE: Final = Path(__file__).parents[3] / "docs" / "formats" / "records.md"


def _documented() -> bytes:
    example = PAGE.read_text().split("## A worked example")[1].split("```")[1]
    return bytes.fromhex("".join(line.split("   ")[0] for line in example.splitlines()))


def test_documented_example_equals_the_built_batch() -> None:
    builder = BatchBuilder(BatchFields(base_offset=10, partition_leader_epoch=3))
    builder.append(b"k1", b"v1", timestamp=1000)
    builder.append(b"k2", None, timestamp=1005)

    assert bytes(builder.build()).hex() == _documented().hex()


def test_documented_example_has_the_documented_records() -> None:
    batch = RecordBatch(_documented())

    batch.ensure_valid()
    assert [
        (record.offset, record.timestamp, record.key, record.value) for record in batch.records()
    ] == [
        (10, 1000, b"k1", b"v1"),
        (11, 1005, b"k2", None),
    ]
