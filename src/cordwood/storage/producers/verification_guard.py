"""Transaction verification of KIP-890 (Kafka: `VerificationStateEntry`, `VerificationGuard`).

    start    a first transactional batch arrives: the producer gets an entry with a guard
    verify   the caller asks the transaction coordinator whether the transaction exists
    append   the caller appends with the guard; the entry must still have that guard
    clear    a transactional batch or a marker of the producer has been written

A marker that arrives in between clears the entry, so that a stale answer of the coordinator cannot
open a transaction without an end. The entry also has the lowest sequence of its epoch: a later
batch that overtakes a retried one must not be written first.

The partition's leader calls `start_verification` before the first batch of a transaction.
"""

from dataclasses import dataclass, field


class VerificationGuard:
    """A token that is equal only to itself."""

    __slots__ = ()


@dataclass(slots=True)
class VerificationStateEntry:
    """One producer's pending verification; `supports_epoch_bump` means transactions v2."""

    started_ms: int
    lowest_sequence: int
    epoch: int
    supports_epoch_bump: bool
    guard: VerificationGuard = field(default_factory=VerificationGuard)

    def update(self, sequence: int, epoch: int) -> None:
        """Lower the sequence to that of another pending batch; a new epoch starts with its own.

        Kafka: `VerificationStateEntry.maybeUpdateLowestSequenceAndEpoch`.
        """
        if epoch > self.epoch or (epoch == self.epoch and sequence < self.lowest_sequence):
            self.epoch = epoch
            self.lowest_sequence = sequence


class VerificationStates:
    """The pending verifications of one log, by producer id."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[int, VerificationStateEntry] = {}

    def get(self, producer_id: int) -> VerificationStateEntry | None:
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
        """Return the guard of the producer's entry; create the entry if it does not exist."""
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = VerificationStateEntry(now_ms, sequence, epoch, supports_epoch_bump)
            self._entries[producer_id] = entry
        entry.update(sequence, epoch)
        return entry.guard

    def is_guarded_by(self, producer_id: int, guard: VerificationGuard | None) -> bool:
        """Return whether the producer's entry has this guard now."""
        entry = self._entries.get(producer_id)
        return entry is not None and entry.guard is guard

    def clear(self, producer_id: int) -> None:
        self._entries.pop(producer_id, None)

    def expire(self, now_ms: int, *, after_ms: int) -> None:
        """Remove the entries that were not verified in time."""
        old = [key for key, entry in self._entries.items() if now_ms - entry.started_ms >= after_ms]
        for producer_id in old:
            del self._entries[producer_id]
