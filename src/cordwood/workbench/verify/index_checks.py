"""Checks of the offset and time index of a segment against its batches.

    .index       an entry is correct if a batch begins at its position and a batch ends with its
                 offset: the same batch or, from brokers before 4.1, a later one of the same record
                 set; brokers before 0.10.1 wrote any offset inside the batch
    .timeindex   an entry is correct if its offset is in a batch with that maximum timestamp, and
                 no earlier batch has a later one, or the same: a lookup of that time begins there;
                 messages of v0 and v1 that are appended together may have the same time
    both         entries ascend strictly and are whole

A closed segment's time index ends with the latest time of the segment, and so does that of the
active segment after a clean stop: lookups by time and retention rely on it. Logs from before 0.11
may be without time indexes.

After a crash, wrong entries at the end of the active segment's indexes are only a note: a broker
rebuilds these indexes. Otherwise they prove that the log has lost its tail.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate, islice, pairwise
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.binary import Buffer, bytes_view
from cordwood.core.ports import SegmentSource
from cordwood.records.batch_checks import CheckedBatch, CheckedBatches
from cordwood.records.record_batch import MAGIC
from cordwood.storage.files.file_names import INDEX, TIME_INDEX
from cordwood.storage.reader.checked_indexes import open_entries
from cordwood.storage.reader.segment_listing import ListedSegment
from cordwood.storage.segment.abstract_index import IndexEntries, InMemoryEntries
from cordwood.workbench.verify.findings import LOST, REBUILD, VerifyFinding, damage, note

#: A field of every entry.
Column: TypeAlias = list[int]

_FIELD: Final = {name: at for at, name in enumerate(CheckedBatch._fields)}
_OFFSET: Final = Struct(">ii")
_TIME: Final = Struct(">qi")
_NO_LATEST: Final = f"lookups by time miss records, and retention uses this time; {REBUILD}"
#: The number of entries that are unpacked at a time.
_ENTRIES: Final = 512


class IndexKind(NamedTuple):
    """The layout and texts of an index. `relative` is the number of the field with an offset."""

    extension: str
    layout: Struct
    relative: int
    text: str


OFFSETS: Final = IndexKind(INDEX, _OFFSET, 0, "offset {} at position {}")
TIMES: Final = IndexKind(TIME_INDEX, _TIME, 1, "time {} at offset {}")


class LoadedIndex(NamedTuple):
    """The entries of an index file, and the findings about the file itself.

    `fields` are the columns: offsets and positions, or timestamps and offsets. Entries before
    number `first` are ignored: an entry of zeros at the start may be preallocated space.
    """

    path: str
    fields: tuple[Column, Column]
    findings: tuple[VerifyFinding, ...] = ()
    first: int = 0
    is_missing: bool = False


class SegmentState(NamedTuple):
    """The state of a segment's files.

    `is_recovered`: a broker recovers the segment at its next start, since its files may lag behind
    each other. `is_trimmed`: a broker has written the last time entry.
    """

    is_last: bool = False
    is_recovered: bool = False
    is_trimmed: bool = True


def load_index(
    source: SegmentSource, listed: ListedSegment, *, kind: IndexKind, is_last: bool
) -> LoadedIndex:
    """Read all entries of an index; a missing file has none."""
    size = kind.layout.size
    entries = open_entries(source, listed.index_names(kind.extension), entry_size=size)
    findings: list[VerifyFinding] = []
    if entries.size % size:
        findings.append(_torn(entries, size))
    unused = entries.size // size - entries.count
    if unused and not is_last and any(entries.read(entries.count, unused)):
        findings.append(
            damage(
                entries.path,
                "zeros between entries",
                remedy=REBUILD,
                position=entries.count * size,
            )
        )
    fields = _unpack(entries.read(0, entries.count), kind.layout)
    first = int((fields[0][:1], fields[1][:1]) == ([0], [0]))
    base, relative = listed.base_offset, fields[kind.relative]
    relative[:] = [base + each for each in relative]
    is_missing = isinstance(entries, InMemoryEntries)
    return LoadedIndex(entries.path, fields, tuple(findings), first, is_missing)


def _unpack(data: Buffer, layout: Struct) -> tuple[Column, Column]:
    """Return the two columns of the entries; they are unpacked in blocks for speed."""
    view, many = bytes_view(data), Struct(">" + layout.format[1:] * _ENTRIES)
    rest = len(view) % many.size
    values: Column = []
    for block in many.iter_unpack(view[: len(view) - rest]):
        values += block
    for entry in layout.iter_unpack(view[len(view) - rest :]):
        values += entry
    return values[::2], values[1::2]


def _torn(entries: IndexEntries, entry_size: int) -> VerifyFinding:
    return damage(
        entries.path,
        "an incomplete entry at the end",
        remedy=REBUILD,
        position=entries.size - entries.size % entry_size,
        expected=f"a multiple of {entry_size} bytes",
        found=entries.size,
    )


class IndexCheck:
    """The check of one index against the batches of its segment, range by range."""

    __slots__ = (
        "_at",
        "_due_at",
        "_fields",
        "_first",
        "_is_whole",
        "_kind",
        "_latest",
        "_magic",
        "_numbers",
        "_path",
        "_pending",
        "_wrong",
    )

    def __init__(self, loaded: LoadedIndex, kind: IndexKind) -> None:
        self._path = loaded.path
        self._fields = loaded.fields
        self._kind = kind
        self._first = loaded.first
        #: No damaged range hides a time.
        self._is_whole = True
        self._magic = -1
        self._at = 0
        self._latest = -1
        self._pending: list[int] = []
        numbers = range(loaded.first, len(loaded.fields[0]))
        self._wrong = self._disorder(loaded.first)
        #: The entry numbers in the order of their batches, and the positions of these.
        self._numbers: list[int] | range = numbers
        self._due_at = loaded.fields[1][loaded.first :]
        if self._wrong:
            self._numbers = sorted(numbers, key=loaded.fields[1].__getitem__)
            self._due_at.sort()

    def add(self, swept: CheckedBatches, start: int) -> None:
        """Check the entries of swept batches that begin at a position of the segment."""
        columns = swept.columns
        lasts = columns[_FIELD["last_offset"]]
        if self._kind is OFFSETS:
            positions = [start + at for at in columns[_FIELD["position"]]]
            due = self._due(start + swept.end)
            if self._pending or not _has_all(lasts, positions, due):
                self._check_offsets(swept, positions, len(due[0]))
            return
        times = columns[_FIELD["max_timestamp"]]
        self._magic = max(self._magic, columns[_FIELD["magic"]][-1])
        latest = times
        if times[0] < self._latest or times != sorted(times):
            latest = list(islice(accumulate(times, max, initial=self._latest), 1, None))
        due = self._due(lasts[-1] + 1)
        if due[0] and not self._are_first(latest, lasts, due):
            self._check_times(swept, latest, len(due[0]))
        self._latest = latest[-1]

    def skip(self, end: int, next_offset: int | None) -> None:
        """Skip the entries of a damaged range, up to a position or an offset."""
        self._is_whole = False
        if self._kind is OFFSETS:
            self._due(end)
            self._pending.clear()
        elif next_offset is not None:
            self._due(next_offset)

    def finish(self, state: SegmentState) -> list[VerifyFinding]:
        """Return the findings after the last batch."""
        self._wrong += [(number, _BEHIND) for number in self._numbers[self._at :]]
        self._wrong += [(number, _NO_END) for number in self._pending]
        if not self._wrong:
            return list(self._check_latest(state))
        self._wrong.sort()
        number, problem = self._wrong[0]
        wrong = {number for number, _ in self._wrong}
        is_tail = len(wrong) == len(self._fields[0]) - number
        if is_tail and state.is_last and state.is_recovered:
            return [
                note(
                    self._path,
                    f"{len(wrong):,} entries at the end do not match the log: left by a "
                    "truncation, or ahead of a log that lost its tail",
                    remedy="nothing to do: they are removed when the log is next opened",
                    position=number * self._kind.layout.size,
                )
            ]
        key, other = self._entry(number)
        is_behind = is_tail and {problem for _, problem in self._wrong} == {_BEHIND}
        return [
            damage(
                self._path,
                f"an entry {problem}" + (f" (one of {len(wrong):,})" if len(wrong) > 1 else ""),
                remedy=LOST if is_behind and state.is_last else REBUILD,
                position=number * self._kind.layout.size,
                first_offset=(key, other)[self._kind.relative],
                found=self._kind.text.format(key, other),
            )
        ]

    # -- inside

    def _entry(self, number: int) -> tuple[int, int]:
        firsts, seconds = self._fields
        return firsts[number], seconds[number]

    def _check_latest(self, state: SegmentState) -> Iterator[VerifyFinding]:
        """Yield a finding if the last entry is not the latest time of the segment."""
        has_entries = len(self._fields[0]) > self._first
        last = self._fields[0][-1] if has_entries else -1
        if self._kind is OFFSETS or not self._is_whole or self._latest <= last:
            return
        if not state.is_trimmed or state.is_recovered or not (has_entries or self._magic == MAGIC):
            return
        if not has_entries and state.is_last:
            return
        yield damage(
            self._path,
            "the last entry is not the latest time" if has_entries else "there are no entries",
            remedy=_NO_LATEST,
            position=max(0, len(self._fields[0]) - 1) * self._kind.layout.size,
            expected=self._latest,
            found=last if has_entries else "none",
        )

    def _disorder(self, first: int) -> list[tuple[int, str]]:
        """Return the entries that do not ascend."""
        keys, others = (field[first:] for field in self._fields)
        if keys == sorted(keys) and others == sorted(others) and len(set(keys)) == len(keys):
            return []
        pairs = enumerate(pairwise(zip(keys, others, strict=True)), first + 1)
        return [
            (number, "does not ascend")
            for number, (before, after) in pairs
            if not (before[0] < after[0] and before[1] <= after[1])
        ]

    def _due(self, end: int) -> tuple[Column, Column]:
        """Return the entries before a position or an offset, and advance past them."""
        first, numbers = self._at, self._numbers
        self._at = bisect_left(self._due_at, end, first)
        due_at = self._due_at[first : self._at]
        if isinstance(numbers, range):
            return self._fields[0][numbers.start + first : numbers.start + self._at], due_at
        return [self._fields[0][number] for number in numbers[first : self._at]], due_at

    def _are_first(self, latest: Column, lasts: Column, due: tuple[Column, Column]) -> bool:
        """Return whether each due entry is of the first batch with its time."""
        if due[0][0] <= self._latest:
            return False
        first = dict(zip(reversed(latest), reversed(lasts), strict=True))
        return list(map(first.get, due[0])) == due[1]

    def _check_offsets(self, swept: CheckedBatches, positions: list[int], due: int) -> None:
        """Check the due entries one by one, to find the wrong ones."""
        lasts = swept.columns[_FIELD["last_offset"]]
        for number in self._numbers[self._at - due : self._at]:
            offset, position = self._entry(number)
            row = bisect_left(positions, position)
            if row == len(positions) or positions[row] != position:
                self._wrong.append((number, "points into the middle of a batch"))
            elif offset < swept.columns[_FIELD["base_offset"]][row]:
                self._wrong.append((number, "has an offset before its batch"))
            elif swept.columns[_FIELD["magic"]][row] == MAGIC or offset > lasts[row]:
                self._pending.append(number)
        waiting = []
        for number in self._pending:
            offset = self._fields[0][number]
            row = bisect_left(lasts, offset)
            if row == len(lasts):
                waiting.append(number)
            elif lasts[row] != offset:
                self._wrong.append((number, _NO_END))
        self._pending = waiting

    def _check_times(self, swept: CheckedBatches, latest: list[int], due: int) -> None:
        """Check the due entries one by one, to find the wrong ones."""
        lasts = swept.columns[_FIELD["last_offset"]]
        bases = swept.columns[_FIELD["base_offset"]]
        times = swept.columns[_FIELD["max_timestamp"]]
        magics = swept.columns[_FIELD["magic"]]
        for number in self._numbers[self._at - due : self._at]:
            timestamp, offset = self._entry(number)
            row = bisect_left(lasts, offset)
            if offset < bases[row]:
                self._wrong.append((number, "has an offset that is in no batch"))
            elif times[row] != timestamp:
                self._wrong.append((number, "has a different timestamp than its batch"))
            elif latest[row] != timestamp:
                self._wrong.append((number, "has an earlier timestamp than a batch before it"))
            elif magics[row] == MAGIC and timestamp == (latest[row - 1] if row else self._latest):
                self._wrong.append((number, "has the same timestamp as a batch before it"))


def _has_all(firsts: Column, seconds: Column, due: tuple[Column, Column]) -> bool:
    """Return whether every due entry has its batch; usually there is one entry for each batch."""
    if not due[0] or due == (firsts, seconds):
        return True
    return set(zip(firsts, seconds, strict=True)).issuperset(zip(*due, strict=True))


_BEHIND: Final = "is behind the end of the log"
_NO_END: Final = "has an offset that is not the last of a batch"
