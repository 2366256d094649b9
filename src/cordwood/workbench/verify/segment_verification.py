"""Verification of one segment: its batches, its indexes, and the order of offsets.

    torn tail   at the end of the last segment, without a whole batch behind it: a truncated batch,
                zeros, or a batch of full size whose last blocks were not written
    damage      everything else that is not a batch

Indexes are read before the log, since a broker may be writing: then the log contains everything
that the indexes refer to.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from cordwood.core.ports import SegmentSource
from cordwood.records.batch_checks import BatchChecker, CheckedBatch
from cordwood.records.torn_batch import is_torn
from cordwood.storage.files.file_names import LOG
from cordwood.storage.reader.segment_listing import ListedSegment
from cordwood.storage.segment.abstract_index import is_in_offset_range
from cordwood.workbench.file_window import OnBytes, ignore_bytes
from cordwood.workbench.segment_walk import BrokenRange, SegmentLogFile, header_at, walk_segment
from cordwood.workbench.verify.checkpoint_checks import CheckpointedEnds
from cordwood.workbench.verify.findings import SALVAGE, VerifyFinding, batch_finding, damage, note
from cordwood.workbench.verify.index_checks import (
    OFFSETS,
    TIMES,
    IndexCheck,
    LoadedIndex,
    SegmentState,
    load_index,
)
from cordwood.workbench.verify.offset_order_checks import OffsetOrderCheck
from cordwood.workbench.verify.producer_checks import ProducerCheck
from cordwood.workbench.verify.timestamp_checks import TimestampCheck
from cordwood.workbench.verify.transaction_index_checks import load_transaction_index

_BLOCK: Final = 4096
#: The bytes that are read of a tail at a time.
_TAIL_BYTES: Final = 1 << 20
_RECORD_COUNT: Final = CheckedBatch._fields.index("record_count")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """The checker of batches, and a callback for the number of bytes checked."""

    checker: BatchChecker
    on_bytes: OnBytes = ignore_bytes


class SegmentInLog(NamedTuple):
    """A segment, and the base offset of the next one, None for the last segment."""

    listed: ListedSegment
    next_base: int | None

    @property
    def is_last(self) -> bool:
        return self.next_base is None


class SegmentVerifier:
    """Verifier of the segments of one log, in order; it also counts batches and records."""

    __slots__ = (
        "_ends",
        "_options",
        "_order",
        "_producers",
        "_source",
        "batches",
        "findings",
        "log_end",
        "records",
        "size",
        "tail_bytes",
    )

    def __init__(
        self,
        source: SegmentSource,
        order: OffsetOrderCheck,
        producers: ProducerCheck,
        *,
        options: VerifyOptions,
        ends: CheckpointedEnds = CheckpointedEnds(),  # noqa: B008  # a value
    ) -> None:
        self.findings: list[VerifyFinding] = []
        self.batches = self.records = self.size = self.tail_bytes = self.log_end = 0
        self._source = source
        self._order = order
        self._producers = producers
        self._options = options
        self._ends = ends

    def verify(self, place: SegmentInLog) -> None:
        """Verify one segment."""
        source, listed, is_last = self._source, place.listed, place.is_last
        offsets, times = (
            load_index(source, listed, kind=kind, is_last=is_last) for kind in (OFFSETS, TIMES)
        )
        index_checks = [IndexCheck(offsets, OFFSETS), IndexCheck(times, TIMES)]
        aborts = load_transaction_index(source, listed, is_last=is_last)
        name = listed.name(LOG)
        file = SegmentLogFile(source, name, source.stat(name).size, self._options.on_bytes)
        self.size += file.size
        self._begin(listed.base_offset, file.path)
        self._walk(file, place, index_checks)
        self.findings += [*offsets.findings, *times.findings]
        state = self._state(place, offsets)
        for index_check in index_checks:
            self.findings += index_check.finish(state)
        self._producers.end_segment(aborts, is_last=is_last, log_end=self.log_end)
        if not is_in_offset_range(max(self.log_end - 1, listed.base_offset), listed.base_offset):
            self.findings.append(
                damage(
                    file.path,
                    "offsets exceed the range of the segment's indexes",
                    first_offset=listed.base_offset,
                    end_offset=self.log_end,
                )
            )

    # -- inside

    def _state(self, place: SegmentInLog, offsets: LoadedIndex) -> SegmentState:
        """Return the state of a segment's indexes; without an offset index both are rebuilt."""
        end, unsynced_from = place.next_base or self.log_end, self._ends.unsynced_from
        is_recovered = unsynced_from is not None and (place.is_last or end > unsynced_from)
        is_trimmed = not place.is_last or self._ends.is_clean
        return SegmentState(place.is_last, is_recovered or offsets.is_missing, is_trimmed)

    def _begin(self, base_offset: int, path: str) -> None:
        self._order.begin(base_offset, path)
        self._producers.thin_out(self._order.thinned_to)
        self._producers.check_snapshot(base_offset)
        self.log_end = max(self.log_end, base_offset)

    def _walk(
        self, file: SegmentLogFile, place: SegmentInLog, index_checks: list[IndexCheck]
    ) -> None:
        order, timestamps = self._order, TimestampCheck(file.path)
        for part in walk_segment(file, self._options.checker.check):
            if isinstance(part, BrokenRange):
                if self._is_torn_end(part, file, place):
                    self._add_tail(part, file)
                    break
                self._add_broken(part, file, place, index_checks=index_checks)
                continue
            swept = part.swept
            self.batches += len(swept.columns[0])
            self.records += sum(swept.columns[_RECORD_COUNT])
            order.add(swept, part.position, path=file.path)
            timestamps.add(swept, part.position)
            for index_check in index_checks:
                index_check.add(swept, part.position)
            self._producers.thin_out(order.thinned_to)
            self._producers.add(swept, part.data)
            self.log_end = max(self.log_end, order.next_offset or 0)
        self.findings += timestamps.finish()

    def _add_broken(
        self,
        part: BrokenRange,
        file: SegmentLogFile,
        place: SegmentInLog,
        *,
        index_checks: list[IndexCheck],
    ) -> None:
        """Add the finding for a range without a valid batch."""
        order, is_end = self._order, part.end == file.size
        behind = None if is_end else header_at(file, part.end)
        after = place.next_base if behind is None else behind.base_offset
        first = order.next_offset
        if first is None:
            first = place.listed.base_offset if part.header is None else part.header.base_offset
        end = after
        if end is None and part.header is not None and part.header.next_offset > first:
            end = part.header.next_offset
        self.findings.append(_broken_finding(part, file, offsets=(first, end)))
        self.log_end = max(self.log_end, end or 0)
        self._producers.lose(first, end)
        order.break_off(None if behind is not None else after)
        for index_check in index_checks:
            index_check.skip(part.end, end)

    def _is_torn_end(self, part: BrokenRange, file: SegmentLogFile, place: SegmentInLog) -> bool:
        """Return whether the log ends in a write that was not completed."""
        if not place.is_last:
            return False
        if part.end == file.size:
            return _is_tail(part, file)
        if part.header is None or part.header.base_offset < (self._order.next_offset or 0):
            return False
        return part.header.end > file.size and is_torn(
            file.read(file.size - part.position, part.position), part.header
        )

    def _add_tail(self, part: BrokenRange, file: SegmentLogFile) -> None:
        self.tail_bytes = file.size - part.position
        self.findings.append(
            note(
                file.path,
                f"a tail of {self.tail_bytes:,} bytes is not a whole batch: being written, "
                "preallocated, or torn by a crash",
                remedy="nothing to do: a broker that opens the log truncates it; to keep its "
                f"records, first run: {SALVAGE}",
                position=part.position,
                # A broker that writes has a recovery point, and may write over a longer file.
                is_unverified=self._ends.unsynced_from is None and _has_data(file, part.position),
            )
        )


