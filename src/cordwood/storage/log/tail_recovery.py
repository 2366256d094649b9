"""Recovery of the end of a log that was not closed (Kafka: `LogLoader.recoverLog`).

Records below the recovery point have been synced and are trusted. From there on every batch is
checked, and the first invalid batch ends the log: later segments are removed, since a log has no
gaps, and then the rest of its segment is truncated.

A segment below the recovery point is recovered only if its indexes are unusable. If it is damaged
it is truncated, but later segments stay: they have been synced and are valid.

Recovery also rebuilds the producer state and the leader epochs, and so the transaction indexes. A
segment with offsets beyond the range of its indexes is split on the way.
"""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Final, TypeAlias

from cordwood.core.errors import CorruptMessageError, InvalidRecordError
from cordwood.records.batch_header import BatchHeader
from cordwood.records.tail_scan import TailScanner, TailScanners, no_tail_scanner
from cordwood.storage.files.header_scan import headers
from cordwood.storage.log.log_state import LogState
from cordwood.storage.log.producer_state_rebuild import replay
from cordwood.storage.log.segment_recovery import recover
from cordwood.storage.log.segment_split import parts_of, split
from cordwood.storage.producers.producer_state_entry import ProducedBatch
from cordwood.storage.reader.reader_segment import find_end
from cordwood.storage.segment.abstract_index import SegmentOverflowError, is_in_offset_range
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.transaction_index import AbortedTxn

#: The number of batches from which the number of all batches is estimated.
SAMPLE_BATCHES: Final = 32

Fault: TypeAlias = CorruptMessageError | InvalidRecordError | SegmentOverflowError


@dataclass(slots=True)
class RecoveryReport:
    """The repairs that were made while a log was opened.

    `cleaned_up` names the files that crash cleanup removed or renamed. `recovered`, `removed` and
    `split` name segments by their base offsets. `gap` is the first offset that is missing before a
    later segment, in a log that is not compacted. `fault` is the first fault that removed records;
    `warnings` are anomalies that removed none.
    """

    cleaned_up: tuple[str, ...] = ()
    recovered: list[int] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    split: list[int] = field(default_factory=list)
    gap: int | None = None
    truncated_bytes: int = 0
    fault: Fault | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def is_noteworthy(self) -> bool:
        """Whether records were removed, a segment was split, or there are warnings."""
        return bool(self.truncated_bytes or self.removed or self.split or self.warnings)

    def __str__(self) -> str:
        """Return the repairs as a message for the operator."""
        parts = []
        if self.truncated_bytes or self.removed:
            removed = f" and removed the later segments {self.removed}" if self.removed else ""
            fault = f": {self.fault}" if self.fault else ""
            parts.append(f"recovery truncated {self.truncated_bytes} invalid bytes{removed}{fault}")
        if self.split:
            parts.append(
                f"split the segments {self.split}, whose offsets exceed the range of their indexes"
            )
        return "; ".join((*parts, *self.warnings))


