"""Checks of the order of offsets and leader epochs, batch by batch, across segments.

    offsets   ascend; missing offsets are classified after the whole log has been read:
                  below the cleaner's checkpoint, or before a batch that lost records    compacted
                  behind records without keys, or where files of a segment are left      lost
                  otherwise by the topic's cleanup policy: compacted, lost or unknown
    epochs    never decrease, and equal the leader epoch checkpoint from its first entry on; its
              entry is written before the first record of an epoch

A cleaner removes every record without a key. So missing offsets behind such a record were not
removed by a cleaner. In a log that is not compacted, every offset is in a batch: brokers skip none,
control records have offsets too, and deletion and truncation remove offsets only at the ends.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from cordwood.records.batch_checks import CheckedBatch, CheckedBatches
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.workbench.topic_settings_lookup import CleanupPolicy
from cordwood.workbench.verify.findings import LOST, VerifyFinding, damage, note

_OFFSET_REMEDY: Final = "restore the file from a replica: readers stop here"
_EPOCH_REMEDY: Final = "remove the file: the log then has no epochs from before its next leader"
_REBUILD_EPOCHS: Final = (
    "remove the file: the next load rebuilds epochs from the log above its recovery point; or, if "
    "the batch is wrong, restore that from a replica"
)
_COMPACTED: Final = "--config cleanup.policy=compact"
#: The index of each field of a batch in `CheckedBatches.columns`.
_FIELD: Final = {name: at for at, name in enumerate(CheckedBatch._fields)}


class MissingOffsets(NamedTuple):
    """Offsets in no batch, and the position of the batch or segment behind them."""

    first_offset: int
    end_offset: int
    path: str
    position: int


class EpochChange(NamedTuple):
    """A batch whose epoch differs from the one before."""

    path: str
    position: int
    batch: CheckedBatch


class OffsetOrderCheck:
    """The check of one log; receives every batch in order. `next_offset` is None if unknown.

    With `has_file`, an empty `epochs` means that the checkpoint exists without entries.
    """

    __slots__ = (
        "_ahead",
        "_epoch",
        "_epochs",
        "_epochs_path",
        "_first_keyless",
        "_gaps",
        "_has_file",
        "_healed",
        "_is_wrong_epoch",
        "_lost_at",
        "findings",
        "next_offset",
    )

    def __init__(
        self, epochs: Sequence[EpochEntry] = (), *, epochs_path: str = "", has_file: bool = False
    ) -> None:
        self.findings: list[VerifyFinding] = []
        self.next_offset: int | None = None
        self._epochs = epochs
        self._epochs_path = epochs_path
        self._has_file = has_file or bool(epochs)
        self._epoch = -1
        self._ahead: EpochChange | None = None
        self._is_wrong_epoch = False
        self._gaps: list[MissingOffsets] = []
        self._healed: int | None = None
        self._first_keyless: int | None = None
        self._lost_at = -1

    @property
    def is_compacted(self) -> bool:
        """Return whether a cleaner has removed records, as far as is known by now."""
        return self._lost_at >= 0 or bool(self._gaps)

    def begin(self, base_offset: int, path: str) -> None:
        """Begin the next segment."""
        if self.next_offset is not None and base_offset < self.next_offset:
            self.findings.append(
                damage(
                    path,
                    "the segment begins before the end of the one before it",
                    remedy="find out which of the two is correct, and move the other away",
                    first_offset=base_offset,
                    end_offset=self.next_offset,
                    expected=f"a base offset of at least {self.next_offset}",
                    found=base_offset,
                )
            )
        elif self.next_offset is not None:
            self._add_missing(base_offset, path, 0)
        self.next_offset = base_offset

    def add(self, swept: CheckedBatches, start: int, *, path: str) -> None:
        """Check swept batches that begin at a position of a file."""
        columns = swept.columns
        bases, lasts = columns[_FIELD["base_offset"]], columns[_FIELD["last_offset"]]
        nexts = [last + 1 for last in lasts]
        is_consecutive = bases[:1] == [self.next_offset] and bases[1:] == nexts[:-1]
        if not is_consecutive or self._healed is not None:
            self._check_offsets(bases, lasts, [start + at for at in columns[0]], path)
        self.next_offset = nexts[-1]
        if sum(columns[_FIELD["record_count"]]) != sum(nexts) - sum(bases):
            self._lost_at = max(
                each.base_offset
                for each in swept.batches
                if each.record_count != each.last_offset - each.base_offset + 1
            )
        if self._first_keyless is None and any(columns[_FIELD["keyless"]]):
            self._first_keyless = next(
                each.base_offset for each in swept.batches if each.keyless > 0
            )
        epochs = columns[_FIELD["leader_epoch"]]
        if epochs.count(self._epoch) < len(epochs):
            self._check_epochs(swept, start, path)

    def break_off(self, next_offset: int | None) -> None:
        """Continue behind damage; the next offset may be unknown."""
        self.next_offset = next_offset
        self._healed = None

    def classify(
        self,
        *,
        log_start: int,
        cleaned_to: int,
        cleanup: CleanupPolicy = CleanupPolicy(),  # noqa: B008  # a value
        orphans: Iterable[int] = (),
    ) -> Iterator[VerifyFinding]:
        """Yield the findings about missing offsets and epochs.

        `orphans` are base offsets that have other files but no log. Missing offsets that a cleaner
        removed are one note.
        """
        cleaned = []
        bases = tuple(orphans)
        for gap in self._gaps:
            first, end, _, _ = gap
            if end <= log_start:
                continue
            if end <= max(cleaned_to, self._lost_at):
                cleaned.append(gap)
            elif self._is_behind_keyless(gap) or any(first <= base < end for base in bases):
                yield _lost(gap, "missing offsets that were not removed by a cleaner")
            elif cleanup.is_compacted:
                cleaned.append(gap)
            else:
                yield _by_policy(gap, cleanup)
        if cleaned:
            yield note(
                cleaned[0].path,
                f"{sum(end - first for first, end, _, _ in cleaned):,} offsets in {len(cleaned):,} "
                "gaps were removed by a cleaner",
                first_offset=cleaned[0].first_offset,
                end_offset=cleaned[-1].end_offset,
            )
        if self._ahead is not None and not self._is_wrong_epoch:
            yield self._missing_epoch(self._ahead.batch)

    # -- inside

    def _check_offsets(
        self, bases: list[int], lasts: list[int], positions: list[int], path: str
    ) -> None:
        """Check batches one by one, where offsets are not simply consecutive."""
        expected = self.next_offset
        for base, last, position in zip(bases, lasts, positions, strict=True):
            if expected is not None and base < expected:
                self.findings.append(
                    damage(
                        path,
                        "offsets decrease",
                        remedy=_OFFSET_REMEDY,
                        position=position,
                        first_offset=base,
                        end_offset=last + 1,
                        expected=f"at least {expected}",
                        found=base,
                    )
                )
                self._healed = expected
            elif expected is not None and base > expected and base != self._healed:
                self.next_offset = expected
                self._add_missing(base, path, position)
            if expected is None or base >= expected:
                self._healed = None
            expected = last + 1

    def _add_missing(self, end_offset: int, path: str, position: int) -> None:
        first = self.next_offset
        if first is not None and first < end_offset:
            self._gaps.append(MissingOffsets(first, end_offset, path, position))

    def _is_behind_keyless(self, gap: MissingOffsets) -> bool:
        return self._first_keyless is not None and self._first_keyless < gap.first_offset

    def _check_epochs(self, swept: CheckedBatches, start: int, path: str) -> None:
        for batch in swept.batches:
            epoch = batch.leader_epoch
            if epoch == self._epoch or epoch < 0:
                continue
            if epoch < self._epoch:
                change = EpochChange(path, start + batch.position, batch)
                is_known = self._checkpointed_epoch(batch.base_offset) == epoch
                self._add_decrease(change, is_known=is_known)
            if self._has_file and epoch > self._latest_epoch:
                self._ahead = self._ahead or EpochChange(path, start + batch.position, batch)
            self._epoch = epoch
            self._compare_with_checkpoint(batch)

    def _add_decrease(self, change: EpochChange, *, is_known: bool) -> None:
        """Add a finding for an epoch below the one before it.

        If the checkpoint contains the lower epoch (`is_known`), the higher one before it is wrong,
        unless the checkpoint contains that too.
        """
        cause = "leader epochs decrease"
        if is_known and self._ahead is not None:
            change, self._ahead = self._ahead, None
            cause = "a leader epoch is above those that follow"
        elif is_known:
            path, position, batch = change
            self.findings.append(note(path, cause, position=position, found=batch.leader_epoch))
            return
        path, position, batch = change
        self.findings.append(
            damage(
                path,
                cause,
                remedy="restore the file from a replica: followers may diverge here",
                position=position,
                first_offset=batch.base_offset,
                end_offset=batch.last_offset + 1,
                found=batch.leader_epoch,
            )
        )

    @property
    def _latest_epoch(self) -> int:
        return self._epochs[-1].epoch if self._epochs else -1

    def _missing_epoch(self, batch: CheckedBatch) -> VerifyFinding:
        return damage(
            self._epochs_path,
            "an epoch of the log is missing",
            remedy=_REBUILD_EPOCHS,
            first_offset=batch.base_offset,
            end_offset=batch.last_offset + 1,
            expected=f"epoch {batch.leader_epoch} at offset {batch.base_offset}",
            found=f"epoch {self._latest_epoch} as the latest" if self._epochs else "no epochs",
        )

    def _checkpointed_epoch(self, offset: int) -> int:
        after = bisect_right(self._epochs, offset, key=lambda entry: entry.start_offset)
        return self._epochs[after - 1].epoch if after else -1

    def _compare_with_checkpoint(self, batch: CheckedBatch) -> None:
        """Compare a new epoch with the checkpoint; one above its latest is classified later."""
        if self._is_wrong_epoch or not self._epochs:
            return
        after = bisect_right(self._epochs, batch.base_offset, key=lambda entry: entry.start_offset)
        is_known = after > 0 and batch.leader_epoch <= self._epochs[-1].epoch
        if is_known and self._epochs[after - 1].epoch != batch.leader_epoch:
            self._is_wrong_epoch = True
            self.findings.append(
                damage(
                    self._epochs_path,
                    "an epoch differs from the log",
                    remedy=_EPOCH_REMEDY,
                    position=after + 2,
                    first_offset=batch.base_offset,
                    end_offset=batch.last_offset + 1,
                    expected=f"epoch {batch.leader_epoch} at offset {batch.base_offset}",
                    found=self._epochs[after - 1].epoch,
                )
            )


def _by_policy(gap: MissingOffsets, cleanup: CleanupPolicy) -> VerifyFinding:
    """Return the finding for missing offsets in a log that is not known to be compacted."""
    if cleanup.is_compacted is not None:
        source = f"cleanup.policy: {cleanup.source}"
        cause = f"missing offsets in a topic that is not compacted ({source})"
        return _lost(gap, cause, f"{LOST}; if it was compacted before, give {_COMPACTED}")
    return note(
        gap.path,
        "missing offsets: removed by a cleaner, or lost; the topic's cleanup policy is unknown",
        remedy=f"give {_COMPACTED}, or =delete",
        position=gap.position,
        first_offset=gap.first_offset,
        end_offset=gap.end_offset,
    )


def _lost(gap: MissingOffsets, cause: str, remedy: str = LOST) -> VerifyFinding:
    return damage(
        gap.path,
        cause,
        remedy=remedy,
        position=gap.position,
        first_offset=gap.first_offset,
        end_offset=gap.end_offset,
    )


def check_epochs(entries: Sequence[EpochEntry], path: str) -> Iterator[VerifyFinding]:
    """Yield a finding if epochs or start offsets do not ascend."""
    for number, (before, after) in enumerate(pairwise(entries), 4):
        if not (before.epoch < after.epoch and before.start_offset < after.start_offset):
            yield damage(
                path,
                "epochs do not ascend",
                remedy=_EPOCH_REMEDY,
                position=number,
                expected=f"above epoch {before.epoch} at offset {before.start_offset}",
                found=f"epoch {after.epoch} at offset {after.start_offset}",
            )
            return
