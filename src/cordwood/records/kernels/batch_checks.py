"""Kernels of `records.batch_checks`: headers by `header_scan`, checksums, then the records in
place.

A run of uncompressed batches is traversed three times while it is in the processor's cache.
Compressed batches are decompressed one by one into the same room. Old messages go to the plain
twin, and so does any rejected batch, for its error message.

    sums    the words V_ below: the numbers of a `BatchSurvey` during a pass over a buffer
"""

from array import array
from collections.abc import Callable
from operator import add
from typing import Final, TypeAlias, cast

from cordwood.core.binary import INT64_MAX, INT64_MIN, Buffer, bytes_view
from cordwood.core.errors import BadRecordsError, InvalidRecordError
from cordwood.records.batch_checks import (
    BatchSurvey,
    CheckedBatch,
    CheckedBatches,
    check_batch,
    needed_at,
    survey_batch,
)
from cordwood.records.batch_header import BatchHeader, read_header
from cordwood.records.batch_stream import AnyBatch, batch_at
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.common_record import usual_record
from cordwood.records.kernels.crc32c import first_wrong
from cordwood.records.kernels.header_scan import has_records, scan
from cordwood.records.kernels.header_table import HeaderTable
from cordwood.records.kernels.intrinsics import wrapping_sum
from cordwood.records.kernels.kernel_definition import (
    BATCH_ROWS,
    INT,
    SOURCE,
    WORDS,
    Bytes,
    Words,
    inlined,
    kernel,
)
from cordwood.records.kernels.room import Room, source_of
from cordwood.records.kernels.v2_record import (
    R_HEADERS,
    R_KEY_SIZE,
    R_OFFSET,
    R_STOP,
    R_TIMESTAMP,
    R_VALUE_SIZE,
    read_record,
)
from cordwood.records.record_batch import HEADER_SIZE, MAGIC

SMALLEST_RECORD = 7
CODEC_BITS = 0x07
STAMP_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
HORIZON_BIT = 0x40

NO_TIME = -1

#: The largest run, in rows, and in bytes that stay in the cache between two traversals.
ROWS: Final = 2048
GROUP_BYTES: Final = 256 * 1024

# -- the words of a survey
V_EARLIEST = 0
V_LATEST = 1
V_CONTROL = 2
V_TRANSACTIONAL = 3
V_LARGE = 4
V_PRODUCER = 5
V_KEYLESS = 6
V_TOMBSTONES = 7
V_KEY_BYTES = 8
V_VALUE_BYTES = 9
V_HEADERS = 10
V_UNPACKED = 11
V_CODECS = 16  # batches, records, bytes: three words a codec
V_WORDS = V_CODECS + 3 * 8

IS_CUT = -2


@inlined
def _walk(
    source: Bytes, position: int, end: int, count: int, last_delta: int, base_timestamp: int
) -> tuple[int, int, int, int, int, int, int]:
    """Read every record of a batch; return their end, -1 for an invalid one, their largest
    timestamp, and five sums.
    """
    lowest = keyless = tombstones = key_bytes = value_bytes = headers = 0
    latest = NO_TIME
    for _ in range(count):
        stop, delta, offset, _, key_size, _, value_size = usual_record(source, position, end)
        if stop < 0:
            record = read_record(source, position, end)
            stop, delta, offset = record[R_STOP], record[R_TIMESTAMP], record[R_OFFSET]
            key_size, value_size = record[R_KEY_SIZE], record[R_VALUE_SIZE]
            headers += record[R_HEADERS]
        if stop < 0 or offset < lowest or offset > last_delta:
            return -1, 0, 0, 0, 0, 0, 0
        position, lowest = stop, offset + 1
        latest = max(latest, wrapping_sum(base_timestamp, delta))
        keyless += key_size < 0
        key_bytes += max(key_size, 0)
        tombstones += value_size < 0
        value_bytes += max(value_size, 0)
    return position, latest, keyless, tombstones, key_bytes, value_bytes, headers


