"""Leader epoch cache of one log (Kafka: `LeaderEpochFileCache`, without its file).

    entries    (0, 0) (2, 50) (5, 80)       epoch 0 wrote 0..49, epoch 2 wrote 50..79, 5 the rest
    always     epochs and start offsets both strictly increase

A follower compares this history with its leader's to find the offset where the logs diverge. An
epoch ends where the next one starts; the latest one ends at the log end. A new entry removes the
entries that contradict it. A method that changes the entries returns True: then the caller has to
write the `leader-epoch-checkpoint` file.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Final, NamedTuple

from cordwood.core.types import NO_LEADER_EPOCH, NO_OFFSET, LeaderEpoch, Offset


class EpochEntry(NamedTuple):
    """A leader epoch and the offset of the first record written in it."""

    epoch: LeaderEpoch
    start_offset: Offset


class EpochEnd(NamedTuple):
    """An epoch and the offset after its last record; -1 and -1 if the epoch is unknown."""

    epoch: LeaderEpoch
    end_offset: Offset


UNKNOWN_END: Final = EpochEnd(NO_LEADER_EPOCH, NO_OFFSET)


class LeaderEpochCache:
    """The epochs of one log, oldest first."""

    def __init__(self, entries: Iterable[EpochEntry] = ()) -> None:
        self._entries: list[EpochEntry] = []
        for entry in entries:
            self.assign(entry.epoch, entry.start_offset)

    @property
    def entries(self) -> tuple[EpochEntry, ...]:
        return tuple(self._entries)

    @property
    def earliest(self) -> EpochEntry | None:
        return self._entries[0] if self._entries else None

    @property
    def latest(self) -> EpochEntry | None:
        return self._entries[-1] if self._entries else None

    def assign(self, epoch: LeaderEpoch, start_offset: Offset) -> bool:
        """Assign `epoch` to the records from `start_offset` on; return whether that is a change.

        Callers assign the epoch of every batch, so an epoch that already covers the offset changes
        nothing. A lower epoch removes the higher ones: its leader did write the log.
        """
        if epoch < 0 or start_offset < 0:
            raise ValueError(
                f"leader epoch {epoch} at offset {start_offset}: both must be at least 0"
            )
        entries = self._entries
        if entries and entries[-1].epoch == epoch and entries[-1].start_offset <= start_offset:
            return False
        while entries and (entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset):
            entries.pop()
        entries.append(EpochEntry(epoch, start_offset))
        return True

    def end_offset_for(self, epoch: LeaderEpoch, log_end_offset: Offset) -> EpochEnd:
        """Return the largest epoch up to `epoch` that has an entry, and its end offset.

        An epoch below all entries ends where the first one starts; one above them is unknown.
        """
        latest = self.latest
        if latest is None or not 0 <= epoch <= latest.epoch:
            return UNKNOWN_END
        if epoch == latest.epoch:
            return EpochEnd(epoch, log_end_offset)
        after = bisect_right(self._entries, epoch, key=_epoch_of)
        largest = self._entries[after - 1].epoch if after else epoch
        return EpochEnd(largest, self._entries[after].start_offset)

    def epoch_for(self, offset: Offset) -> LeaderEpoch | None:
        """Return the epoch of the record at `offset`; None below all entries."""
        after = bisect_right(self._entries, offset, key=_start_of)
        return self._entries[after - 1].epoch if after else None

    def truncate_from_start(self, offset: Offset) -> bool:
        """Move the log start to `offset`: the epoch of that offset starts there.

        An offset above all entries leaves only the latest epoch, which starts there.
        """
        after = bisect_right(self._entries, offset, key=_start_of)
        if not after or self._entries[0].start_offset == offset:
            return False
        self._entries[:after] = [EpochEntry(self._entries[after - 1].epoch, offset)]
        return True

    def truncate_from_end(self, offset: Offset) -> bool:
        """Remove the epochs that start at `offset` or above; -1 removes none."""
        kept = bisect_left(self._entries, offset, key=_start_of)
        if offset < 0 or kept == len(self._entries):
            return False
        del self._entries[kept:]
        return True

    def clear(self) -> bool:
        """Remove all epochs: a log in an old format, or one that restarts, has none."""
        had_entries = bool(self._entries)
        self._entries.clear()
        return had_entries


def _epoch_of(entry: EpochEntry) -> LeaderEpoch:
    return entry.epoch


def _start_of(entry: EpochEntry) -> Offset:
    return entry.start_offset
