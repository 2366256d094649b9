"""Producer states of a log that another process owns: a snapshot and the log after it.

A snapshot has the open transactions of its offset, but not the completed ones whose marker is above
the high watermark. So the snapshot has to be at or below the high watermark. The rest of the log is
read: headers, and the records of markers. As when the owner opens the log, a marker that cannot be
read does not end a transaction. Idle producers do not expire, because the owner's limit is unknown.
"""

from typing import Final

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


def load_producer_states(
    reader: PartitionReader, *, high_watermark: int, log_end: int
) -> ProducerStateManager:
    """Return the producer states at the log end."""

    def replay() -> ProducerStateManager:
        producers = ProducerStateManager(_NO_EXPIRATION)
        _load_newest(reader, producers, high_watermark=high_watermark)
        for found in reader.batches(producers.map_end_offset, log_end):
            producers.replay(_produced(found))
        producers.on_high_watermark(high_watermark)
        return producers

    return reader.retry_on_change(replay)


def read_snapshot(reader: PartitionReader, offset: int) -> list[ProducerStateEntry] | None:
    """Return the entries of a snapshot; None if it is missing or damaged."""
    source = reader.source
    name = ListedSegment(offset).name(SNAPSHOT)
    try:
        data = source.read(name, source.stat(name).size, 0)
        return list(decode_snapshot(data, path=f"{source.path}/{name}"))
    except (DamagedFileError, FileNotFoundError):
        return None


def _load_newest(
    reader: PartitionReader, producers: ProducerStateManager, *, high_watermark: int
) -> None:
    for offset in reversed(snapshot_offsets(reader.list_names())):
        states = read_snapshot(reader, offset) if offset <= high_watermark else None
        if states is not None:
            producers.load(states, end_offset=offset, now_ms=0)
            return


def _produced(found: FoundBatch) -> ProducedBatch:
    if found.header.is_control:
        try:
            return ProducedBatch.of(found.header, found.data())
        except BadRecordsError:
            pass
    return ProducedBatch(found.header)