@dataclass(slots=True)
class TailRecovery:
    """The recovery of one log.

    `striders` are called once with the estimated number of batches. With `is_strict` a corrupt
    batch before valid ones raises CorruptMessageError.
    """

    state: LogState
    report: RecoveryReport
    log_start: int
    now_ms: int
    striders: TailScanners = no_tail_scanner
    is_strict: bool = False
    _strider: TailScanner | None = None

    def recover_all(self, unusable: list[LogSegment], recovery_point: int | None) -> None:
        """Recover the unusable segments, and all from the recovery point on unless it is None."""
        segments = self.state.segments
        unsynced = () if recovery_point is None else segments.from_floor(recovery_point)
        unsynced_from = unsynced[0].base_offset if unsynced else None
        queue = deque(sorted({*unusable, *unsynced}, key=lambda segment: segment.base_offset))
        self._strider = self.striders(_batch_count(queue))
        while queue:
            segment = queue.popleft()
            is_unsynced = unsynced_from is not None and segment.base_offset >= unsynced_from
            truncated_before = self.report.truncated_bytes
            # A split segment is replaced by its parts, which are recovered next.
            queue.extendleft(reversed(self._recover(segment, is_unsynced=is_unsynced)))
            if is_unsynced and self.report.truncated_bytes > truncated_before:
                # The log ends here, and the later segments have been removed.
                return

    def _recover(self, segment: LogSegment, *, is_unsynced: bool) -> list[LogSegment]:
        """Recover one segment, or split it and return its parts, which must be recovered."""
        state, report = self.state, self.report
        before_truncation = partial(self._before_truncation, segment, is_unsynced)
        # Recovery replays the batches of this segment only, so the state must begin at its base.
        self._load_producers(segment)
        try:
            done = recover(
                segment,
                partial(self._on_batch, segment),
                strider_now=self._strider_now,
                before_truncation=before_truncation,
            )
        except SegmentOverflowError as error:
            # An offset is too far from the base offset: split the segment, or if no split helps,
            # its batches contradict each other.
            parts = parts_of(segment)
            if len(parts) > 1:
                report.split.append(segment.base_offset)
                return split(state, segment, parts=parts, now_ms=self.now_ms)
            self._empty(segment, error, before_truncation)
        else:
            self._note(segment, done.truncated_bytes, done.fault)
            if is_unsynced:
                self._note_gap(segment, done.next_offset)
            state.producers.advance(max(done.next_offset, segment.base_offset))
            state.snapshots.take_if_space(state.producers)
        report.recovered.append(segment.base_offset)
        # The rebuilt indexes may be below the recovery point, where no flush would sync them.
        state.unsynced_paths += tuple(segment.paths())
        return []

    def _remove_later(self, segment: LogSegment) -> None:
        """Remove the segments after this one durably, the last one first.

        They must be gone before this segment is truncated. After another crash in between, a
        segment that ends with a whole batch would be followed by segments after a gap.
        """
        state = self.state
        for later in reversed(tuple(state.segments)):
            if later.base_offset > segment.base_offset:
                self.report.removed.insert(0, later.base_offset)
                state.segments.remove(later)
                later.delete()
        state.table.files.sync_directory(state.directory)

    def _strider_now(self) -> TailScanner | None:
        """Return the strider, or None while a transaction is open: each batch matters then."""
        return self._strider if self.state.producers.first_undecided_offset is None else None

    def _on_batch(self, segment: LogSegment, header: BatchHeader, data: memoryview) -> None:
        """Replay a valid batch into epochs, producer state and transaction index."""
        state = self.state
        produced = ProducedBatch.of(header, data)
        state.epochs.assign_if_later(header.partition_leader_epoch, header.base_offset)
        ended = state.producers.replay(produced, state.warn)
        if ended is not None and ended[0].is_aborted:
            segment.append_aborted(AbortedTxn(*ended[0][:3], ended[1]))

    def _before_truncation(self, segment: LogSegment, is_unsynced: bool, end: int) -> None:  # noqa: FBT001  # bound before
        """Remove the later segments if the log ends here; in strict mode reject valid batches."""
        if self.is_strict:
            later = [each for each in self.state.segments if each.base_offset > segment.base_offset]
            _ensure_no_valid_batches(segment, end, later if is_unsynced else [])
        if is_unsynced:
            self._remove_later(segment)

    def _empty(
        self, segment: LogSegment, fault: Fault, before_truncation: Callable[[int], object]
    ) -> None:
        """Truncate the whole segment: its batches contradict each other, so none is trusted."""
        before_truncation(0)
        self._note(segment, segment.truncate_log(0), fault)
        segment.truncate_to(segment.base_offset, now_ms=self.now_ms)
        segment.become_inactive()

    def _note(self, segment: LogSegment, truncated_bytes: int, fault: Fault | None) -> None:
        """Add the outcome of one segment to the report."""
        self.report.truncated_bytes += truncated_bytes
        if truncated_bytes:
            # The truncated bytes must not come back after a crash behind records written next.
            segment.files.log(writable=True).sync()
        if self.report.fault is None:
            self.report.fault = fault
        elif fault is not None:
            self.state.warn(f"{segment.files.log_path}: {fault}")

    def _note_gap(self, segment: LogSegment, next_offset: int) -> None:
        """Note if offsets are missing before the next segment: a crash may have lost records.

        The next segment stays, as there may be no other copy of it; a follower truncates the log at
        the gap. Gaps are normal in a compacted log, and where offsets jump too far for one segment.
        """
        following = self.state.segments.higher(segment)
        if following is None or self.state.config.is_compacted:
            return
        is_jump = not is_in_offset_range(following.base_offset, segment.base_offset)
        if next_offset < following.base_offset and not is_jump:
            if self.report.gap is None:
                self.report.gap = next_offset
            self.state.warn(
                f"{segment.files.log_path}: no records from offset {next_offset} up to the next "
                f"segment at {following.base_offset}; a crash may have lost them before an fsync"
            )

    def _load_producers(self, segment: LogSegment) -> None:
        """Load the producer state as of the base offset of a segment."""
        state, base = self.state, segment.base_offset
        producers = state.producers
        if producers.map_end_offset == base and len(state.snapshots.offsets):
            return
        start = max(self.log_start, state.segments.first.base_offset)
        state.snapshots.truncate_and_reload(
            producers, log_start_offset=start, log_end_offset=base, now_ms=self.now_ms
        )
        state.warn(*replay(state.segments, producers, log_start=start, log_end=base))
        state.snapshots.take_if_space(producers)


def _ensure_no_valid_batches(segment: LogSegment, end: int, later: Sequence[LogSegment]) -> None:
    """Raise CorruptMessageError if the bytes to be truncated contain valid batches."""
    behind = [(segment, end), *((each, 0) for each in later)]
    if any(find_end(each.view)[0] > position for each, position in behind):
        raise CorruptMessageError(
            f"{segment.files.log_path}: a corrupt batch is followed by valid batches (nothing was "
            "changed); if a replica exists, open the log in a broker, which truncates it here and "
            "fetches the records again, else run cordwood log salvage",
            position=end,
        )


def _batch_count(segments: Sequence[LogSegment]) -> int:
    """Estimate the number of batches from the first ones, which are not checked."""
    if not segments:
        return 0
    first, count, size = segments[0], 0, 0
    with suppress(CorruptMessageError):
        for header in islice(headers(first.files.pread, 0, first.size), SAMPLE_BATCHES):
            count, size = count + 1, size + header.size
    return count * sum(segment.size for segment in segments) // max(1, size)
