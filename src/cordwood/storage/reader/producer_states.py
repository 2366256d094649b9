"""Producer states of a log that another process owns: a snapshot and the log after it.

A snapshot at or below the log start is not used, because the owner removes it when it opens the
log (Kafka: `ProducerStateManager.truncateAndReload`). A transaction without data from the log start
on is then forgotten; a cleaner may have removed its marker.

A snapshot has the open transactions of its offset, but not the completed ones whose marker is above
the high watermark. So the snapshot has to be at or below the high watermark. The rest of the log is
read: headers, and the records of markers. As when the owner opens the log, a marker that cannot be
read does not end a transaction. Idle producers do not expire, because the owner's limit is unknown.
"""

from typing import Final, NamedTuple

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import BadRecordsError, DamagedFileError
from cordwood.storage.files.file_names import SNAPSHOT
from cordwood.storage.producers.producer_snapshot import decode_snapshot
from cordwood.storage.producers.producer_state_entry import ProducedBatch, ProducerStateEntry
from cordwood.storage.producers.producer_state_manager import (
    ProducerStateManager,
    ProducerStateManagerConfig,
)
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.segment_listing import ListedSegment, snapshot_offsets
from cordwood.storage.reader.segment_walk import FoundBatch

_NO_EXPIRATION: Final = ProducerStateManagerConfig(id_expiration_ms=INT64_MAX)


class LoadedSnapshot(NamedTuple):
    """The producers at an offset."""

    offset: int
    states: list[ProducerStateEntry]


def load_producer_states(
    reader: PartitionReader, *, high_watermark: int, log_end: int
) -> ProducerStateManager:
    """Return the producer states at the log end."""

    def replay() -> ProducerStateManager:
        producers, log_start = ProducerStateManager(_NO_EXPIRATION), reader.log_start()
        newest = newest_snapshot(reader, log_start=log_start, end=high_watermark)
        if newest is None:
            producers.clear(log_start)
        else:
            producers.load(newest.states, end_offset=newest.offset, now_ms=0)
        for found in reader.batches(producers.map_end_offset, log_end):
            producers.replay(_produced(found))
        producers.on_high_watermark(high_watermark)
        return producers

    return reader.retry_on_change(replay)


def newest_snapshot(reader: PartitionReader, *, log_start: int, end: int) -> LoadedSnapshot | None:
    """Return the newest undamaged snapshot above the log start, up to `end`; None without one."""
    for offset in reversed(snapshot_offsets(reader.list_names())):
        states = read_snapshot(reader, offset) if log_start < offset <= end else None
        if states is not None:
            return LoadedSnapshot(offset, states)
    return None


def read_snapshot(reader: PartitionReader, offset: int) -> list[ProducerStateEntry] | None:
    """Return the entries of a snapshot; None if it is missing or damaged."""
    source = reader.source
    name = ListedSegment(offset).name(SNAPSHOT)
    try:
        data = source.read(name, source.stat(name).size, 0)
        return list(decode_snapshot(data, path=f"{source.path}/{name}"))
    except (DamagedFileError, FileNotFoundError):
        return None


def _produced(found: FoundBatch) -> ProducedBatch:
    if found.header.is_control:
        try:
            return ProducedBatch.of(found.header, found.data())
        except BadRecordsError:
            pass
    return ProducedBatch(found.header)
