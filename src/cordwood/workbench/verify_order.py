"""Whether offsets and leader epochs of a log go on from batch to batch, across its segments.

    offsets   increase; those that no batch has are gaps, which are judged when all is known:
                  below what a cleaner has reached, or a batch that has lost records   compacted
                  behind records without keys, or where files of a segment are left    lost
                  otherwise by the topic's cleanup policy: compacted, lost, or, where nobody knows
                  it, unknown
    epochs    never go back, and are those of the leader epoch checkpoint from its first on, which
              is written before the first record of an epoch is

A cleaner takes every record that has no key. So a gap behind such a record is none of its doing. In
a log that is not compacted every offset is in a batch: brokers leave out none, control records
count, and what is deleted or truncated goes from an end.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from cordwood.records.sweep import Swept, SweptBatch
from cordwood.storage.epochs import EpochEntry
from cordwood.workbench.findings import LOST, Finding, damage, note
from cordwood.workbench.settings_found import Cleanup

_OFFSET_REMEDY: Final = "restore the file from a replica: readers stop here"
_EPOCH_REMEDY: Final = "remove the file: the log then has no epochs from before its next leader"
_LEARN: Final = (
    "remove the file: the next load learns epochs from the log above its recovery point; or, if "
    "the batch is wrong, restore that from a replica"
)
_COMPACTED: Final = "--config cleanup.policy=compact"
#: Where a batch's fields are in `Swept.columns`.
_FIELD: Final = {name: at for at, name in enumerate(SweptBatch._fields)}


class Gap(NamedTuple):
    """Offsets that no batch has, and the batch or segment behind them."""

    first_offset: int
    end_offset: int
    path: str
    position: int


class EpochPlace(NamedTuple):
    """A batch whose epoch is not the one before."""

    path: str
    position: int
    batch: SweptBatch


class Order:
    """Hears of every batch of a log, in order. `next_offset` is None where that is not known.

    With `has_file` no entries mean that the checkpoint has none, and not that nobody knows.
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
        self.findings: list[Finding] = []
        self.next_offset: int | None = None
        self._epochs = epochs
        self._epochs_path = epochs_path
        self._has_file = has_file or bool(epochs)
        self._epoch = -1
        self._ahead: EpochPlace | None = None
        self._is_wrong_epoch = False
        self._gaps: list[Gap] = []
        self._healed: int | None = None
        self._first_keyless: int | None = None
        self._lost_at = -1

    @property
    def is_compacted(self) -> bool:
        """Whether a cleaner has been at work, as far as is known by now."""
        return self._lost_at >= 0 or bool(self._gaps)

    def begin(self, base_offset: int, path: str) -> None:
        """The next segment begins."""
        if self.next_offset is not None and base_offset < self.next_offset:
            self.findings.append(
                damage(
                    path,
                    "a segment that begins before the one in front of it ends",
                    remedy="move one of the two away, once it is known which of them is right",
                    first_offset=base_offset,
                    end_offset=self.next_offset,
                    expected=f"a base offset of at least {self.next_offset}",
                    found=base_offset,
                )
            )
        elif self.next_offset is not None:
            self._see_gap(base_offset, path, 0)
        self.next_offset = base_offset

    def add(self, swept: Swept, start: int, *, path: str) -> None:
        """Take the batches of a pass that began at a position of a file."""
        columns = swept.columns
        bases, lasts = columns[_FIELD["base_offset"]], columns[_FIELD["last_offset"]]
        nexts = [last + 1 for last in lasts]
        is_consecutive = bases[:1] == [self.next_offset] and bases[1:] == nexts[:-1]
        if not is_consecutive or self._healed is not None:
            self._follow(bases, lasts, [start + at for at in columns[0]], path)
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
            self._follow_epochs(swept, start, path)

    def break_off(self, next_offset: int | None) -> None:
        """What comes next cannot be known: something is damaged."""
        self.next_offset = next_offset
        self._healed = None

    def judge(
        self,
        *,
        log_start: int,
        cleaned_to: int,
        cleanup: Cleanup = Cleanup(),  # noqa: B008  # a value
        orphans: Iterable[int] = (),
    ) -> Iterator[Finding]:
        """Yield what the gaps are; `orphans` are bases of segments of which other files are left.

        Gaps that a cleaner left are told together. Then what the epochs lack, if they do.
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
                yield _lost(gap, "offsets are missing that no cleaner has taken")
            elif cleanup.is_compacted:
                cleaned.append(gap)
            else:
                yield _by_policy(gap, cleanup)
        if cleaned:
            yield note(
                cleaned[0].path,
                f"{sum(end - first for first, end, _, _ in cleaned):,} offsets in {len(cleaned):,} "
                "gaps were taken by a cleaner",
                first_offset=cleaned[0].first_offset,
                end_offset=cleaned[-1].end_offset,
            )
        if self._ahead is not None and not self._is_wrong_epoch:
            yield self._lacking(self._ahead.batch)

    # -- inside

    def _follow(self, bases: list[int], lasts: list[int], positions: list[int], path: str) -> None:
        """Go from batch to batch where offsets do not simply follow each other."""
        expected = self.next_offset
        for base, last, position in zip(bases, lasts, positions, strict=True):
            if expected is not None and base < expected:
                self.findings.append(
                    damage(
                        path,
                        "offsets that go back",
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
                self._see_gap(base, path, position)
            if expected is None or base >= expected:
                self._healed = None
            expected = last + 1

    def _see_gap(self, end_offset: int, path: str, position: int) -> None:
        first = self.next_offset
        if first is not None and first < end_offset:
            self._gaps.append(Gap(first, end_offset, path, position))

    def _is_behind_keyless(self, gap: Gap) -> bool:
        return self._first_keyless is not None and self._first_keyless < gap.first_offset

    def _follow_epochs(self, swept: Swept, start: int, path: str) -> None:
        for batch in swept.batches:
            epoch = batch.leader_epoch
            if epoch == self._epoch or epoch < 0:
                continue
            if epoch < self._epoch:
                place = EpochPlace(path, start + batch.position, batch)
                self._go_back(place, is_believed=self._known_epoch(batch.base_offset) == epoch)
            if self._has_file and epoch > self._latest_epoch:
                self._ahead = self._ahead or EpochPlace(path, start + batch.position, batch)
            self._epoch = epoch
            self._hold_against_checkpoint(batch)

    def _go_back(self, place: EpochPlace, *, is_believed: bool) -> None:
        """See an epoch below the one before it; believed if the checkpoint has the same.

        Then what was above is wrong, if the checkpoint has not heard of it.
        """
        words = "leader epochs that go back"
        if is_believed and self._ahead is not None:
            place, self._ahead = self._ahead, None
            words = "a leader epoch that is above those that follow"
        elif is_believed:
            path, position, batch = place
            self.findings.append(note(path, words, position=position, found=batch.leader_epoch))
            return
        path, position, batch = place
        self.findings.append(
            damage(
                path,
                words,
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

    def _lacking(self, batch: SweptBatch) -> Finding:
        return damage(
            self._epochs_path,
            "an epoch of the log is missing",
            remedy=_LEARN,
            first_offset=batch.base_offset,
            end_offset=batch.last_offset + 1,
            expected=f"epoch {batch.leader_epoch} at offset {batch.base_offset}",
            found=f"epoch {self._latest_epoch} as the latest" if self._epochs else "no epochs",
        )

    def _known_epoch(self, offset: int) -> int:
        after = bisect_right(self._epochs, offset, key=lambda entry: entry.start_offset)
        return self._epochs[after - 1].epoch if after else -1

    def _hold_against_checkpoint(self, batch: SweptBatch) -> None:
        """Compare a new epoch with the checkpoint; what is above its latest is judged later."""
        if self._is_wrong_epoch or not self._epochs:
            return
        after = bisect_right(self._epochs, batch.base_offset, key=lambda entry: entry.start_offset)
        is_known = after > 0 and batch.leader_epoch <= self._epochs[-1].epoch
        if is_known and self._epochs[after - 1].epoch != batch.leader_epoch:
            self._is_wrong_epoch = True
            self.findings.append(
                damage(
                    self._epochs_path,
                    "an epoch that is not the one in the log",
                    remedy=_EPOCH_REMEDY,
                    position=after + 2,
                    first_offset=batch.base_offset,
                    end_offset=batch.last_offset + 1,
                    expected=f"epoch {batch.leader_epoch} at offset {batch.base_offset}",
                    found=self._epochs[after - 1].epoch,
                )
            )


def _by_policy(gap: Gap, cleanup: Cleanup) -> Finding:
    """Return what a gap is in a log that is not compacted, or of which nobody knows."""
    if cleanup.is_compacted is not None:
        source = f"cleanup.policy: {cleanup.source}"
        words = f"offsets are missing of a topic that is not compacted ({source})"
        return _lost(gap, words, f"{LOST}; if it was compacted before, say {_COMPACTED}")
    return note(
        gap.path,
        "offsets that no batch has: taken by a cleaner, or lost; nobody says whether the topic is "
        "compacted",
        remedy=f"say {_COMPACTED}, or =delete",
        position=gap.position,
        first_offset=gap.first_offset,
        end_offset=gap.end_offset,
    )


def _lost(gap: Gap, words: str, remedy: str = LOST) -> Finding:
    return damage(
        gap.path,
        words,
        remedy=remedy,
        position=gap.position,
        first_offset=gap.first_offset,
        end_offset=gap.end_offset,
    )


def check_epochs(entries: Sequence[EpochEntry], path: str) -> Iterator[Finding]:
    """Yield a finding where epochs or start offsets do not increase."""
    for number, (before, after) in enumerate(pairwise(entries), 4):
        if not (before.epoch < after.epoch and before.start_offset < after.start_offset):
            yield damage(
                path,
                "epochs that do not increase",
                remedy=_EPOCH_REMEDY,
                position=number,
                expected=f"above epoch {before.epoch} at offset {before.start_offset}",
                found=f"epoch {after.epoch} at offset {after.start_offset}",
            )
            return
