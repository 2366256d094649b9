"""What producers did, read from the log itself: from where a snapshot ends to where the log does.

Only headers are read, and the records of markers. Batches count as a replica's: what is in the log
has been let in.
"""

from collections.abc import Collection, Iterator

from cordwood.records.header import BatchHeader
from cordwood.storage.producer_state import ProducedBatch
from cordwood.storage.producers import ProducerStates
from cordwood.storage.scan import headers
from cordwood.storage.segment import Segment
from cordwood.storage.segments import Segments
from cordwood.storage.snapshot_files import SnapshotFiles


def replay(
    segments: Segments,
    producers: ProducerStates,
    *,
    log_start: int,
    log_end: int,
    snapshots: SnapshotFiles | None = None,
    snapshot_at: Collection[int] = (),
) -> None:
    """Bring `producers` from their end offset to `log_end`.

    On the way a snapshot is taken at those segment bases that are in `snapshot_at`.
    """
    for segment in segments.between(producers.map_end_offset, log_end):
        start = max(segment.base_offset, producers.map_end_offset, log_start)
        producers.advance(start)
        if snapshots is not None and segment.base_offset in snapshot_at:
            snapshots.take(producers)
        for header in _from(segment, start):
            if header.base_offset >= log_end:
                break
            producers.replay(_produced(segment, header))
    producers.advance(log_end)


def _from(segment: Segment, offset: int) -> Iterator[BatchHeader]:
    """Yield the headers of the batches that hold `offset` and what follows."""
    first = segment.translate(offset)
    if first is not None:
        yield from headers(segment.files.pread, first.position, segment.size)


def _produced(segment: Segment, header: BatchHeader) -> ProducedBatch:
    """Read the marker where there is one."""
    if not header.is_control:
        return ProducedBatch(header)
    return ProducedBatch.of(header, segment.view.data_of(header))
