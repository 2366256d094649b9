"""Rebuild of a damaged v2 batch from the records that can still be parsed.

A compressed batch is rebuilt only if its checksum is right; the caller decompresses it.

The search starts at the first byte, and continues at every byte behind an unparsable one. It finds
runs of records that are adjacent in bytes and, if the batch is dense, consecutive in offsets. The
rebuild keeps the ordered set of runs with the most records, so that bytes from elsewhere do not
displace the batch's own records. The new batch keeps the old offsets and timestamps, and the last
offset and producer of the old batch, as compaction does for a batch that loses records.

A parsed record may still be damaged inside its key or value, since no checksum covers it now. So
all rebuilt records are doubtful. A control batch is never rebuilt: a marker must be whole.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.core.errors import BytesError, InvalidRecordError
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_header import BatchHeader
from cordwood.records.compression import Codec
from cordwood.records.record_batch import CONTROL_BIT, HEADER_SIZE, LOG_APPEND_TIME_BIT, MAGIC
from cordwood.records.v2_record import V2Record, read_v2_record, wrap_int64

#: A run of this many records is not a coincidence.
STRONG_RUN: Final = 3

#: The limit of shorter runs that are considered in one batch.
MAX_WEAK_RUNS: Final = 500

_KNOWN_BITS: Final = 0x7F
_TRANSACTIONAL_BIT: Final = 0x10


class RebuiltBatch(NamedTuple):
    """A batch of the records that could be parsed, and their offsets."""

    data: bytes
    offsets: tuple[int, ...]


class RecordLimits(NamedTuple):
    """The limits of records by the batch header; `is_dense` means that no offset is missing."""

    last_delta: int
    is_dense: bool
    latest_delta: int


class _RecordRun(NamedTuple):
    """Adjacent records, and the range of their bytes."""

    start: int
    end: int
    records: list[V2Record]


def rebuild_batch(
    data: memoryview, header: BatchHeader, *, payload: bytes | None = None
) -> RebuiltBatch | None:
    """Return the readable records of the batch at the start of `data`, None if there are none.

    `payload` are its decompressed records, if it has a right checksum.
    """
    is_plain = payload is not None or header.codec_id == Codec.NONE
    if header.magic != MAGIC or not is_plain or not _is_credible(header):
        return None
    if payload is None:
        payload = bytes(data[HEADER_SIZE : header.size])
    delta = header.last_offset - header.base_offset
    is_stamped = header.attributes & LOG_APPEND_TIME_BIT
    builder = BatchBuilder(
        BatchFields(
            base_offset=header.base_offset,
            partition_leader_epoch=header.partition_leader_epoch,
            log_append_time_ms=header.max_timestamp if is_stamped else None,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            is_transactional=bool(header.attributes & _TRANSACTIONAL_BIT),
        )
    )
    offsets = []
    latest = INT64_MAX if is_stamped else header.max_timestamp - header.base_timestamp
    limits = RecordLimits(delta, is_dense=header.record_count == delta + 1, latest_delta=latest)
    for record in readable_records(payload, limits):
        offset = _append(builder, record, header)
        if offset is not None:
            offsets.append(offset)
    if not offsets:
        return None
    return RebuiltBatch(bytes(builder.build(last_offset=header.last_offset)), tuple(offsets))


def readable_records(payload: bytes, limits: RecordLimits) -> Iterator[V2Record]:
    """Yield the records that can be parsed, in the order of offsets."""
    for run in _best_chain(list(_runs(payload, limits))):
        yield from run.records


def count_records(payload: bytes, last_delta: int) -> int | None:
    """Return the number of records that fill the bytes in the order of offsets, else None."""
    at = lowest = count = 0
    while at < len(payload):
        record = _record_at(payload, at, (lowest, last_delta))
        if record is None:
            return None
        at, lowest, count = record.end, record.offset_delta + 1, count + 1
    return count


def _is_credible(header: BatchHeader) -> bool:
    """Return whether the header is possible for a batch that is not a control one."""
    return (
        header.attributes & ~_KNOWN_BITS == 0
        and not header.attributes & CONTROL_BIT
        and 0 <= header.base_offset <= header.last_offset <= INT64_MAX
        and header.last_offset - header.base_offset <= INT32_MAX
        and header.max_timestamp >= -1
        and (header.producer_id < 0) == (header.producer_epoch < 0)
        and (header.producer_id < 0) == (header.base_sequence < 0)
        and (header.producer_id >= 0 or not header.attributes & _TRANSACTIONAL_BIT)
    )


def _append(builder: BatchBuilder, record: V2Record, header: BatchHeader) -> int | None:
    """Append a record at its old offset, and return that; None if the record is invalid."""
    try:
        return builder.append(
            record.key,
            record.value,
            timestamp=wrap_int64(header.base_timestamp + record.timestamp_delta),
            headers=record.headers,
            offset=header.base_offset + record.offset_delta,
        )
    except (BytesError, InvalidRecordError):
        return None


def _runs(payload: bytes, limits: RecordLimits) -> Iterator[_RecordRun]:
    """Yield the possible runs of records: all strong ones, and a limited number of weak ones."""
    at, weak = 0, 0
    while at < len(payload):
        run = _run_at(payload, at, limits)
        is_strong = run is not None and (
            at == 0 or len(run.records) >= STRONG_RUN or _is_last(run, payload, limits)
        )
        if run is not None and (is_strong or (limits.is_dense and weak < MAX_WEAK_RUNS)):
            yield run
            weak += not is_strong
        at = run.end if run is not None and is_strong else at + 1


def _run_at(payload: bytes, at: int, limits: RecordLimits) -> _RecordRun | None:
    """Return the longest run of records at a position, None if no record begins there."""
    start, lowest, highest = at, 0, limits.last_delta
    records = []
    while at < len(payload):
        record = _record_at(payload, at, (lowest, highest))
        if record is None or record.timestamp_delta > limits.latest_delta:
            break
        records.append(record)
        at, lowest = record.end, record.offset_delta + 1
        highest = lowest if limits.is_dense else highest
        if lowest > limits.last_delta:
            break
    return _RecordRun(start, at, records) if records else None


def _is_last(run: _RecordRun, payload: bytes, limits: RecordLimits) -> bool:
    return run.end == len(payload) and run.records[-1].offset_delta == limits.last_delta


def _best_chain(runs: list[_RecordRun]) -> list[_RecordRun]:
    """Return the runs, ascending in bytes and in offsets, that together have the most records."""
    best: list[tuple[int, int]] = []
    for index, run in enumerate(runs):
        count, before = 0, -1
        for other in range(index):
            if _precedes(runs[other], run) and best[other][0] > count:
                count, before = best[other][0], other
        best.append((count + len(run.records), before))
    chosen: list[_RecordRun] = []
    index = max(range(len(runs)), key=lambda each: best[each][0], default=-1)
    while index >= 0:
        chosen.insert(0, runs[index])
        index = best[index][1]
    return chosen


def _precedes(one: _RecordRun, other: _RecordRun) -> bool:
    is_before = one.records[-1].offset_delta < other.records[0].offset_delta
    return one.end <= other.start and is_before


def _record_at(data: bytes, at: int, deltas: tuple[int, int]) -> V2Record | None:
    """Return the record at a position, None if there is none or its offset does not fit."""
    try:
        record = read_v2_record(data, at, len(data))
    except BytesError:
        return None
    return record if deltas[0] <= record.offset_delta <= deltas[1] else None
