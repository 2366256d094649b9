"""What producers did in a log that somebody else owns: the newest snapshot that helps, and the log.

A snapshot says which transactions are open where it was taken, but not which of those that are over
have their marker above the high watermark. So it has to be from below that, and the rest is read:
headers, and the records of markers. One that cannot be read ends no transaction, as when the owner
opens the log. Nobody is forgotten for being idle: what the owner's limit is cannot be known.
"""

from typing import Final

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import BadRecordsError, DamagedFileError
from cordwood.storage.names import SNAPSHOT
from cordwood.storage.producer_snapshot import decode_snapshot
from cordwood.storage.producer_state import ProducedBatch, ProducerState
from cordwood.storage.producers import ProducerSettings, ProducerStates
from cordwood.storage.reader import PartitionReader
from cordwood.storage.reader_listing import ListedSegment, snapshot_offsets
from cordwood.storage.reader_walk import FoundBatch

_NOBODY_EXPIRES: Final = ProducerSettings(id_expiration_ms=INT64_MAX)


def producers_of(reader: PartitionReader, *, high_watermark: int, log_end: int) -> ProducerStates:
    """Return what is known of the producers at the log's end."""

    def replayed() -> ProducerStates:
        producers = ProducerStates(_NOBODY_EXPIRES)
        _load_newest(reader, producers, high_watermark=high_watermark)
        for found in reader.batches(producers.map_end_offset, log_end):
            producers.replay(_produced(found))
        producers.on_high_watermark(high_watermark)
        return producers

    return reader.patiently(replayed)


def read_snapshot(reader: PartitionReader, offset: int) -> list[ProducerState] | None:
    """Return what a snapshot says; None if there is none, or none that can be read."""
    source = reader.source
    name = ListedSegment(offset).name(SNAPSHOT)
    try:
        data = source.read(name, source.stat(name).size, 0)
        return list(decode_snapshot(data, path=f"{source.path}/{name}"))
    except (DamagedFileError, FileNotFoundError):
        return None


def _load_newest(
    reader: PartitionReader, producers: ProducerStates, *, high_watermark: int
) -> None:
    for offset in reversed(snapshot_offsets(reader.names())):
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