@inlined
def _walk_row(source: Bytes, table: Words, row: int, sums: Words) -> bool:
    """Read the records from T_DATA to T_DATA_END; write the number of records without a key to
    T_ACTION, and their largest timestamp in place of the checksum.

    Returns False for an invalid batch. Records of control batches are not added to the sums.
    """
    start, end = table[row, at.T_DATA], table[row, at.T_DATA_END]
    count, last_delta = table[row, at.T_COUNT], table[row, at.T_LAST_DELTA]
    base_offset = table[row, at.T_BASE_OFFSET]
    if last_delta < 0 or base_offset < 0 or base_offset > INT64_MAX - last_delta:
        return False
    if count < 0 or count > (end - start) // SMALLEST_RECORD:
        return False
    stop, latest, keyless, tombstones, key_bytes, value_bytes, headers = _walk(
        source, start, end, count, last_delta, table[row, at.T_BASE_TIMESTAMP]
    )
    if count == 0 or table[row, at.T_ATTRIBUTES] & STAMP_BIT:
        latest = table[row, at.T_MAX_TIMESTAMP]
    table[row, at.T_CRC] = latest
    table[row, at.T_ACTION] = 0
    if stop == end and table[row, at.T_ATTRIBUTES] & CONTROL_BIT == 0:
        table[row, at.T_ACTION] = keyless
        sums[V_KEYLESS] += keyless
        sums[V_TOMBSTONES] += tombstones
        sums[V_KEY_BYTES] += key_bytes
        sums[V_VALUE_BYTES] += value_bytes
        sums[V_HEADERS] += headers
    return bool(stop == end)


@kernel(INT, SOURCE, BATCH_ROWS, WORDS.of(V_WORDS))
def walk_rows(source: Bytes, table: Words, sums: Words) -> int:
    """Read the records of a run; return the first invalid row."""
    for row in range(len(table)):
        if not has_records(source, table[row]) or not _walk_row(source, table, row, sums):
            return row
    return len(table)


@kernel(INT, BATCH_ROWS, WORDS.of(V_WORDS))
def add_rows(table: Words, sums: Words) -> int:
    """Add headers to the sums; rows that a sum cannot represent are moved to the front."""
    told = 0
    for row in range(len(table)):
        attributes, size = table[row, at.T_ATTRIBUTES], table[row, at.T_SIZE]
        codec = V_CODECS + 3 * (attributes & CODEC_BITS)
        sums[codec] += 1
        sums[codec + 1] += max(table[row, at.T_COUNT], 0)
        sums[codec + 2] += size
        latest = table[row, at.T_MAX_TIMESTAMP]
        earliest = table[row, at.T_BASE_TIMESTAMP]
        if attributes & (STAMP_BIT | HORIZON_BIT):
            earliest = latest
        if earliest >= 0:
            sums[V_EARLIEST] = min(sums[V_EARLIEST], earliest)
        sums[V_LATEST] = max(sums[V_LATEST], latest)
        is_control = attributes & CONTROL_BIT != 0
        is_transactional = attributes & TRANSACTIONAL_BIT != 0
        sums[V_CONTROL] += is_control
        sums[V_TRANSACTIONAL] += is_transactional
        producer = table[row, at.T_PRODUCER_ID]
        is_told = (
            is_control or is_transactional or size > sums[V_LARGE] or producer != sums[V_PRODUCER]
        )
        sums[V_PRODUCER] = producer
        if is_told:
            for word in range(at.TABLE_WIDTH):
                table[told, word] = table[row, word]
            table[told, at.T_ACTION] = -1
            table[told, at.T_CRC] = latest
            told += 1
    return told


#: The word of each field of a `CheckedBatch`; the largest timestamp of the records is in the place
#: of the checksum. The magic has no word, and the last offset is the sum of two.
_WORDS_OF_FIELDS: Final = [
    at.T_POSITION,
    at.T_SIZE,
    at.T_ACTION,
    at.T_BASE_OFFSET,
    at.T_LAST_DELTA,
    at.T_LEADER_EPOCH,
    at.T_ATTRIBUTES,
    at.T_MAX_TIMESTAMP,
    at.T_PRODUCER_ID,
    at.T_PRODUCER_EPOCH,
    at.T_BASE_SEQUENCE,
    at.T_COUNT,
    at.T_CRC,
    at.T_ACTION,
]
_MAGIC: Final = CheckedBatch._fields.index("magic")
_BASE_OFFSET: Final = CheckedBatch._fields.index("base_offset")
_LAST_OFFSET: Final = CheckedBatch._fields.index("last_offset")

