"""The indexes of a segment held against its batches, while these are passed over.

    .index       an entry is right where a batch begins at its position and one ends with its
                 offset, the same or, as brokers before 4.1 wrote it of a set of batches, a later
                 one; brokers before 0.10.1 wrote any offset inside the batch
    .timeindex   an entry is right where its offset lies in a batch whose latest time it is, and
                 no batch before has a later one
    both         strictly increase, and have whole entries

The active segment's entries may be followed by those that a truncation left there: what is wrong
with no right one behind it is not believed to be damage.
"""

from bisect import bisect_left
from itertools import accumulate, islice, pairwise
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.binary import Buffer, bytes_view
from cordwood.core.ports import SegmentSource
from cordwood.records.batch import MAGIC
from cordwood.records.sweep import Swept, SweptBatch
from cordwood.storage.index import Entries
from cordwood.storage.names import INDEX, TIME_INDEX
from cordwood.storage.reader_indexes import open_entries
from cordwood.storage.reader_listing import ListedSegment
from cordwood.workbench.findings import REBUILD, Finding, damage, note

#: A field of every entry.
Column: TypeAlias = list[int]

_FIELD: Final = {name: at for at, name in enumerate(SweptBatch._fields)}
_OFFSET: Final = Struct(">ii")
_TIME: Final = Struct(">qi")
#: How many entries are unpacked at a time.
_ENTRIES: Final = 512


class IndexKind(NamedTuple):
    """What tells one index from the other. The second field says where an entry is due."""

    extension: str
    layout: Struct
    relative: int
    words: str


OFFSETS: Final = IndexKind(INDEX, _OFFSET, 0, "offset {} at position {}")
TIMES: Final = IndexKind(TIME_INDEX, _TIME, 1, "time {} at offset {}")


class LoadedIndex(NamedTuple):
    """The entries of a file, and what is wrong with the file itself.

    The first of `fields` are offsets or timestamps, the second positions or offsets. Those from
    number `first` on count: a file without entries begins with zeros like one of zeros.
    """

    path: str
    fields: tuple[Column, Column]
    findings: tuple[Finding, ...] = ()
    first: int = 0


def load(
    source: SegmentSource, listed: ListedSegment, *, kind: IndexKind, is_last: bool
) -> LoadedIndex:
    """Read all entries of an index; none if there is no file."""
    size = kind.layout.size
    entries = open_entries(source, listed.name(kind.extension), entry_size=size)
    findings: list[Finding] = []
    if entries.size % size:
        findings.append(_torn(entries, size))
    unused = entries.size // size - entries.count
    if unused and not is_last and any(entries.read(entries.count, unused)):
        findings.append(
            damage(
                entries.path,
                "zeros in the middle of entries",
                remedy=REBUILD,
                position=entries.count * size,
            )
        )
    fields = _unpacked(entries.read(0, entries.count), kind.layout)
    first = int((fields[0][:1], fields[1][:1]) == ([0], [0]))
    base, relative = listed.base_offset, fields[kind.relative]
    relative[:] = [base + each for each in relative]
    return LoadedIndex(entries.path, fields, tuple(findings), first)


def _unpacked(data: Buffer, layout: Struct) -> tuple[Column, Column]:
    """Return the two fields of entries, many of which are unpacked at once."""
    view, many = bytes_view(data), Struct(">" + layout.format[1:] * _ENTRIES)
    rest = len(view) % many.size
    values: Column = []
    for block in many.iter_unpack(view[: len(view) - rest]):
        values += block
    for entry in layout.iter_unpack(view[len(view) - rest :]):
        values += entry
    return values[::2], values[1::2]


def _torn(entries: Entries, entry_size: int) -> Finding:
    return damage(
        entries.path,
        "a part of an entry",
        remedy=REBUILD,
        position=entries.size - entries.size % entry_size,
        expected=f"a multiple of {entry_size} bytes",
        found=entries.size,
    )


