"""Checks and counts over runs of batches, in one pass and without keeping records.

    check    every batch's checksum and every record, as strictly as `RecordBatch.records`; returns
             all batches, column by column
    survey   headers, and record sizes on request; returns sums, and the single batches that a sum
             cannot represent

A pass ends at the end of the buffer, inside an incomplete batch, or before the first invalid batch,
which is the `fault`. Control batches are counted, their records are not.

This is the plain twin of `kernels.batch_checks`. It serves without kernels, and it words
the error when a kernel has rejected a batch.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from struct import Struct
from typing import Final, NamedTuple, Protocol

from cordwood.core.binary import Buffer, bytes_view
from cordwood.core.errors import BadRecordsError
from cordwood.records.batch_header import BatchHeader, read_header
from cordwood.records.batch_stream import PREFIX_SIZE, AnyBatch, batch_at
from cordwood.records.compression import DEFAULT_LIMIT, Codec
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.legacy_message import LOG_OVERHEAD
from cordwood.records.record import Record, TimestampType
from cordwood.records.record_batch import DELETE_HORIZON_BIT, HEADER_SIZE, MAGIC, RecordBatch

NO_TIME: Final = -1

_SIZE: Final = Struct(">i")
#: The size of a message without its key and value, in v0 and in v1.
_MESSAGE_OVERHEAD: Final = (26, 34)


class CheckedBatch(NamedTuple):
    """One batch of a pass. `keyless` counts data records without a key; -1 means that records were
    not read. `records_max_timestamp` is that of a v2 batch's records, at least -1; it is the
    header's for all other batches, for LogAppendTime, without records and if they were not read.

    The first offset of a wrapper is known only after decompression.
    """

    position: int
    size: int
    magic: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    attributes: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int
    records_max_timestamp: int
    keyless: int = -1


class CheckedBatches(NamedTuple):
    """The result of a pass. `needed` is the size of the batch at `end`, if that batch is
    incomplete.
    """

    end: int
    columns: list[list[int]]
    fault: BadRecordsError | None = None
    needed: int = 0

    @property
    def batches(self) -> list[CheckedBatch]:
        """Yield the batches one by one."""
        return list(map(CheckedBatch._make, zip(*self.columns, strict=True)))


_SUMS: Final = (
    "control",
    "transactional",
    "wrappers",
    "unpacked_bytes",
    "keyless",
    "tombstones",
    "key_bytes",
    "value_bytes",
    "headers",
)


@dataclass(slots=True)
class BatchSurvey:
    """Sums over batches; lists are indexed by codec number, and by magic.

    `records` excludes records inside wrappers, unless the wrappers were decompressed. The earliest
    time is that of a batch's first record. `unpacked_bytes` and the following fields cover surveyed
    records only.
    """

    batches: list[int] = field(default_factory=lambda: [0] * 8)
    records: list[int] = field(default_factory=lambda: [0] * 8)
    bytes: list[int] = field(default_factory=lambda: [0] * 8)
    magics: list[int] = field(default_factory=lambda: [0] * 3)
    earliest: int = NO_TIME
    latest: int = NO_TIME
    control: int = 0
    transactional: int = 0
    wrappers: int = 0
    #: A batch that is larger than this one comes back, and so does one of another producer.
    large: int = 0
    producer_id: int = -1
    unpacked_bytes: int = 0
    keyless: int = 0
    tombstones: int = 0
    key_bytes: int = 0
    value_bytes: int = 0
    headers: int = 0

    def see_times(self, earliest: int, latest: int) -> None:
        """Extend the time range; negative times are ignored."""
        if earliest >= 0:
            self.earliest = earliest if self.earliest < 0 else min(self.earliest, earliest)
        self.latest = max(self.latest, latest)

    def join(self, other: "BatchSurvey") -> None:
        """Add another survey's sums."""
        for name in ("batches", "records", "bytes", "magics"):
            counts = getattr(self, name)
            counts[:] = map(int.__add__, counts, getattr(other, name))
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.see_times(other.earliest, other.latest)


class BatchChecker(Protocol):
    """Passes over buffers that begin with a batch; not thread-safe."""

    def check(self, data: Buffer) -> CheckedBatches:
        """Check every batch; the fault is a BadRecordsError of the batch at `end`."""

    def survey(self, data: Buffer, survey: BatchSurvey, *, is_deep: bool = False) -> CheckedBatches:
        """Add the buffer to the sums. Only the bytes that are read are checked."""


class PlainBatchChecker:
    """Passes batch by batch, and record by record."""

    __slots__ = ()

    def check(self, data: Buffer) -> CheckedBatches:
        """Check every batch; see `BatchChecker`."""
        return sweep(data, check_batch)

    def survey(self, data: Buffer, survey: BatchSurvey, *, is_deep: bool = False) -> CheckedBatches:
        """Add the buffer to the sums; see `BatchChecker`."""

        def add(batch: AnyBatch, header: BatchHeader) -> CheckedBatch | None:
            return survey_batch(batch, header, survey=survey, is_deep=is_deep)

        return sweep(data, add)


