"""Witnesses of the base offsets of a segment's batches: the files next to its log.

    indexes                   `indexed_offsets`
    leader-epoch-checkpoint   the offsets of the batch's epoch
    .snapshot                 at the segment's end, the last offset of each producer's last batch

A cleaner leaves gaps, so a wrong base offset may fit between its neighbours. Then the right one is
in a gap next to the batch. If a witness has an offset for the batch there, one of both is wrong.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import BytesError, DamagedFileError
from cordwood.core.ports import Files
from cordwood.core.types import NO_SEQUENCE, Offset
from cordwood.records.batch_header import BatchHeader
from cordwood.records.sequence import increment_sequence
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.storage.files import file_names as names
from cordwood.storage.files.atomic_write import read_whole
from cordwood.storage.producers.producer_snapshot import decode_snapshot
from cordwood.workbench.salvage.indexed_offsets import NO_INDEXES, IndexedOffsets
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch

#: The last offsets of batches, by producer id, producer epoch and last sequence.
LastOffsets: TypeAlias = Mapping[tuple[int, int, int], int]

_EPOCH: Final = itemgetter(0)


class FreeOffsets(NamedTuple):
    """The offsets around a batch that no other one has; `end` is excluded.

    A damaged batch, or one with a wrong offset, may be there, if a side of it is not certain. An
    entry of an index may be that of such a batch.
    """

    first: int
    end: int | None
    is_certain_before: bool = True
    is_certain_behind: bool = True


class SnapshotFile:
    """A snapshot, which is read when it is needed; a damaged or missing one is empty."""

    __slots__ = ("_files", "_found", "_path")

    def __init__(self, files: Files, source: str, offset: int) -> None:
        self._files = files
        self._path = f"{source}/{names.segment_name(Offset(offset), names.SNAPSHOT)}"
        self._found: LastOffsets | None = None

    def last_offsets(self) -> LastOffsets:
        """Return the last offset of each producer's last batch."""
        if self._found is None:
            try:
                states = decode_snapshot(read_whole(self._files, self._path), path=self._path)
            except (DamagedFileError, BytesError, FileNotFoundError):
                states = []
            self._found = {
                (each.producer_id, each.producer_epoch, each.last_sequence): each.last_offset
                for each in states
            }
        return self._found


class OffsetWitnesses:
    """The files next to a segment that have offsets for its batches.

    The first epoch may have been written from below its start offset on: it is moved with the log
    start. So its start offset counts only if `has_first_epoch`.
    """

    __slots__ = ("_epochs", "_has_first_epoch", "_snapshot", "indexed")

    def __init__(
        self,
        indexed: IndexedOffsets = NO_INDEXES,
        *,
        epochs: Sequence[EpochEntry] = (),
        has_first_epoch: bool = False,
        snapshot: SnapshotFile | None = None,
    ) -> None:
        self.indexed = indexed
        self._epochs = epochs
        self._has_first_epoch = has_first_epoch
        self._snapshot = snapshot

    def contradict(self, batch: SalvagedBatch, room: FreeOffsets) -> bool:
        """Return whether a witness has another offset for a batch, in the room around it.

        A snapshot has it anywhere: the sequences show that it is this batch.
        """
        end = INT64_MAX if room.end is None else room.end
        if room.first >= batch.offset and batch.next_offset >= end:
            return False
        has_entry = self.indexed.has_between
        return (
            (room.is_certain_before and has_entry(batch.header, room.first, end=batch.offset))
            or (room.is_certain_behind and has_entry(batch.header, batch.next_offset, end=room.end))
            or self._has_epoch(batch, room.first, end)
            or self._has_other_last_offset(batch)
        )

    def _has_epoch(self, batch: SalvagedBatch, first: int, end: int) -> bool:
        """Return whether the batch is not within its epoch, and would be elsewhere in a range."""
        at = bisect_left(self._epochs, batch.epoch, key=_EPOCH)
        if at == len(self._epochs) or self._epochs[at].epoch != batch.epoch:
            return False
        low = self._epochs[at].start_offset if at or self._has_first_epoch else 0
        high = self._epochs[at + 1].start_offset if at + 1 < len(self._epochs) else INT64_MAX
        is_within = low <= batch.offset and batch.next_offset <= high
        width = batch.next_offset - batch.offset
        return not is_within and max(first, low) + width <= min(end, high)

    def _has_other_last_offset(self, batch: SalvagedBatch) -> bool:
        """Return whether the batch is the last one of its producer, with another last offset."""
        return self._produced(batch.header) not in (-1, batch.last_offset)

    def _produced(self, header: BatchHeader) -> int:
        """Return the last offset of a batch by the snapshot, -1 if that does not have the batch."""
        if self._snapshot is None or not header.has_producer_id:
            return -1
        if header.base_sequence == NO_SEQUENCE:
            return -1
        delta = header.last_offset - header.base_offset
        last = increment_sequence(header.base_sequence, delta)
        key = header.producer_id, header.producer_epoch, last
        return self._snapshot.last_offsets().get(key, -1)


NO_WITNESSES: Final = OffsetWitnesses()
