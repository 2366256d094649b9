"""A handwritten partition directory in the middle of a pass: the segments before and after it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from cordwood.compaction.certificate import Certificate, PassCounts
from cordwood.compaction.cleaning_job import CleanedGroup, CleanedSegment, CleaningResult
from cordwood.compaction.kernels.kernel_record_verifier import KernelRecordVerifier
from cordwood.compaction.plan.cleaning_plan import CleaningPlan, SourceSegment
from cordwood.compaction.proof.batch_reader import ReadOptions
from cordwood.compaction.proof.key_checks import KeyScope
from cordwood.compaction.proof.record_checks import plain_record_verifier
from cordwood.compaction.proof.verifier import VerificationResult, verify, verify_alone
from cordwood.core.types import Offset, TimestampMs
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_header import BatchHeader
from cordwood.records.record_batch import RecordBatch
from cordwood.storage.files import file_names
from cordwood.storage.files.directory_source import DirectorySource
from cordwood.storage.files.file_names import CLEANED, LOG, segment_name
from cordwood.storage.files.header_scan import headers
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.abstract_index import InMemoryEntries
from cordwood.storage.segment.offset_index import OFFSET_ENTRY_SIZE, OffsetIndex
from cordwood.storage.segment.sparse_index_builder import SparseIndexBuilder
from cordwood.storage.segment.time_index import TIME_ENTRY_SIZE, TimeIndex
from cordwood.storage.segment.transaction_index import (
    ABORTED_TXN_SIZE,
    AbortedTxn,
    TransactionIndex,
)
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.compaction.compaction_samples import NOW, PARTITION, RETENTION

DIRECTORY: Final = "/t-0"
MODIFIED: Final = 500
ALL_KEYS: Final = KeyScope()
#: Batches by the base offset of the segment that holds them.
Segments = Mapping[int, Sequence[bytes]]

_CERTIFICATE: Final = "the certificate's"


class BothSides:
    """The files and the plan; `verified` reads them as a test has changed them."""

    def __init__(
        self,
        before: Segments,
        after: Segments,
        *,
        end: int,
        aborted: Sequence[AbortedTxn] = (),
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
        aborted: Iterable[AbortedTxn] = (),
    ) -> None:
        """Write a segment with its indexes, and replace an existing one."""
        data = b"".join(batches)
        found = list(headers(lambda length, at: data[at : at + length], 0, len(data)))
        offsets, times = indexes_of(base, found)
        lasts = {header.last_offset for header in found}
        entries = b"".join(
            TransactionIndex(base, InMemoryEntries(b"", ABORTED_TXN_SIZE)).encode(entry)
            for entry in aborted
            if entry.last_offset in lasts
        )
        contents = {
            LOG: data,
            file_names.INDEX: offsets,
            file_names.TIME_INDEX: times,
            file_names.TXN_INDEX: entries,
        }
        for extension, content in contents.items():
            self.put(base, extension, content, suffix=suffix)

    def write_log(self, base: int, batches: Sequence[bytes]) -> None:
        """Write a log file without indexes, for data that cannot be indexed."""
        for extension in (file_names.INDEX, file_names.TIME_INDEX):
            self.put(base, extension, b"")
        self.put(base, LOG, b"".join(batches))

    def put(self, base: int, extension: str, content: bytes, *, suffix: str = CLEANED) -> None:
        """Write a file, and replace an existing one."""
        name = segment_name(Offset(base), extension, suffix=suffix)
        if name in self.files.list(DIRECTORY):
            self.files.remove(f"{DIRECTORY}/{name}")
        self.files.create(f"{DIRECTORY}/{name}").append(content)
        self.files.set_modified(f"{DIRECTORY}/{name}", TimestampMs(MODIFIED))

    @property
    def reading(self) -> ReadOptions:
        return self.reading_of(64)

    def reading_of(self, io_bytes: int) -> ReadOptions:
        return ReadOptions(DirectorySource(self.files, DIRECTORY), io_bytes, lambda _: None)

    def cleaning(self) -> CleaningResult:
        """Return the result that a runner would report of the files."""
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
        return CleaningResult(tuple(groups), self.plan.end, certificate())

    def verified(
        self,
        *,
        scope: KeyScope = ALL_KEYS,
        memory_bytes: int = 1 << 20,
        cleaning: CleaningResult | None = None,
    ) -> VerificationResult:
        return verify(
            self.reading,
            cleaning or self.cleaning(),
            plan=self.plan,
            scope=scope,
            memory_bytes=memory_bytes,
        )

    def verified_alone(self) -> list[str]:
        """Return the violations of the segments before the pass, verified alone."""
        plain, by_kernels = (
            verify_alone(
                self.reading_of(io_bytes),
                self.plan,
                scope=ALL_KEYS,
                memory_bytes=1 << 20,
                judges=judges,
            )
            for io_bytes, judges in ((64, plain_record_verifier), (1 << 16, KernelRecordVerifier))
        )
        assert plain == by_kernels
        return [violation.what for violation in plain.violations]

    def wrongs(self, *, scope: KeyScope = ALL_KEYS, memory_bytes: int = 1 << 20) -> list[str]:
        """Return the violations as text, except for those of the empty certificate."""
        found = self.verified(scope=scope, memory_bytes=memory_bytes)
        words = [violation.what for violation in found.violations]
        assert words == self._wrongs_by_kernels(scope, memory_bytes)
        return [each for each in words if not each.startswith(_CERTIFICATE)]

    def _wrongs_by_kernels(self, scope: KeyScope, memory_bytes: int) -> list[str]:
        """Return the violations that the kernels find; they process many batches at a time."""
        found = verify(
            self.reading_of(1 << 16),
            self.cleaning(),
            plan=self.plan,
            scope=scope,
            memory_bytes=memory_bytes,
            judges=KernelRecordVerifier,
        )
        return [violation.what for violation in found.violations]


def certificate(counts: PassCounts | None = None) -> Certificate:
    return Certificate(
        partition=str(PARTITION),
        first_dirty=0,
        end=0,
        now_ms=NOW,
        segments_before=0,
        segments_after=0,
        keys=0,
        ranges=0,
        counts=counts or PassCounts(),
    )


def indexes_of(base: int, found: Iterable[BatchHeader]) -> tuple[bytes, bytes]:
    growth = SparseIndexBuilder(
        OffsetIndex(base, InMemoryEntries(b"", OFFSET_ENTRY_SIZE)),
        TimeIndex(base, InMemoryEntries(b"", TIME_ENTRY_SIZE)),
        interval_bytes=0,
    )
    for header in found:
        growth.add(header, header.position)
    times = TimeIndex(base, InMemoryEntries(bytes(growth.time_bytes), TIME_ENTRY_SIZE))
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
