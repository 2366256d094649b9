"""One segment verified: its log passed over, its indexes and the log's order held against it.

    torn tail   at the end of the last segment, with no whole batch behind it: a batch that is cut
                off, zeros, or a batch of full size with the last of its blocks not written
    damage      everything else that is no batch

Indexes are read before the log is, whose owner may go on writing: so all that they speak of is
there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from cordwood.core.ports import SegmentSource
from cordwood.records.sweep import Sweeper, SweptBatch
from cordwood.storage.index import is_within_reach
from cordwood.storage.names import LOG
from cordwood.storage.reader_listing import ListedSegment
from cordwood.workbench.findings import Finding, damage, note, of_batch
from cordwood.workbench.segment_walk import Break, SegmentFile, header_at, walk
from cordwood.workbench.verify_indexes import OFFSETS, TIMES, IndexWatch, load
from cordwood.workbench.verify_order import Order
from cordwood.workbench.verify_producers import Producers, load_aborts

_BLOCK: Final = 4096
_RECORD_COUNT: Final = SweptBatch._fields.index("record_count")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyTools:
    """What a verification works with; `tell` hears of every byte that has been checked."""

    sweeper: Sweeper
    tell: Callable[[int], object]


class SegmentPlace(NamedTuple):
    """A segment in its log: the next one's base offset, None of the last one."""

    listed: ListedSegment
    next_base: int | None

    @property
    def is_last(self) -> bool:
        return self.next_base is None


class SegmentVerifier:
    """Verifies the segments of one log, in order, and counts what it sees."""

    __slots__ = (
        "_order",
        "_producers",
        "_source",
        "_tools",
        "batches",
        "findings",
        "log_end",
        "records",
        "size",
        "tail_bytes",
    )

    def __init__(
        self, source: SegmentSource, order: Order, producers: Producers, *, tools: VerifyTools
    ) -> None:
        self.findings: list[Finding] = []
        self.batches = self.records = self.size = self.tail_bytes = self.log_end = 0
        self._source = source
        self._order = order
        self._producers = producers
        self._tools = tools

    def verify(self, place: SegmentPlace) -> None:
        """Pass over a segment."""
        source, listed, is_last = self._source, place.listed, place.is_last
        loaded = [
            (load(source, listed, kind=kind, is_last=is_last), kind) for kind in (OFFSETS, TIMES)
        ]
        watches = [IndexWatch(*each) for each in loaded]
        aborts = load_aborts(source, listed, is_last=is_last)
        name = listed.name(LOG)
        file = SegmentFile(source, name, source.stat(name).size, self._tools.tell)
        self.size += file.size
        self._begin(listed.base_offset, file.path)
        self._pass(file, place, watches)
        for index, _ in loaded:
            self.findings += index.findings
        for watch in watches:
            self.findings += watch.finish(is_last=is_last)
        self._producers.end_segment(aborts, is_last=is_last)
        if not is_within_reach(max(self.log_end - 1, listed.base_offset), listed.base_offset):
            self.findings.append(
                damage(
                    file.path,
                    "offsets that are too far from the segment's base for its indexes",
                    first_offset=listed.base_offset,
                    end_offset=self.log_end,
                )
            )

    # -- inside

    def _begin(self, base_offset: int, path: str) -> None:
        self._order.begin(base_offset, path)
        if self._order.is_compacted:
            self._producers.lose()
        self._producers.reach(base_offset)
        self.log_end = max(self.log_end, base_offset)

    def _pass(self, file: SegmentFile, place: SegmentPlace, watches: list[IndexWatch]) -> None:
        order = self._order
        for part in walk(file, self._tools.sweeper.check):
            if isinstance(part, Break):
                self._break(part, file, place, watches=watches)
                continue
            swept = part.swept
            self.batches += len(swept.columns[0])
            self.records += sum(swept.columns[_RECORD_COUNT])
            order.add(swept, part.position, path=file.path)
            for watch in watches:
                watch.add(swept, part.position)
            if order.is_compacted:
                self._producers.lose()
            self._producers.add(swept, part.data)
            self.log_end = max(self.log_end, order.next_offset or 0)

    def _break(
        self, part: Break, file: SegmentFile, place: SegmentPlace, *, watches: list[IndexWatch]
    ) -> None:
        """Say what is at a place where no sound batch is."""
        order, is_end = self._order, part.end == file.size
        self._producers.lose()
        if is_end and place.is_last and _is_tail(part, file):
            self._see_tail(part, file)
            return
        behind = None if is_end else header_at(file, part.end)
        after = place.next_base if behind is None else behind.base_offset
        first = order.next_offset
        if first is None:
            first = place.listed.base_offset if part.header is None else part.header.base_offset
        end = after
        if end is None and part.header is not None and part.header.next_offset > first:
            end = part.header.next_offset
        self.findings.append(_broken(part, file, offsets=(first, end)))
        self.log_end = max(self.log_end, end or 0)
        order.break_off(None if behind is not None else after)
        for watch in watches:
            watch.skip(part.end, end)

    def _see_tail(self, part: Break, file: SegmentFile) -> None:
        self.tail_bytes = file.size - part.position
        self.findings.append(
            note(
                file.path,
                f"a tail of {self.tail_bytes:,} bytes is no whole batch: being written, "
                "preallocated, or torn by a crash",
                remedy="nothing to do: it is cut off when the log is next opened",
                position=part.position,
            )
        )


def _broken(part: Break, file: SegmentFile, *, offsets: tuple[int, int | None]) -> Finding:
    if part.fault is not None:
        return of_batch(part.fault, file.path, position=part.position, offsets=offsets)
    size = "a header" if part.header is None else part.header.size
    return damage(
        file.path,
        "a batch that is cut off",
        position=part.position,
        first_offset=offsets[0],
        end_offset=offsets[1],
        expected=size,
        found=file.size - part.position,
    )


def _is_tail(part: Break, file: SegmentFile) -> bool:
    """Whether what no batch follows may be what a write or a crash leaves."""
    if part.fault is None:
        return True
    data = file.read(file.size - part.position, part.position)
    if not any(data):
        return True
    # A crash may have kept a file's size and lost its last blocks, which then are zeros.
    begin = max(part.position, (file.size - 1) // _BLOCK * _BLOCK) - part.position
    return part.header is not None and begin > 0 and not any(data[begin:])
