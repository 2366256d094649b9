"""Checks of the order of offsets and leader epochs, batch by batch, across segments.

    offsets   ascend; missing offsets are classified after the whole log has been read:
                  below the cleaner's checkpoint, or before a batch that lost records    compacted
                  behind records without keys, or where files of a segment are left      lost
                  otherwise by the topic's cleanup policy: compacted, lost or unknown
              above the checkpoint of a compacted log, a pass may have ended before it wrote it
    epochs    never decrease; each batch has the epoch that the leader epoch checkpoint has for its
              offset, from the first entry on; an entry is written before the first record, and
              none but the first, which may be the log start, begins inside a batch

A cleaner removes every record without a key. So missing offsets behind such a record were not
removed by a cleaner. In a log that is not compacted, every offset is in a batch: brokers skip none,
control records have offsets too, and deletion and truncation remove offsets only at the ends.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple

from cordwood.core.binary import INT64_MAX
from cordwood.core.counts import counted
from cordwood.core.types import NO_LEADER_EPOCH
from cordwood.records.batch_checks import CheckedBatch, CheckedBatches
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.workbench.topic_settings_lookup import CleanupPolicy
from cordwood.workbench.verify.findings import GONE, REINDEX, RESTORE, VerifyFinding, damage, note

_OFFSET_REMEDY: Final = f"readers stop here; {RESTORE}"
_EPOCH_REMEDY: Final = f"stop the broker, remove the file and run: {REINDEX}"
_REBUILD_EPOCHS: Final = f"{_EPOCH_REMEDY}; or, if the batch is wrong, {RESTORE}"
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
        "_early",
        "_epoch",
        "_epochs",
        "_epochs_path",
        "_first_keyless",
        "_gaps",
        "_has_file",
        "_healed",
        "_inside",
        "_is_wrong_epoch",
        "_lost_at",
        "_next_epoch_at",
        "_starts",
        "findings",
        "next_offset",
        "thinned_to",
    )

    def __init__(
        self, epochs: Sequence[EpochEntry] = (), *, epochs_path: str = "", has_file: bool = False
    ) -> None:
        self.findings: list[VerifyFinding] = []
        self.next_offset: int | None = None
        #: The end of the offsets below which a cleaner is known to have removed some.
        self.thinned_to = 0
        self._epochs = epochs
        self._starts = [each.start_offset for each in epochs[:0:-1]]
        self._next_epoch_at = epochs[0].start_offset if epochs else INT64_MAX
        self._epochs_path = epochs_path
        self._has_file = has_file or bool(epochs)
        self._epoch = -1
        self._ahead: EpochChange | None = None
        self._inside: VerifyFinding | None = None
        self._early: CheckedBatch | None = None
        self._is_wrong_epoch = False
        self._gaps: list[MissingOffsets] = []
        self._healed: int | None = None
        self._first_keyless: int | None = None
        self._lost_at = -1

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
            last = [
                each
                for each in swept.batches
                if each.record_count != each.last_offset - each.base_offset + 1
            ][-1]
            self._lost_at = last.base_offset
            self.thinned_to = max(self.thinned_to, last.last_offset + 1)
        if self._first_keyless is None and any(columns[_FIELD["keyless"]]):
            self._first_keyless = next(
                each.base_offset for each in swept.batches if each.keyless > 0
            )
        epochs = columns[_FIELD["leader_epoch"]]
        if epochs.count(self._epoch) < len(epochs) or bases[-1] >= self._next_epoch_at:
            self._check_epochs(swept, start, path)
        while self._starts and self._starts[-1] <= lasts[-1]:
            inside = _find_inside(self._starts.pop(), bases, lasts, path=self._epochs_path)
            self._inside = inside or self._inside

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
        last_batches: Mapping[int, int] | None = None,
    ) -> Iterator[VerifyFinding]:
        """Yield the findings about missing offsets and epochs.

        `orphans` are base offsets that have other files but no log. `last_batches` are offset and
        producer of batches that no cleaner removes while their producers are active. Missing
        offsets that a cleaner removed are one note.
        """
        cleaned: list[MissingOffsets] = []
        above: list[MissingOffsets] = []
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
                (above if cleaned_to else cleaned).append(gap)
            else:
                yield _by_policy(gap, cleanup)
        if cleaned:
            yield _gaps(cleaned, "removed by a cleaner")
        yield from _above_checkpoint(above, cleaned_to, last_batches or {})
        if self._ahead is not None and not self._is_wrong_epoch:
            yield self._missing_epoch(self._ahead.batch)
        if self._inside is not None and not self._is_wrong_epoch and self._ahead is None:
            yield self._inside
        if self._early is not None and self._early.base_offset >= log_start:
            yield self._late_epoch(self._early)

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
            self.thinned_to = max(self.thinned_to, end_offset)

    def _is_behind_keyless(self, gap: MissingOffsets) -> bool:
        return self._first_keyless is not None and self._first_keyless < gap.first_offset

    def _check_epochs(self, swept: CheckedBatches, start: int, path: str) -> None:
        for batch in swept.batches:
            epoch = batch.leader_epoch
            if epoch < 0:
                self._check_negative(batch, start, path)
                continue
            if epoch == self._epoch:
                self._compare_with_checkpoint(batch)
                continue
            if epoch < self._epoch:
                change = EpochChange(path, start + batch.position, batch)
                is_known = self._checkpointed_epoch(batch.base_offset) == epoch
                self._add_decrease(change, is_known=is_known)
            if self._has_file and epoch > self._latest_epoch:
                self._ahead = self._ahead or EpochChange(path, start + batch.position, batch)
            self._epoch = epoch
            self._compare_with_checkpoint(batch)
        last = swept.columns[_FIELD["base_offset"]][-1]
        after = bisect_right(self._epochs, last, key=lambda entry: entry.start_offset)
        is_end = after == len(self._epochs)
        self._next_epoch_at = INT64_MAX if is_end else self._epochs[after].start_offset

    def _check_negative(self, batch: CheckedBatch, start: int, path: str) -> None:
        """Add a finding for a negative epoch other than that of batches without one."""
        if batch.leader_epoch == NO_LEADER_EPOCH:
            return
        self.findings.append(
            damage(
                path,
                "a negative leader epoch",
                remedy=f"no checksum covers the epoch; {RESTORE}",
                position=start + batch.position,
                first_offset=batch.base_offset,
                end_offset=batch.last_offset + 1,
                expected=f"{NO_LEADER_EPOCH} or more",
                found=batch.leader_epoch,
            )
        )

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
                remedy=f"followers may diverge here; {RESTORE}",
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

    def _late_epoch(self, batch: CheckedBatch) -> VerifyFinding:
        first = self._epochs[0]
        return note(
            self._epochs_path,
            f"the first epoch {first.epoch} begins at offset {first.start_offset}, and earlier in "
            "the log: the file was lost and rebuilt, or its entry is wrong",
            remedy="nothing to do: followers of earlier epochs may truncate further than necessary",
            position=3,
            first_offset=batch.base_offset,
            end_offset=first.start_offset,
        )

    def _checkpointed_epoch(self, offset: int) -> int:
        after = bisect_right(self._epochs, offset, key=lambda entry: entry.start_offset)
        return self._epochs[after - 1].epoch if after else -1

    def _compare_with_checkpoint(self, batch: CheckedBatch) -> None:
        """Compare a new epoch with the checkpoint; one above its latest is classified later."""
        if self._is_wrong_epoch or not self._epochs:
            return
        after = bisect_right(self._epochs, batch.base_offset, key=lambda entry: entry.start_offset)
        if not after and batch.leader_epoch == self._epochs[0].epoch:
            self._early = self._early or batch
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
        return _lost(gap, cause, f"{GONE}; if it was compacted before, give {_COMPACTED}")
    return note(
        gap.path,
        "missing offsets: removed by a cleaner, or lost; the topic's cleanup policy is unknown",
        remedy=f"give {_COMPACTED}, or =delete",
        is_unverified=True,
        position=gap.position,
        first_offset=gap.first_offset,
        end_offset=gap.end_offset,
    )


def _gaps(gaps: Sequence[MissingOffsets], cause: str) -> VerifyFinding:
    count = sum(end - first for first, end, _, _ in gaps)
    return note(
        gaps[0].path,
        f"{counted(count, 'offset')} in {counted(len(gaps), 'gap')}, {cause}",
        first_offset=gaps[0].first_offset,
        end_offset=gaps[-1].end_offset,
    )


def _above_checkpoint(
    gaps: Sequence[MissingOffsets], cleaned_to: int, last_batches: Mapping[int, int]
) -> Iterator[VerifyFinding]:
    """Yield a note about the missing offsets that no finished pass has removed."""
    if not gaps:
        return
    inside = sorted(
        producer
        for offset, producer in last_batches.items()
        if any(gap.first_offset <= offset < gap.end_offset for gap in gaps)
    )
    proof = f"; the last batch of producer {inside[0]} is missing" if inside else ""
    found = _gaps(
        gaps,
        f"missing above the cleaner's checkpoint {cleaned_to}: removed by a pass that ended "
        f"before it wrote the checkpoint, or lost{proof}",
    )
    yield replace(
        found,
        position=gaps[0].position,
        remedy="compare the log with a replica",
        is_unverified=True,
    )


def _lost(gap: MissingOffsets, cause: str, remedy: str = GONE) -> VerifyFinding:
    return damage(
        gap.path,
        cause,
        remedy=remedy,
        position=gap.position,
        first_offset=gap.first_offset,
        end_offset=gap.end_offset,
    )


def _find_inside(
    offset: int, bases: list[int], lasts: list[int], *, path: str
) -> VerifyFinding | None:
    """Return a finding if an epoch begins inside a batch."""
    at = bisect_right(bases, offset) - 1
    if at < 0 or not bases[at] < offset <= lasts[at]:
        return None
    return damage(
        path,
        "an epoch begins inside a batch",
        remedy=_REBUILD_EPOCHS,
        first_offset=bases[at],
        end_offset=lasts[at] + 1,
        expected=f"{bases[at]} or {lasts[at] + 1}",
        found=offset,
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
