"""Runs of batches checked or counted in one pass, without a record being kept.

    check    every batch's checksum and every record, as strictly as `RecordBatch.records`; all
             batches come back, column by column
    survey   headers, and the records' sizes when asked; sums come back, and of the batches only
             those that a sum cannot stand for

A pass ends where the buffer does, inside a batch that is cut off, or before the first batch that is
not sound, which is the `fault`. Control batches are no data: they are counted, their records not.

This is the plain twin of `kernels.sweep`; it serves until the kernels are warm, and it finds the
words when a kernel has refused a batch.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from struct import Struct
from typing import Final, NamedTuple, Protocol

from cordwood.core.binary import Buffer, bytes_view
from cordwood.core.errors import BadRecordsError
from cordwood.records.batch import DELETE_HORIZON_BIT, HEADER_SIZE, MAGIC, RecordBatch
from cordwood.records.compression import DEFAULT_LIMIT, Codec
from cordwood.records.header import BatchHeader, read_header
from cordwood.records.legacy import LegacyBatch
from cordwood.records.message import LOG_OVERHEAD
from cordwood.records.record import Record, TimestampType
from cordwood.records.stream import PREFIX_SIZE, AnyBatch, batch_at

NO_TIME: Final = -1

_SIZE: Final = Struct(">i")
#: What a message takes beside its key and value, in v0 and in v1.
_MESSAGE_OVERHEAD: Final = (26, 34)


class SweptBatch(NamedTuple):
    """A batch as a pass sees it. `keyless` counts data records that have no key; -1: not looked at.

    The first offset of a wrapper is known only once it has been opened.
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
    keyless: int = -1


class Swept(NamedTuple):
    """How far a pass came. `needed` is what the batch at `end` takes, where it is cut off."""

    end: int
    columns: list[list[int]]
    fault: BadRecordsError | None = None
    needed: int = 0

    @property
    def batches(self) -> list[SweptBatch]:
        """The batches, one by one."""
        return list(map(SweptBatch._make, zip(*self.columns, strict=True)))


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
class Survey:
    """Sums over batches; lists are by codec number, and by magic.

    `records` leaves out those inside wrappers, unless these were opened. The earliest time is that
    of a batch's first record. `unpacked_bytes` and what follows are known of surveyed records only.
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
        """Widen the range of time; negative ones are none."""
        if earliest >= 0:
            self.earliest = earliest if self.earliest < 0 else min(self.earliest, earliest)
        self.latest = max(self.latest, latest)

    def join(self, other: "Survey") -> None:
        """Add another survey's sums."""
        for name in ("batches", "records", "bytes", "magics"):
            counts = getattr(self, name)
            counts[:] = map(int.__add__, counts, getattr(other, name))
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.see_times(other.earliest, other.latest)


class Sweeper(Protocol):
    """Passes over buffers that begin with a batch; not to be shared between threads."""

    def check(self, data: Buffer) -> Swept:
        """Check every batch; the fault is a BadRecordsError of the batch at `end`."""

    def survey(self, data: Buffer, survey: Survey, *, is_deep: bool = False) -> Swept:
        """Add what there is to the sums. Only what is read is checked."""


class PlainSweeper:
    """Passes batch by batch, and record by record."""

    __slots__ = ()

    def check(self, data: Buffer) -> Swept:
        """Check every batch; see `Sweeper`."""
        return sweep(data, check_batch)

    def survey(self, data: Buffer, survey: Survey, *, is_deep: bool = False) -> Swept:
        """Add what there is to the sums; see `Sweeper`."""

        def add(batch: AnyBatch, header: BatchHeader) -> SweptBatch | None:
            return survey_batch(batch, header, survey=survey, is_deep=is_deep)

        return sweep(data, add)


def sweep(data: Buffer, look: Callable[[AnyBatch, BatchHeader], SweptBatch | None]) -> Swept:
    """Look at every whole batch; what `look` raises is the fault."""
    view, position = bytes_view(data), 0
    found: list[SweptBatch] = []
    try:
        while (batch := batch_at(view, position)) is not None:
            header = read_header(view, position)
            assert header is not None, "a whole batch has a whole header"
            seen = look(batch, header)
            position = batch.end
            if seen is not None:
                found.append(seen)
    except BadRecordsError as error:
        return Swept(position, columns_of(found), error)
    return Swept(position, columns_of(found), None, needed_at(view, position))


def columns_of(batches: list[SweptBatch]) -> list[list[int]]:
    """Return batches as columns."""
    columns = [list(column) for column in zip(*batches, strict=True)]
    return columns or [[] for _ in SweptBatch._fields]


def check_batch(batch: AnyBatch, header: BatchHeader) -> SweptBatch:
    """Check the checksum, then every record."""
    batch.ensure_valid()
    records = list(batch.records(limit=DEFAULT_LIMIT))
    keyless = 0 if header.is_control else sum(record.key is None for record in records)
    return _swept(header, records, keyless)


def survey_batch(
    batch: AnyBatch, header: BatchHeader, *, survey: Survey, is_deep: bool
) -> SweptBatch | None:
    """Add a batch to the sums; return it if there is more to say of it."""
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


def _survey_records(batch: AnyBatch, survey: Survey) -> int:
    """Add the sizes of the records, and return how many there are."""
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
    """Return how large a batch would be without compression, headers included."""
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


def _swept(header: BatchHeader, records: list[Record], keyless: int) -> SweptBatch:
    first = header.base_offset
    if header.magic < MAGIC and records:
        first = min(first, *(record.offset for record in records))
    return SweptBatch(
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
        keyless,
    )


def needed_at(view: memoryview, position: int) -> int:
    """Return how many bytes the batch takes whose beginning the buffer ends with."""
    if len(view) - position < PREFIX_SIZE:
        return 0
    size: int = _SIZE.unpack_from(view, position + 8)[0]
    return LOG_OVERHEAD + size
