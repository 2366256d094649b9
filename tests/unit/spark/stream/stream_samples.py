"""Logs and queries for the tests of streams, without Spark."""

from pathlib import Path

from cordwood.core.system import SystemFiles
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid, format_uuid
from cordwood.spark.stream.stream_options import parse_stream_options
from cordwood.spark.stream.stream_query import StreamQuery
from cordwood.storage.checkpoints.partition_metadata_file import write_partition_metadata
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import v2

T0, T1 = (TopicPartition(TopicName("t"), PartitionId(each)) for each in range(2))


def write_log(folder: Path, *batches: bytes, partition: int = 0, base_offset: int = 0) -> None:
    """Write the only segment of a partition."""
    directory = folder / f"t-{partition}"
    directory.mkdir(exist_ok=True)
    (directory / name(base_offset)).write_bytes(b"".join(batches))


def extend_log(folder: Path, *batches: bytes, partition: int = 0) -> None:
    """Append to the only segment of a partition."""
    with (folder / f"t-{partition}" / name(0)).open("ab") as log:
        log.write(b"".join(batches))


def identify_log(folder: Path, number: int, *, partition: int = 0) -> str:
    """Give a partition the topic id of a number, and return the id as text."""
    topic_id = Uuid(bytes(15) + bytes([number]))
    write_partition_metadata(SystemFiles(), f"{folder}/t-{partition}", topic_id=topic_id)
    return format_uuid(topic_id)


def records(first: int, end: int, *, epoch: int = 4) -> bytes:
    """Return batches of one record each, of a leader epoch."""
    return b"".join(of_epoch(v2(offset), epoch) for offset in range(first, end))


def of_epoch(batch: bytes, epoch: int) -> bytes:
    """Return a batch with another leader epoch, which is outside of its CRC."""
    return batch[:12] + epoch.to_bytes(4, "big") + batch[16:]


def query_of(folder: Path, clock: VirtualClock | None = None, **options: str) -> StreamQuery:
    """Return a query over a folder, from the earliest offsets."""
    given = {"path": str(folder), "startingOffsets": "earliest", **options}
    return StreamQuery(parse_stream_options(given), SystemFiles(), clock or VirtualClock())
