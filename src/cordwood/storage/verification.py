"""Transactions whose first write waits until the coordinator has said that it knows of them.

    start    a first transactional batch arrives: the producer gets an entry with a guard
    verify   the coordinator is asked, somewhere else
    append   the batch comes back with the guard; it is written if the entry still has that guard
    clear    a transactional batch or a marker of the producer has been written

A marker that arrives in between clears the entry, so a stale answer opens no transaction that
nobody would ever end. The entry also remembers the lowest sequence that it has seen in its epoch:
a later batch that overtakes a retried one must not be written first.
"""

from dataclasses import dataclass, field


class VerificationGuard:
    """A token that equals nothing but itself."""

    __slots__ = ()


@dataclass(slots=True)
class VerificationEntry:
    """One producer's wait. With `supports_epoch_bump`, its client speaks transactions v2."""

    started_ms: int
    lowest_sequence: int
    epoch: int
    supports_epoch_bump: bool
    guard: VerificationGuard = field(default_factory=VerificationGuard)

    def saw(self, sequence: int, epoch: int) -> None:
        """Another batch of the producer asks to be verified; a new epoch counts from its own."""
        if epoch > self.epoch or (epoch == self.epoch and sequence < self.lowest_sequence):
            self.epoch = epoch
            self.lowest_sequence = sequence


class Verifications:
    """The entries of one log, by producer id."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[int, VerificationEntry] = {}

    def get(self, producer_id: int) -> VerificationEntry | None:
        return self._entries.get(producer_id)

    def start(
        self,
        producer_id: int,
        *,
        sequence: int,
        epoch: int,
        now_ms: int,
        supports_epoch_bump: bool = False,
    ) -> VerificationGuard:
        """Return the guard of the producer's entry, which is made if there is none."""
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = VerificationEntry(now_ms, sequence, epoch, supports_epoch_bump)
            self._entries[producer_id] = entry
        entry.saw(sequence, epoch)
        return entry.guard

    def is_guarded_by(self, producer_id: int, guard: VerificationGuard | None) -> bool:
        """Say whether the guard is the one that the producer's entry has now."""
        entry = self._entries.get(producer_id)
        return entry is not None and entry.guard is guard

    def clear(self, producer_id: int) -> None:
        self._entries.pop(producer_id, None)

    def expire(self, now_ms: int, *, after_ms: int) -> None:
        """Forget those that were never verified."""
        old = [key for key, entry in self._entries.items() if now_ms - entry.started_ms >= after_ms]
        for producer_id in old:
            del self._entries[producer_id]