def _has_data(file: SegmentLogFile, position: int) -> bool:
    """Return whether a file has other bytes than zeros from a position on."""
    while position < file.size:
        data = file.read(_TAIL_BYTES, position)
        if data.strip(b"\0"):
            return True
        position += len(data)
    return False


def check_pending(
    source: SegmentSource, listed: ListedSegment, *, options: VerifyOptions
) -> Iterator[VerifyFinding]:
    """Yield a finding if the log of a `.swap` segment is not whole: a broker does not open it."""
    name = listed.name(LOG)
    file = SegmentLogFile(source, name, source.stat(name).size, options.on_bytes)
    parts = walk_segment(file, options.checker.check)
    broken = next((part for part in parts if isinstance(part, BrokenRange)), None)
    if broken is not None:
        yield damage(
            file.path,
            "a segment that is about to replace others cannot be read: brokers do not open the log",
            remedy="remove the file if the segments that it replaces exist",
            position=broken.position,
        )


def _broken_finding(
    part: BrokenRange, file: SegmentLogFile, *, offsets: tuple[int, int | None]
) -> VerifyFinding:
    if part.fault is not None:
        return batch_finding(part.fault, file.path, position=part.position, offsets=offsets)
    size = "a header" if part.header is None else part.header.size
    return damage(
        file.path,
        "a truncated batch",
        position=part.position,
        first_offset=offsets[0],
        end_offset=offsets[1],
        expected=size,
        found=file.size - part.position,
    )


def _is_tail(part: BrokenRange, file: SegmentLogFile) -> bool:
    """Return whether the end of a log may be the remains of a write or a crash."""
    if part.fault is None:
        return True
    data = file.read(file.size - part.position, part.position)
    if not any(data):
        return True
    # A crash may keep the size of a file and lose its last blocks, which then read as zeros.
    begin = max(part.position, (file.size - 1) // _BLOCK * _BLOCK) - part.position
    return part.header is not None and begin > 0 and not any(data[begin:])
