"""A partition's directory in the middle of a pass, written by hand: segments before and after."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from cordwood.compaction.certificate import Certificate
from cordwood.compaction.engine import Counts
from cordwood.compaction.job import CleanedGroup, CleanedSegment, Cleaning
from cordwood.compaction.kernels.kernel_judge import KernelJudge
from cordwood.compaction.plan import CleaningPlan, SourceSegment
from cordwood.compaction.verify import Verified, verify, verify_alone
from cordwood.compaction.verify_keys import Scope
from cordwood.compaction.verify_reading import Reading
from cordwood.compaction.verify_records import plain_judge
from cordwood.core.types import Offset, TimestampMs
from cordwood.records.batch import RecordBatch
from cordwood.records.builder import BatchBuilder, BatchFields
from cordwood.records.header import BatchHeader
from cordwood.storage import names
from cordwood.storage.index import (
    ABORTED_ENTRY_SIZE,
    OFFSET_ENTRY_SIZE,
    TIME_ENTRY_SIZE,
    AbortedEntry,
    HeldEntries,
    OffsetIndex,
    TimeIndex,
    TransactionIndex,
)
from cordwood.storage.index_growth import IndexGrowth
from cordwood.storage.log_config import LogConfig
from cordwood.storage.names import CLEANED, LOG, segment_name
from cordwood.storage.scan import headers
from cordwood.storage.source import DirectorySource
from cordwood.testing.files import MemoryFiles
from tests.unit.compaction.compaction_samples import NOW, PARTITION, RETENTION

DIRECTORY: Final = "/t-0"
MODIFIED: Final = 500
ALL_KEYS: Final = Scope()
#: Batches by the base offset of the segment that holds them.
Segments = Mapping[int, Sequence[bytes]]

_CERTIFICATE: Final = "the certificate's"


class BothSides:
    """The files, and the plan; what tests change in them is seen by `verified`."""

    def __init__(
        self,
        before: Segments,
        after: Segments,
        *,
        end: int,
        aborted: Sequence[AbortedEntry] = (),
        groups: Sequence[Sequence[int]] | None = None,
    ) -> None:
        self.files = MemoryFiles()
        self.files.make_directory(DIRECTORY)
        self.after = after
        self.plan = self._planned(before, groups or [sorted(before)], end)
        for base, batches in before.items():
            self.write(base, batches, aborted=aborted)
        for base, batches in after.items():
            self.write(base, batches, suffix=CLEANED, aborted=aborted)
        self.write(end, [])

    def _planned(self, before: Segments, groups: Sequence[Sequence[int]], end: int) -> CleaningPlan:
        ends = dict(zip(sorted(before), [*sorted(before)[1:], end], strict=True))
        return CleaningPlan(
            partition=PARTITION,
            groups=tuple(
                tuple(
                    SourceSegment(base, ends[base], sum(map(len, before[base])), 0, 0, MODIFIED)
                    for base in group
                )
                for group in groups
            ),
            first_dirty=0,
            end=end,
            now_ms=NOW,
            legacy_horizon_ms=0,
            config=LogConfig(delete_retention_ms=RETENTION, index_interval_bytes=0),
        )

    def planned(self, **changes: object) -> "BothSides":
        """Change the plan."""
        self.plan = replace(self.plan, **changes)  # type: ignore[arg-type]  # each test names its own
        return self

    def write(
        self,
        base: int,
        batches: Sequence[bytes],
        *,
        suffix: str = "",
        aborted: Iterable[AbortedEntry] = (),
    ) -> None:
        """Write a segment with its indexes, in place of one that is there."""
        data = b"".join(batches)
        found = list(headers(lambda length, at: data[at : at + length], 0, len(data)))
        offsets, times = indexes_of(base, found)
        lasts = {header.last_offset for header in found}
        entries = b"".join(
            TransactionIndex(base, HeldEntries(b"", ABORTED_ENTRY_SIZE)).encode(entry)
            for entry in aborted
            if entry.last_offset in lasts
        )
        contents = {
            LOG: data,
            names.INDEX: offsets,
            names.TIME_INDEX: times,
            names.TXN_INDEX: entries,
        }
        for extension, content in contents.items():
            self.put(base, extension, content, suffix=suffix)

    def write_log(self, base: int, batches: Sequence[bytes]) -> None:
        """Write what no index could be made for."""
        for extension in (names.INDEX, names.TIME_INDEX):
            self.put(base, extension, b"")
        self.put(base, LOG, b"".join(batches))

    def put(self, base: int, extension: str, content: bytes, *, suffix: str = CLEANED) -> None:
        """Write a file in place of one that is there."""
        name = segment_name(Offset(base), extension, suffix=suffix)
        if name in self.files.list(DIRECTORY):
            self.files.remove(f"{DIRECTORY}/{name}")
        self.files.create(f"{DIRECTORY}/{name}").append(content)
        self.files.set_modified(f"{DIRECTORY}/{name}", TimestampMs(MODIFIED))

    @property
    def reading(self) -> Reading:
        return self.reading_of(64)

    def reading_of(self, io_bytes: int) -> Reading:
        return Reading(DirectorySource(self.files, DIRECTORY), io_bytes, lambda _: None)

    def cleaning(self) -> Cleaning:
        """Return what a runner would say of the files."""
        bases = [segment.base_offset for group in self.plan.groups for segment in group[:1]]
        groups = []
        for number, group in enumerate(self.plan.groups):
            limit = [*bases, self.plan.end][number + 1]
            groups.append(
                CleanedGroup(
                    tuple(segment.base_offset for segment in group),
                    tuple(
                        CleanedSegment(base, sum(map(len, self.after[base])))
                        for base in sorted(self.after)
                        if bases[number] <= base < limit
                    ),
                )
            )
        return Cleaning(tuple(groups), self.plan.end, certificate())

    def verified(
        self,
        *,
        scope: Scope = ALL_KEYS,
        memory_bytes: int = 1 << 20,
        cleaning: Cleaning | None = None,
    ) -> Verified:
        return verify(
            self.reading,
            cleaning or self.cleaning(),
            plan=self.plan,
            scope=scope,
            memory_bytes=memory_bytes,
        )

    def verified_alone(self) -> list[str]:
        """Return what is wrong with the segments before the pass, by themselves."""
        plain, by_kernels = (
            verify_alone(
                self.reading_of(io_bytes),
                self.plan,
                scope=ALL_KEYS,
                memory_bytes=1 << 20,
                judges=judges,
            )
            for io_bytes, judges in ((64, plain_judge), (1 << 16, KernelJudge))
        )
        assert plain == by_kernels
        return [violation.what for violation in plain.violations]

    def wrongs(self, *, scope: Scope = ALL_KEYS, memory_bytes: int = 1 << 20) -> list[str]:
        """Return what is wrong, in words; the certificate, which is of nothing, aside."""
        found = self.verified(scope=scope, memory_bytes=memory_bytes)
        words = [violation.what for violation in found.violations]
        assert words == self._wrongs_by_kernels(scope, memory_bytes)
        return [each for each in words if not each.startswith(_CERTIFICATE)]

    def _wrongs_by_kernels(self, scope: Scope, memory_bytes: int) -> list[str]:
        """Return the same as the kernels say, who see many batches at a time."""
        found = verify(
            self.reading_of(1 << 16),
            self.cleaning(),
            plan=self.plan,
            scope=scope,
            memory_bytes=memory_bytes,
            judges=KernelJudge,
        )
        return [violation.what for violation in found.violations]


def certificate(counts: Counts | None = None) -> Certificate:
    return Certificate(
        partition=str(PARTITION),
        first_dirty=0,
        end=0,
        now_ms=NOW,
        segments_before=0,
        segments_after=0,
        keys=0,
        ranges=0,
        counts=counts or Counts(),
    )


def indexes_of(base: int, found: Iterable[BatchHeader]) -> tuple[bytes, bytes]:
    growth = IndexGrowth(
        OffsetIndex(base, HeldEntries(b"", OFFSET_ENTRY_SIZE)),
        TimeIndex(base, HeldEntries(b"", TIME_ENTRY_SIZE)),
        interval_bytes=0,
    )
    for header in found:
        growth.add(header, header.position)
    times = TimeIndex(base, HeldEntries(bytes(growth.time_bytes), TIME_ENTRY_SIZE))
    forced = times.encode(*growth.latest)
    return bytes(growth.offset_bytes), bytes(growth.time_bytes) + (forced or b"")


def without(data: bytes, *offsets: int, horizon_ms: int | None = None) -> bytes:
    """Return a batch without the records at some offsets, with a horizon if one is given."""
    whole = RecordBatch(data)
    fields = BatchFields.of(whole)
    if horizon_ms is not None:
        fields = fields._replace(delete_horizon_ms=horizon_ms)
    builder = BatchBuilder(fields)
    for record in whole.records():
        if record.offset not in offsets:
            builder.append_record(record)
    return bytes(builder.build(last_offset=whole.last_offset))


def changed(data: bytes, **fields: object) -> bytes:
    """Return a batch with other fields in its header and the same records."""
    whole = RecordBatch(data)
    builder = BatchBuilder(BatchFields.of(whole)._replace(**fields))  # type: ignore[arg-type]  # each test names its own
    for record in whole.records():
        builder.append_record(record)
    return bytes(builder.build(last_offset=max(whole.last_offset, builder.last_offset)))
