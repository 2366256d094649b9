"""Timestamps of the first records that a group has not consumed, read from their partitions.

A committed offset may be of a deleted record or of a control record, so the next record counts.
"""

from collections.abc import Mapping
from typing import Final

from cordwood.client.blocking import Consumer
from cordwood.client.consumer.completed_fetch import CompletedFetch
from cordwood.client.serializers import BYTES
from cordwood.core.system import SystemClock
from cordwood.core.types import TopicPartition

#: Only the first batch of a partition counts, but a fetch may be of many partitions.
_FETCH_BYTES: Final = 65_536


def waiting_since(
    config: Mapping[str, object],
    offsets: Mapping[TopicPartition, int],
    *,
    log_ends: Mapping[TopicPartition, int],
    timeout_ms: int,
) -> dict[TopicPartition, int | None]:
    """Return the timestamp of the first record at or after each offset, None if there is none.

    A partition that is not read in time is absent, and so is a record without a timestamp.
    """
    found: dict[TopicPartition, int | None] = {}
    wanted: dict[TopicPartition, int] = {}
    for each, offset in offsets.items():
        if each not in log_ends:
            continue
        if offset >= log_ends[each]:
            found[each] = None
        else:
            wanted[each] = offset
    if wanted:
        more = {"max.partition.fetch.bytes": _FETCH_BYTES, "auto.offset.reset": "earliest"}
        with Consumer.from_config({**config, **more}) as consumer:
            found |= _read(consumer, wanted, log_ends=log_ends, timeout_ms=timeout_ms)
    return {each: since for each, since in found.items() if since is None or since >= 0}


def _read(
    consumer: Consumer[bytes, bytes],
    wanted: Mapping[TopicPartition, int],
    *,
    log_ends: Mapping[TopicPartition, int],
    timeout_ms: int,
) -> dict[TopicPartition, int | None]:
    found: dict[TopicPartition, int | None] = {}
    clock = SystemClock()
    deadline_ms = clock.monotonic_ms() + timeout_ms
    consumer.assign(wanted)
    for each, offset in wanted.items():
        consumer.seek(each, offset)
    for fetched in consumer.record_sets(timeout_ms=timeout_ms):
        partition = fetched.partition
        since = first_timestamp(fetched)
        if partition not in found and (since is not None or fetched.end[0] >= log_ends[partition]):
            found[partition] = since
            consumer.pause(partition)
        if len(found) == len(wanted) or clock.monotonic_ms() > deadline_ms:
            break
    return found


def first_timestamp(fetched: CompletedFetch) -> int | None:
    """Return the timestamp of the first record, None if there is no record for the reader."""
    record = next(fetched.records(BYTES), None)
    return None if record is None else record.timestamp