class IndexWatch:
    """Holds entries against batches as these come by."""

    __slots__ = (
        "_at",
        "_due_at",
        "_fields",
        "_kind",
        "_latest",
        "_numbers",
        "_path",
        "_pending",
        "_wrong",
    )

    def __init__(self, loaded: LoadedIndex, kind: IndexKind) -> None:
        self._path = loaded.path
        self._fields = loaded.fields
        self._kind = kind
        self._at = 0
        self._latest = -1
        self._pending: list[int] = []
        numbers = range(loaded.first, len(loaded.fields[0]))
        self._wrong = self._disorder(loaded.first)
        #: The entries in the order in which their batches come by, and where these are.
        self._numbers: list[int] | range = numbers
        self._due_at = loaded.fields[1][loaded.first :]
        if self._wrong:
            self._numbers = sorted(numbers, key=loaded.fields[1].__getitem__)
            self._due_at.sort()

    def add(self, swept: Swept, start: int) -> None:
        """Take the batches of a pass that began at a position of the segment."""
        columns = swept.columns
        lasts = columns[_FIELD["last_offset"]]
        if self._kind is OFFSETS:
            positions = [start + at for at in columns[_FIELD["position"]]]
            due = self._due(start + swept.end)
            if self._pending or not _has_all(lasts, positions, due):
                self._check_offsets(swept, positions, len(due[0]))
            return
        times = columns[_FIELD["max_timestamp"]]
        latest = times
        if times[0] < self._latest or times != sorted(times):
            latest = list(islice(accumulate(times, max, initial=self._latest), 1, None))
        due = self._due(lasts[-1] + 1)
        if not _has_all(latest, lasts, due):
            self._check_times(swept, latest, len(due[0]))
        self._latest = latest[-1]

    def skip(self, end: int, next_offset: int | None) -> None:
        """Let go of the entries of what is damaged, up to a position or an offset."""
        if self._kind is OFFSETS:
            self._due(end)
            self._pending.clear()
        elif next_offset is not None:
            self._due(next_offset)

    def finish(self, *, is_last: bool) -> list[Finding]:
        """Return what is wrong, once all batches have come by."""
        self._wrong += [(number, _BEHIND) for number in self._numbers[self._at :]]
        self._wrong += [(number, _NO_END) for number in self._pending]
        if not self._wrong:
            return []
        self._wrong.sort()
        number, words = self._wrong[0]
        wrong = {number for number, _ in self._wrong}
        if is_last and len(wrong) == len(self._fields[0]) - number:
            return [
                note(
                    self._path,
                    f"{len(wrong):,} entries at the end are not those of the log: left by a "
                    "truncation, or ahead of a log that lost its tail",
                    remedy="nothing to do: they are dropped when the log is next opened",
                    position=number * self._kind.layout.size,
                )
            ]
        key, other = self._entry(number)
        return [
            damage(
                self._path,
                f"an entry that {words}" + (f", one of {len(wrong):,}" if len(wrong) > 1 else ""),
                remedy=REBUILD,
                position=number * self._kind.layout.size,
                first_offset=(key, other)[self._kind.relative],
                found=self._kind.words.format(key, other),
            )
        ]

    # -- inside

    def _entry(self, number: int) -> tuple[int, int]:
        firsts, seconds = self._fields
        return firsts[number], seconds[number]

    def _disorder(self, first: int) -> list[tuple[int, str]]:
        """Return the entries that do not increase."""
        keys, others = (field[first:] for field in self._fields)
        if keys == sorted(keys) and others == sorted(others) and len(set(keys)) == len(keys):
            return []
        pairs = enumerate(pairwise(zip(keys, others, strict=True)), first + 1)
        return [
            (number, "does not follow the one before")
            for number, (before, after) in pairs
            if not (before[0] < after[0] and before[1] <= after[1])
        ]

    def _due(self, end: int) -> tuple[Column, Column]:
        """Return the entries that come before a position or an offset."""
        first, numbers = self._at, self._numbers
        self._at = bisect_left(self._due_at, end, first)
        due_at = self._due_at[first : self._at]
        if isinstance(numbers, range):
            return self._fields[0][numbers.start + first : numbers.start + self._at], due_at
        return [self._fields[0][number] for number in numbers[first : self._at]], due_at

    def _check_offsets(self, swept: Swept, positions: list[int], due: int) -> None:
        """Look at entries one by one."""
        lasts = swept.columns[_FIELD["last_offset"]]
        for number in self._numbers[self._at - due : self._at]:
            offset, position = self._entry(number)
            row = bisect_left(positions, position)
            if row == len(positions) or positions[row] != position:
                self._wrong.append((number, "points into the middle of a batch"))
            elif offset < swept.columns[_FIELD["base_offset"]][row]:
                self._wrong.append((number, "names an offset from before its batch"))
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

    def _check_times(self, swept: Swept, latest: list[int], due: int) -> None:
        """Look at entries one by one."""
        lasts = swept.columns[_FIELD["last_offset"]]
        bases = swept.columns[_FIELD["base_offset"]]
        times = swept.columns[_FIELD["max_timestamp"]]
        for number in self._numbers[self._at - due : self._at]:
            timestamp, offset = self._entry(number)
            row = bisect_left(lasts, offset)
            if offset < bases[row]:
                self._wrong.append((number, "names an offset that no batch has"))
            elif times[row] != timestamp:
                self._wrong.append((number, "has another time than its batch"))
            elif latest[row] != timestamp:
                self._wrong.append((number, "has an earlier time than batches before it"))


def _has_all(firsts: Column, seconds: Column, due: tuple[Column, Column]) -> bool:
    """Whether every entry that is due is there; mostly there is one a batch."""
    if not due[0] or due == (firsts, seconds):
        return True
    return set(zip(firsts, seconds, strict=True)).issuperset(zip(*due, strict=True))


_BEHIND: Final = "is behind the end of the log"
_NO_END: Final = "names an offset that no batch ends with"
