"""Times of the records at which a stream continues, for its lag in seconds.

The time of a record is the largest timestamp of its batch, from the batch's header: a batch spans
little time, and its records are not decoded. Directories answer by their indexes; brokers by a
fetch of a few kilobytes, with a consumer of its own.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final

from cordwood.client.blocking import Consumer
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Files
from cordwood.core.types import TopicPartition
from cordwood.records.batch_header import read_header
from cordwood.spark.source.broker_offsets import open_consumer
from cordwood.spark.source.coverage import AvailableRange, PartitionDirectory
from cordwood.spark.source.directory_offsets import open_log
from cordwood.spark.source.source_options import Offsets, SourceOptions

#: Bytes that are fetched of a partition: a batch is sent whole, if it is larger.
_FETCH_BYTES: Final = 1 << 12
_TIMEOUT_MS: Final = 1_000


def times_in_directories(
    files: Files,
    positions: Offsets,
    *,
    available: Mapping[TopicPartition, Sequence[AvailableRange]],
) -> dict[TopicPartition, int]:
    """Return the times of the positions that directories have, in milliseconds since 1970."""
    found = {}
    for partition, position in positions.items():
        path = _directory_with(position, available.get(partition, ()))
        if path is not None:
            with open_log(files, path) as reader:
                batch = reader.find(position)
            if batch is not None:
                found[partition] = batch.header.max_timestamp
    return found


def _directory_with(position: int, ranges: Sequence[AvailableRange]) -> str | None:
    """Return the first directory that has an offset."""
    for each in ranges:
        if isinstance(each.source, PartitionDirectory) and each.start <= position < each.end:
            return each.source.path
    return None


def times_on_brokers(options: SourceOptions, positions: Offsets) -> dict[TopicPartition, int]:
    """Return the times of positions that brokers have; positions without an answer are absent."""
    found = dict[TopicPartition, int]()
    if not positions:
        return found
    small = {**options.client, "max.partition.fetch.bytes": str(_FETCH_BYTES)}
    try:
        with open_consumer(replace(options, client=small)) as consumer:
            _fetch_times(consumer, positions, found)
    except CordwoodError:
        pass  # the lag is informative, and the next lookup repeats the request
    return found


def _fetch_times(
    consumer: Consumer[bytes, bytes], positions: Offsets, found: dict[TopicPartition, int]
) -> None:
    consumer.assign(positions)
    for partition, position in positions.items():
        consumer.seek(partition, position)
    with closing(consumer.record_sets(timeout_ms=_TIMEOUT_MS)) as fetched:
        for records in fetched:
            header = read_header(records.data, 0, position=0) if len(records.data) else None
            if header is not None:
                found.setdefault(records.partition, header.max_timestamp)
            if len(found) == len(positions):
                return