def sweep(
    data: Buffer, look: Callable[[AnyBatch, BatchHeader], CheckedBatch | None]
) -> CheckedBatches:
    """Call `look` for every whole batch; an error that it raises is the fault."""
    view, position = bytes_view(data), 0
    found: list[CheckedBatch] = []
    try:
        while (batch := batch_at(view, position)) is not None:
            header = read_header(view, position)
            assert header is not None, "a whole batch has a whole header"
            seen = look(batch, header)
            position = batch.end
            if seen is not None:
                found.append(seen)
    except BadRecordsError as error:
        return CheckedBatches(position, columns_of(found), error)
    return CheckedBatches(position, columns_of(found), None, needed_at(view, position))


def columns_of(batches: list[CheckedBatch]) -> list[list[int]]:
    """Return batches as columns."""
    columns = [list(column) for column in zip(*batches, strict=True)]
    return columns or [[] for _ in CheckedBatch._fields]


def check_batch(batch: AnyBatch, header: BatchHeader) -> CheckedBatch:
    """Check the checksum, then every record."""
    batch.ensure_valid()
    records = list(batch.records(limit=DEFAULT_LIMIT))
    keyless = 0 if header.is_control else sum(record.key is None for record in records)
    return _swept(header, records, keyless)


def survey_batch(
    batch: AnyBatch, header: BatchHeader, *, survey: BatchSurvey, is_deep: bool
) -> CheckedBatch | None:
    """Add a batch to the sums; return it if a sum cannot represent it."""
    is_wrapper = isinstance(batch, LegacyBatch) and batch.is_wrapper
    is_message = isinstance(batch, LegacyBatch) and not is_wrapper
    count = 1 if is_message else max(header.record_count, 0)
    if is_deep:
        count = _survey_records(batch, survey)
    codec = header.codec_id
    survey.batches[codec] += 1
    survey.records[codec] += count
    survey.bytes[codec] += header.size
    survey.magics[header.magic] += 1
    survey.control += header.is_control
    survey.transactional += header.is_transactional
    survey.wrappers += is_wrapper
    is_stamped = header.is_log_append_time or header.attributes & DELETE_HORIZON_BIT
    first = header.max_timestamp if is_stamped else header.base_timestamp
    survey.see_times(first, header.max_timestamp)
    is_told = (
        header.is_control
        or header.is_transactional
        or header.size > survey.large
        or header.producer_id != survey.producer_id
    )
    survey.producer_id = header.producer_id
    return _swept(header, [], -1)._replace(record_count=count) if is_told else None


def _survey_records(batch: AnyBatch, survey: BatchSurvey) -> int:
    """Add the sizes of the records, and return their number."""
    records = list(batch.records(limit=DEFAULT_LIMIT))
    survey.unpacked_bytes += _unpacked_size(batch, records)
    if isinstance(batch, RecordBatch) and batch.is_control:
        return len(records)
    for record in records:
        survey.keyless += record.key is None
        survey.tombstones += record.value is None
        survey.key_bytes += len(record.key or b"")
        survey.value_bytes += len(record.value or b"")
        survey.headers += len(record.headers)
    return len(records)


def _unpacked_size(batch: AnyBatch, records: list[Record]) -> int:
    """Return the size of a batch without compression, headers included."""
    if isinstance(batch, LegacyBatch):
        return sum(
            _MESSAGE_OVERHEAD[record.timestamp_type is not TimestampType.NO_TIMESTAMP]
            + len(record.key or b"")
            + len(record.value or b"")
            for record in records
        )
    if batch.codec is Codec.NONE:
        return batch.size
    unpacked = batch.place.decompress(batch.codec, batch.payload, magic=MAGIC, limit=DEFAULT_LIMIT)
    return HEADER_SIZE + len(unpacked)


def _swept(header: BatchHeader, records: list[Record], keyless: int) -> CheckedBatch:
    first = header.base_offset
    if header.magic < MAGIC and records:
        first = min(first, *(record.offset for record in records))
    return CheckedBatch(
        header.position,
        header.size,
        header.magic,
        first,
        header.last_offset,
        header.partition_leader_epoch,
        header.attributes,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.record_count if header.magic == MAGIC or not records else len(records),
        _records_max_timestamp(header, records),
        keyless,
    )


def _records_max_timestamp(header: BatchHeader, records: list[Record]) -> int:
    if header.magic < MAGIC or not records or header.is_log_append_time:
        return header.max_timestamp
    return max(NO_TIME, *(record.timestamp for record in records))


def needed_at(view: memoryview, position: int) -> int:
    """Return the size of the incomplete batch at the end of the buffer."""
    if len(view) - position < PREFIX_SIZE:
        return 0
    size: int = _SIZE.unpack_from(view, position + 8)[0]
    return LOG_OVERHEAD + size
