"""Run of salvaged batches that are adjacent in one file, so that memory does not grow with batches.

A regular batch can be read again from its place. A run has the place and the offsets of many, and
what the report and the transactions need of them. Every other batch is a run of its own. A gap that
a cleaner has left does not end a run.

A foreign file has another name than a segment, next to segments that have theirs: it may be from
another replica, whose cleaner has removed other records. So a gap ends its runs, and a batch that
may lack records is a run of its own.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import BadRecordsError, LogDirectoryError
from cordwood.core.ports import Files, OpenFile
from cordwood.records.batch_stream import batch_at
from cordwood.storage.reader.offset_gaps import has_lost_records, has_start_offset
from cordwood.workbench.file_window import FileWindow, OnBytes, ignore_bytes
from cordwood.workbench.number_ranges import ranges_between
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch, Trust, read_batch
from cordwood.workbench.unreadable_ranges import UnreadablePages

_FILES_OPEN: Final = 4


class TransactionEvent(NamedTuple):
    """A transactional batch, or adjacent ones of one producer; a marker if `is_commit` is set."""

    first: int
    last: int
    producer_id: int
    producer_epoch: int
    leader_epoch: int
    timestamp: int
    is_commit: bool | None = None
    coordinator_epoch: int = 0
    is_doubtful: bool = False


class RunGaps(NamedTuple):
    """The gaps in a run that a cleaner explains: their number, offsets, first and last offset."""

    number: int = 0
    offsets: int = 0
    first: int = 0
    last: int = 0


class SalvagedRun(NamedTuple):
    """Batches from `position` to `end` of a file; `only` is set if it is one irregular batch.

    `cleaned_to` is the end of the last batch that has lost records to a cleaner, 0 without one.
    """

    file: str
    position: int
    end: int
    first: int
    last: int
    batch_count: int
    largest: int
    cleaned_to: int = 0
    gaps: RunGaps = RunGaps()
    events: tuple[TransactionEvent, ...] = ()
    only: SalvagedBatch | None = None
    is_foreign: bool = False

    @property
    def next_offset(self) -> int:
        return self.last + 1

    @property
    def size(self) -> int:
        return self.end - self.position if self.only is None else self.only.size

    @property
    def is_doubtful(self) -> bool:
        return self.only is not None and self.only.is_doubtful

    @property
    def is_displaced(self) -> bool:
        """Return whether it is a whole batch that may have other offsets."""
        return self.only is not None and self.only.trust < Trust.REBUILT


class SourceWindows:
    """Windows over the files of the source; a few files are open at a time.

    Unreadable pages are read as zeros, and recorded.
    """

    def __init__(self, files: Files, on_bytes: OnBytes = ignore_bytes) -> None:
        self.files = files
        self.unreadable = UnreadablePages()
        self._on_bytes = on_bytes
        self._open: OrderedDict[str, tuple[OpenFile, FileWindow]] = OrderedDict()

    def window(self, path: str) -> FileWindow:
        """Return the window of a file, which may be closed by the next call for another file."""
        found = self._open.get(path)
        if found is not None:
            self._open.move_to_end(path)
            return found[1]
        while len(self._open) >= _FILES_OPEN:
            self._open.popitem(last=False)[1][0].close()
        file = self.files.open(path)
        window = FileWindow(file, file.size, on_bytes=self._on_bytes, unreadable=self.unreadable)
        self._open[path] = file, window
        return window

    def close(self) -> None:
        """Close all files."""
        while self._open:
            self._open.popitem()[1][0].close()


def batches_of(run: SalvagedRun, windows: SourceWindows) -> Iterator[SalvagedBatch]:
    """Yield the batches of a run; those of a regular one are read again.

    LogDirectoryError if they are not those that were found first.
    """
    if run.only is not None:
        if run.only.mended is None:
            found = _read_again(run, windows, run.only.header.position)
            _ensure_same(run, is_same=found.header == run.only.header)
        yield run.only
        return
    position, count = run.position, 0
    while position < run.end:
        batch = _read_again(run, windows, position)
        _ensure_same(run, is_same=bool(count) or batch.offset == run.first)
        yield batch
        position, count = position + batch.header.size, count + 1
        if position >= run.end:
            is_same = (position, count) == (run.end, run.batch_count)
            _ensure_same(run, is_same=is_same and batch.last_offset == run.last)


def _read_again(run: SalvagedRun, windows: SourceWindows, position: int) -> SalvagedBatch:
    try:
        return read_batch(run.file, windows.window(run.file), position=position)
    except (BadRecordsError, FileNotFoundError) as error:
        raise _changed(run) from error


def _ensure_same(run: SalvagedRun, *, is_same: bool) -> None:
    if not is_same:
        raise _changed(run)


def _changed(run: SalvagedRun) -> LogDirectoryError:
    return LogDirectoryError(
        "has changed while it was salvaged",
        path=run.file,
        remedy="stop the broker that writes it, and repeat the command",
    )


def runs_of(
    batches: Iterable[SalvagedBatch], *, cleaned_to: int = 0, foreign: Collection[str] = ()
) -> Iterator[SalvagedRun]:
    """Yield batches in the order of offsets as runs; a gap that a cleaner explains ends no run.

    It has worked below `cleaned_to`, and below each batch that has lost records to it. In `foreign`
    files each gap ends a run.
    """
    # Adjacent runs with gaps between them, which a later batch may explain.
    open_runs: list[_RunBuilder] = []
    for batch in batches:
        last = open_runs[-1] if open_runs else None
        if last is None or not last.is_continued(batch):
            yield from (each.build() for each in open_runs)
            open_runs = [_RunBuilder(batch, is_foreign=batch.file in foreign)]
        elif last.next_offset == batch.offset or batch.offset <= cleaned_to:
            last.add(batch)
        else:
            open_runs.append(_RunBuilder(batch, is_foreign=last.is_foreign))
        if open_runs[-1].cleaned_to > cleaned_to:
            cleaned_to = open_runs[-1].cleaned_to
            for other in open_runs[1:] if not open_runs[0].is_foreign else ():
                open_runs[0].append(other.build(), other.last)
            del open_runs[1:]
    yield from (each.build() for each in open_runs)


def cleaned_end(batches: Iterable[SalvagedBatch]) -> int:
    """Return the end of the last trusted batch that has lost records to a cleaner, else 0."""
    ends = (
        each.next_offset
        for each in batches
        if not each.is_doubtful and has_lost_records(each.header)
    )
    return max(ends, default=0)


def lacking_offsets(run: SalvagedRun, windows: SourceWindows) -> Iterator[tuple[int, int]]:
    """Yield the ranges of offsets that are in the batches of a run, and in no record of them.

    A marker may stand where a record was, if its offset is not certain.
    """
    for batch in batches_of(run, windows):
        if run.is_displaced and batch.header.is_control:
            yield batch.offset, batch.last_offset
            continue
        if not _may_lack_records(batch):
            continue
        header = batch.header
        data = batch.mended or windows.window(run.file).view(header.position, header.size)
        # The base offset in the file may be wrong, or impossible.
        found = batch_at(bytes(batch.apply_to(bytearray(data))), 0)
        assert found is not None, "a whole batch is whole"
        offsets = {record.offset for record in found.records(limit=INT32_MAX)}
        yield from ranges_between(sorted(offsets), first=batch.offset, end=batch.next_offset)


def _may_lack_records(batch: SalvagedBatch) -> bool:
    """Return whether a batch may have fewer records than offsets."""
    return has_lost_records(batch.header) or not has_start_offset(batch.header)


class _RunBuilder:
    """A run that grows batch by batch."""

    def __init__(self, batch: SalvagedBatch, *, is_foreign: bool = False) -> None:
        self.is_foreign = is_foreign
        self.cleaned_to = 0
        self.last = self._first = batch
        self._is_regular = batch.is_regular
        self._count = 0
        self._largest = 0
        self._gaps = RunGaps()
        self._events: list[TransactionEvent] = []
        self._count_in(batch)

    @property
    def next_offset(self) -> int:
        return self.last.next_offset

    def is_continued(self, batch: SalvagedBatch) -> bool:
        """Return whether a batch may be in one run with this one, behind it."""
        last = self.last
        is_adjacent = batch.file == last.file and batch.header.position == last.header.end
        if self.is_foreign and (
            batch.offset != last.next_offset or _may_lack_records(last) or _may_lack_records(batch)
        ):
            return False
        return self._is_regular and batch.is_regular and is_adjacent

    def add(self, batch: SalvagedBatch) -> None:
        """Append a batch that continues the run."""
        self._add_gap(batch.offset)
        self._count_in(batch)

    def append(self, run: SalvagedRun, last: SalvagedBatch) -> None:
        """Append another run that is adjacent in the file, behind a gap; and its last batch."""
        self._add_gap(run.first)
        old, new = self._gaps, run.gaps
        if new.number:
            number, offsets = old.number + new.number, old.offsets + new.offsets
            self._gaps = RunGaps(number, offsets, old.first, new.last)
        self.last = last
        self._count += run.batch_count
        self._largest = max(self._largest, run.largest)
        self.cleaned_to = run.cleaned_to or self.cleaned_to
        for event in run.events:
            self._add_event(event)

    def _add_gap(self, end: int) -> None:
        """Add the gap behind the last batch, if there is one."""
        after = self.next_offset
        if end > after:
            old = self._gaps
            first = old.first if old.number else after
            self._gaps = RunGaps(old.number + 1, old.offsets + end - after, first, end - 1)

    def _count_in(self, batch: SalvagedBatch) -> None:
        self.last = batch
        self._count += 1
        self._largest = max(self._largest, batch.size)
        self.cleaned_to = cleaned_end((batch,)) or self.cleaned_to
        event = _event(batch)
        if event is not None:
            self._add_event(event)

    def _add_event(self, event: TransactionEvent) -> None:
        last = self._events[-1] if self._events else None
        if (
            last is not None
            and event.is_commit is last.is_commit is None
            and event.producer_id == last.producer_id
            and event.producer_epoch == last.producer_epoch
            and event.first == last.last + 1
        ):
            self._events[-1] = event._replace(first=last.first)
        else:
            self._events.append(event)

    def build(self) -> SalvagedRun:
        """Return the run."""
        first, last = self._first, self.last
        return SalvagedRun(
            first.file,
            first.header.position,
            last.header.end,
            first.offset,
            last.last_offset,
            self._count,
            self._largest,
            self.cleaned_to,
            self._gaps,
            tuple(self._events),
            None if self._is_regular else first,
            self.is_foreign,
        )


def _event(batch: SalvagedBatch) -> TransactionEvent | None:
    """Return what a batch means for transactions, None if nothing."""
    header, marker = batch.header, batch.marker
    if not header.has_producer_id or (header.is_control and marker is None):
        return None
    if marker is None and not header.is_transactional:
        return None
    event = TransactionEvent(
        batch.offset,
        batch.last_offset,
        header.producer_id,
        header.producer_epoch,
        batch.epoch,
        header.max_timestamp,
        is_doubtful=batch.is_doubtful,
    )
    if marker is None:
        return event
    return event._replace(is_commit=marker.is_commit, coordinator_epoch=marker.coordinator_epoch)