#: Checks or sums a range of rows; returns the end of the valid ones.
Take: TypeAlias = Callable[[Bytes, int, int], int]
Look: TypeAlias = Callable[[AnyBatch, BatchHeader], CheckedBatch | None]


class KernelBatchChecker:
    """A checker with kernels; keeps its table, and its room for decompressed records."""

    __slots__ = ("_columns", "_held", "_room", "_rows", "_state", "_sums", "_table")

    def __init__(self) -> None:
        self._table = HeaderTable(ROWS)
        self._state = _words(at.SCAN_WORDS)
        self._sums = _words(V_WORDS)
        self._room = Room()
        self._columns: list[list[int]] = []
        self._held = self._rows = 0

    def check(self, data: Buffer) -> CheckedBatches:
        """Check every batch; see `BatchChecker`."""
        return self._pass(bytes_view(data), self._check, check_batch)

    def survey(self, data: Buffer, survey: BatchSurvey, *, is_deep: bool = False) -> CheckedBatches:
        """Add the buffer to the sums; see `BatchChecker`."""
        sums = self._sums = _words(V_WORDS)
        sums[V_EARLIEST], sums[V_LATEST] = INT64_MAX, -1
        sums[V_LARGE], sums[V_PRODUCER] = survey.large, survey.producer_id

        def look(batch: AnyBatch, header: BatchHeader) -> CheckedBatch | None:
            survey.producer_id = int(sums[V_PRODUCER])
            told = survey_batch(batch, header, survey=survey, is_deep=is_deep)
            sums[V_PRODUCER] = survey.producer_id
            return told

        take = self._add_deep if is_deep else self._add
        swept = self._pass(bytes_view(data), take, look)
        _merge(sums, survey)
        return swept

    # -- a pass

    def _pass(self, view: memoryview, take: Take, look: Look) -> CheckedBatches:
        source, state, position = source_of(view), self._state, 0
        self._columns = [[] for _ in CheckedBatch._fields]
        self._held = 0
        state[at.S_START] = state[at.S_MIN_TIMESTAMP] = INT64_MIN
        state[at.S_LAST], state[at.S_GROUP_BYTES] = INT64_MAX, GROUP_BYTES
        fault: BadRecordsError | None = None
        try:
            while (kind := self._scan(source, position)) != IS_CUT:
                if kind in (at.PLAIN_RUN, at.PACKED_RUN):
                    position = self._take_run(view, source, take=take, look=look)
                else:
                    position = self._take_one(view, position, look)
        except _InvalidBatchError as refused:
            position, fault = refused.position, refused.fault
        self._tell()
        needed = needed_at(view, position) if fault is None else 0
        return CheckedBatches(position, self._columns, fault, needed)

    def _scan(self, source: Bytes, position: int) -> int:
        """Find the next run, after the held rows; return its kind."""
        self._state[at.S_POSITION] = position
        self._rows = scan(source, self._table.rows(self._held, ROWS), self._state)
        return int(self._state[at.S_KIND])

    def _take_run(self, view: memoryview, source: Bytes, *, take: Take, look: Look) -> int:
        """Process the run that was found; return its end."""
        end = self._held + self._rows
        sound = take(source, self._held, end)
        if sound < end:
            position = int(self._table.row(sound)[at.T_POSITION])
            _look_at(view, position, look)
            raise _InvalidBatchError(position, _disagreement(position))
        return int(self._state[at.S_POSITION])

    def _take_one(self, view: memoryview, position: int, look: Look) -> int:
        """Pass an old message, or an invalid batch, to the plain twin."""
        batch, told = _look_at(view, position, look)
        if told is not None:
            self._tell()
            for column, value in zip(self._columns, told, strict=True):
                column.append(value)
        return batch.end

    def _check(self, source: Bytes, first: int, end: int) -> int:
        right = first + first_wrong(source, self._table.rows(first, end), end - first)
        sound = self._walk(source, first, right)
        self._hold(sound)
        return sound

    def _add(self, _source: Bytes, first: int, end: int) -> int:
        if first < end:
            self._hold(first + add_rows(self._table.rows(first, end), self._sums))
        return end

    def _add_deep(self, source: Bytes, first: int, end: int) -> int:
        sound = self._walk(source, first, end)
        unpacked = sum(self._table.column(at.T_DATA_END, first, sound))
        unpacked -= sum(self._table.column(at.T_DATA, first, sound))
        self._sums[V_UNPACKED] += unpacked + (sound - first) * HEADER_SIZE
        self._add(source, first, sound)
        return sound

    def _walk(self, source: Bytes, first: int, end: int) -> int:
        """Read the records, in place or decompressed; return the first invalid row."""
        table, sums = self._table, self._sums
        if self._state[at.S_KIND] == at.PLAIN_RUN and first < end:
            return first + walk_rows(source, table.rows(first, end), sums)
        for row in range(first, end):
            unpacked = self._room.unpack_row(source, table.row(row))
            if unpacked is None or not walk_rows(unpacked, table.rows(row, row + 1), sums):
                return row
        return end

    def _hold(self, end: int) -> None:
        """Keep the rows up to `end` in the table, to be returned together."""
        self._held = end
        if self._held == len(self._table):
            self._tell()

    def _tell(self) -> None:
        """Return the held rows as columns."""
        held, self._held = self._held, 0
        found = [self._table.column(word, 0, held) for word in _WORDS_OF_FIELDS]
        found[_MAGIC] = [MAGIC] * held
        found[_LAST_OFFSET] = list(map(add, found[_BASE_OFFSET], found[_LAST_OFFSET]))
        for column, values in zip(self._columns, found, strict=True):
            column.extend(values)


