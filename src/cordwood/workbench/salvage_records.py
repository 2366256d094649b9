"""What can still be read of an uncompressed v2 batch that is damaged, as a batch of its own.

Records are looked for from the first byte on, and behind what is not sound at every byte: a run of
some that follow one another in their bytes and, where none is missing, in their offsets. Of all the
runs those are kept, in order, that have most records together; so records that came from another
place do not push out those that belong there. What was kept is built anew at its old offsets, with
its old times, and with the batch's own last offset and producer, as compaction leaves a batch that
has lost records.

A record that reads well may still have been hurt inside its key or value: no checksum vouches for
it any more, so all that is rebuilt is doubtful. A marker is never rebuilt, for half a decision is
none.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.core.errors import BytesError, InvalidRecordError
from cordwood.records.batch import CONTROL_BIT, HEADER_SIZE, LOG_APPEND_TIME_BIT, MAGIC
from cordwood.records.builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec
from cordwood.records.header import BatchHeader
from cordwood.records.v2_record import V2Record, read_v2_record, wrap_int64

#: So many records that follow one another are no accident.
ENOUGH: Final = 3

#: So many places where fewer seem to begin are looked at, in one batch.
MOST_WEAK: Final = 500

_KNOWN_BITS: Final = 0x7F
_TRANSACTIONAL_BIT: Final = 0x10


class Rebuilt(NamedTuple):
    """A batch of the records that could be read, and the offsets of those that could not."""

    data: bytes
    offsets: tuple[int, ...]


class Limits(NamedTuple):
    """What a batch's header says of its records; `is_dense` when none is missing between them."""

    last_delta: int
    is_dense: bool
    latest_delta: int


class _Run(NamedTuple):
    """Records that follow one another, and the bytes they take."""

    start: int
    end: int
    records: list[V2Record]


def rebuilt(data: memoryview, header: BatchHeader) -> Rebuilt | None:
    """Return what is readable of the batch that begins `data`, None if nothing is."""
    if header.magic != MAGIC or not _is_credible(header):
        return None
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
    limits = Limits(delta, is_dense=header.record_count == delta + 1, latest_delta=latest)
    for record in readable_records(payload, limits):
        offset = _append(builder, record, header)
        if offset is not None:
            offsets.append(offset)
    if not offsets:
        return None
    return Rebuilt(bytes(builder.build(last_offset=header.last_offset)), tuple(offsets))


def readable_records(payload: bytes, limits: Limits) -> Iterator[V2Record]:
    """Yield the records that are sound and in order."""
    for run in _most(list(_runs(payload, limits))):
        yield from run.records


def _is_credible(header: BatchHeader) -> bool:
    """Whether a header says what an uncompressed batch of a producer may say."""
    return (
        header.attributes & ~_KNOWN_BITS == 0
        and header.codec_id == Codec.NONE
        and not header.attributes & CONTROL_BIT
        and 0 <= header.base_offset <= header.last_offset <= INT64_MAX
        and header.last_offset - header.base_offset <= INT32_MAX
        and header.max_timestamp >= -1
        and (header.producer_id < 0) == (header.producer_epoch < 0)
        and (header.producer_id < 0) == (header.base_sequence < 0)
        and (header.producer_id >= 0 or not header.attributes & _TRANSACTIONAL_BIT)
    )


def _append(builder: BatchBuilder, record: V2Record, header: BatchHeader) -> int | None:
    """Add a record at its old offset, and return that; None if it says what no record can."""
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


def _runs(payload: bytes, limits: Limits) -> Iterator[_Run]:
    """Yield what may be records, one after the other, from each place on where some begin."""
    at, weak = 0, 0
    while at < len(payload):
        run = _run_at(payload, at, limits)
        is_strong = run is not None and (
            at == 0 or len(run.records) >= ENOUGH or _is_last(run, payload, limits)
        )
        if run is not None and (is_strong or (limits.is_dense and weak < MOST_WEAK)):
            yield run
            weak += not is_strong
        at = run.end if run is not None and is_strong else at + 1


def _run_at(payload: bytes, at: int, limits: Limits) -> _Run | None:
    """Return the records from a place on, as far as one follows from the other."""
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
    return _Run(start, at, records) if records else None


def _is_last(run: _Run, payload: bytes, limits: Limits) -> bool:
    return run.end == len(payload) and run.records[-1].offset_delta == limits.last_delta


def _most(runs: list[_Run]) -> list[_Run]:
    """Return those runs, one behind the other in bytes and in offsets, that have most records."""
    best: list[tuple[int, int]] = []
    for index, run in enumerate(runs):
        count, before = 0, -1
        for other in range(index):
            if _precedes(runs[other], run) and best[other][0] > count:
                count, before = best[other][0], other
        best.append((count + len(run.records), before))
    chosen: list[_Run] = []
    index = max(range(len(runs)), key=lambda each: best[each][0], default=-1)
    while index >= 0:
        chosen.insert(0, runs[index])
        index = best[index][1]
    return chosen


def _precedes(one: _Run, other: _Run) -> bool:
    is_before = one.records[-1].offset_delta < other.records[0].offset_delta
    return one.end <= other.start and is_before


def _record_at(data: bytes, at: int, deltas: tuple[int, int]) -> V2Record | None:
    """Return the record at a place, None if there is none whose offset fits."""
    try:
        record = read_v2_record(data, at, len(data))
    except BytesError:
        return None
    return record if deltas[0] <= record.offset_delta <= deltas[1] else None
