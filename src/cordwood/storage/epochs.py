"""Which leader wrote from which offset on: the history by which followers find where they diverge.

    entries    (0, 0) (2, 50) (5, 80)       epoch 0 wrote 0..49, epoch 2 wrote 50..79, 5 the rest
    always     epochs and start offsets both strictly increase

An epoch ends where the next one begins; the latest one ends where the log does. What contradicts a
new entry is older knowledge and goes. Whatever changes the entries says so by its return value:
then the `leader-epoch-checkpoint` file has to be written again.
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
    """An epoch and the offset after its last record; -1 and -1 where nothing is known."""

    epoch: LeaderEpoch
    end_offset: Offset


UNKNOWN_END: Final = EpochEnd(NO_LEADER_EPOCH, NO_OFFSET)


class LeaderEpochs:
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
        """Note that `epoch` writes from `start_offset` on, unless it is known to write already.

        Called for every batch. An epoch that is lower than known ones makes those go: the log was
        written by it after all.
        """
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"epoch {epoch} from offset {start_offset} is no entry")
        entries = self._entries
        if entries and entries[-1].epoch == epoch and entries[-1].start_offset <= start_offset:
            return False
        while entries and (entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset):
            entries.pop()
        entries.append(EpochEntry(epoch, start_offset))
        return True

    def end_offset_for(self, epoch: LeaderEpoch, log_end_offset: Offset) -> EpochEnd:
        """Return the largest known epoch up to `epoch`, and where it ends.

        An epoch older than all entries ends where those begin; one after them is unknown.
        """
        latest = self.latest
        if latest is None or not 0 <= epoch <= latest.epoch:
            return UNKNOWN_END
        if epoch == latest.epoch:
            return EpochEnd(epoch, log_end_offset)
        after = bisect_right(self._entries, epoch, key=_epoch_of)
        known = self._entries[after - 1].epoch if after else epoch
        return EpochEnd(known, self._entries[after].start_offset)

    def epoch_for(self, offset: Offset) -> LeaderEpoch | None:
        """Return the epoch in which the record at `offset` was written, None before all entries."""
        after = bisect_right(self._entries, offset, key=_start_of)
        return self._entries[after - 1].epoch if after else None

    def entry_of(self, epoch: LeaderEpoch) -> EpochEntry | None:
        """Return the entry of just this epoch."""
        found = self.next_entry(LeaderEpoch(epoch - 1))
        return found if found is not None and found.epoch == epoch else None

    def previous_entry(self, epoch: LeaderEpoch) -> EpochEntry | None:
        """Return the last entry of an epoch below `epoch`."""
        before = bisect_left(self._entries, epoch, key=_epoch_of)
        return self._entries[before - 1] if before else None

    def next_entry(self, epoch: LeaderEpoch) -> EpochEntry | None:
        """Return the first entry of an epoch above `epoch`."""
        after = bisect_right(self._entries, epoch, key=_epoch_of)
        return self._entries[after] if after < len(self._entries) else None

    def entries_between(self, start: Offset, end: Offset) -> tuple[EpochEntry, ...]:
        """Return the entries that a log from `start` to `end` would have."""
        part = LeaderEpochs(self._entries)
        part.truncate_from_start(start)
        part.truncate_from_end(end)
        return part.entries

    def truncate_from_start(self, offset: Offset) -> bool:
        """Let the log begin at `offset`: the epoch that wrote there begins there too.

        An offset after all entries leaves the latest epoch, beginning there.
        """
        after = bisect_right(self._entries, offset, key=_start_of)
        if not after or self._entries[0].start_offset == offset:
            return False
        self._entries[:after] = [EpochEntry(self._entries[after - 1].epoch, offset)]
        return True

    def truncate_from_end(self, offset: Offset) -> bool:
        """Let the log end at `offset`: epochs that begin there or later go. -1 does nothing."""
        kept = bisect_left(self._entries, offset, key=_start_of)
        if offset < 0 or kept == len(self._entries):
            return False
        del self._entries[kept:]
        return True

    def clear(self) -> bool:
        """Forget all epochs, as a log in an old format or one that begins anew has none."""
        had_entries = bool(self._entries)
        self._entries.clear()
        return had_entries


def _epoch_of(entry: EpochEntry) -> LeaderEpoch:
    return entry.epoch


def _start_of(entry: EpochEntry) -> Offset:
    return entry.start_offset