def _words(count: int) -> Words:
    return cast("Words", array("q", bytes(8 * count)))


class _InvalidBatchError(Exception):
    """The batch at a position is invalid."""

    def __init__(self, position: int, fault: BadRecordsError) -> None:
        super().__init__(str(fault))
        self.position = position
        self.fault = fault


def _look_at(view: memoryview, position: int, look: Look) -> tuple[AnyBatch, CheckedBatch | None]:
    """Pass a whole batch to the plain twin."""
    try:
        batch, header = batch_at(view, position), read_header(view, position)
        assert batch is not None, "the caller passes whole batches only"
        assert header is not None, "the caller passes whole batches only"
        return batch, look(batch, header)
    except BadRecordsError as error:
        raise _InvalidBatchError(position, error) from error


def _disagreement(position: int) -> BadRecordsError:
    return InvalidRecordError(
        "the kernel rejects a batch that the plain reader accepts", position=position
    )


def _merge(sums: Words, survey: BatchSurvey) -> None:
    """Add the words to a survey."""
    words = sums.tolist()
    codecs = words[V_CODECS:]
    for codec in range(8):
        survey.batches[codec] += codecs[3 * codec]
        survey.records[codec] += codecs[3 * codec + 1]
        survey.bytes[codec] += codecs[3 * codec + 2]
    survey.magics[MAGIC] += sum(codecs[::3])
    survey.see_times(words[V_EARLIEST] if words[V_EARLIEST] < INT64_MAX else -1, words[V_LATEST])
    survey.control += words[V_CONTROL]
    survey.transactional += words[V_TRANSACTIONAL]
    survey.producer_id = words[V_PRODUCER]
    survey.keyless += words[V_KEYLESS]
    survey.tombstones += words[V_TOMBSTONES]
    survey.key_bytes += words[V_KEY_BYTES]
    survey.value_bytes += words[V_VALUE_BYTES]
    survey.headers += words[V_HEADERS]
    survey.unpacked_bytes += words[V_UNPACKED]
