"""Lines of Kafka's dump tool for the records of a v2 batch; the plain twin of
`kernels.record_lines`.

    | offset: 10 CreateTime: 1000 keySize: 2 valueSize: -1 sequence: 0 headerKeys: [a,b]
    | offset: 11 CreateTime: 1000 keySize: 1 valueSize: 1 ... headerKeys: [] key: k payload: v

A null has size -1, and no `key:` or `payload:` field. Without the metadata a line begins with the
first of the two that exists, after a bar if that is the key, and may be empty.

Records are read as leniently as Kafka's dump reads them: offsets may be in any order, and invalid
UTF-8 is printed as Java prints it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Protocol, TypeVar

from cordwood.core.binary import INT32_MAX, Buffer, read_varint, read_varlong
from cordwood.core.errors import BadRecordsError, BytesError
from cordwood.core.java_text import utf8_as_java
from cordwood.records.compression import DEFAULT_LIMIT, Codec
from cordwood.records.decoder import Selection
from cordwood.records.record import TimestampType
from cordwood.records.record_batch import MAGIC, RecordBatch
from cordwood.records.v2_record import read_nullable, wrap_int64

#: The label of a timestamp.
LABELS: Final = {
    TimestampType.NO_TIMESTAMP: b"NoTimestampType",
    TimestampType.CREATE_TIME: b"CreateTime",
    TimestampType.LOG_APPEND_TIME: b"LogAppendTime",
}

#: Before the first record; Kafka begins with -1, which counts as an offset.
NOTHING: Final = -2


class RecordTexts(Protocol):
    """A decoder of whole records."""

    def __call__(
        self, offset: int, *, key: bytes | None, value: bytes | None
    ) -> tuple[bytes | None, bytes | None]:
        """Return the texts of key and value, None for one that is not printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineStyle:
    """The content of a line, and the selected records; keys and values have decoders to text."""

    has_metadata: bool = True
    has_data: bool = False
    key_text: Callable[[bytes], bytes] = utf8_as_java
    value_text: Callable[[bytes], bytes] = utf8_as_java
    #: Replaces both decoders, for topics whose values depend on their keys.
    record_texts: RecordTexts | None = None
    selection: Selection | None = None
    limit: int = DEFAULT_LIMIT


class RecordLines(NamedTuple):
    """The lines of a batch up to its first invalid record, whose fault is `error`.

    `gaps` holds the offsets before and after each place where they are not consecutive.
    """

    text: bytes
    last_offset: int
    gaps: Sequence[tuple[int, int]] = ()
    error: BadRecordsError | None = None


class LineWriter(Protocol):
    """A writer of lines; not thread-safe."""

    def write(self, batch: RecordBatch, style: LineStyle, *, previous: int) -> RecordLines:
        """Return the lines of a data batch.

        `previous` is the offset of the record before it, or NOTHING.
        """


class LikeRecord(Protocol):
    """The source of a line, for any format; access may raise `BadRecordsError`."""

    @property
    def offset(self) -> int:
        """Return the offset as far as it is known."""

    @property
    def timestamp(self) -> int:
        """Return the time in milliseconds."""

    @property
    def key(self) -> bytes | None:
        """Return the key, None for null."""

    @property
    def value(self) -> bytes | None:
        """Return the value, None for null."""


Dumped = TypeVar("Dumped", bound=LikeRecord)


class RawRecord(NamedTuple):
    """A record as stored, with the fields of its batch."""

    offset: int
    timestamp: int
    sequence: int
    key: bytes | None
    value: bytes | None
    header_keys: tuple[bytes, ...]


class Line(NamedTuple):
    """A record's line, without its newline, and the fields that select it.

    With an error the line is truncated there, and is the last one.
    """

    offset: int
    timestamp: int
    text: bytes
    error: BadRecordsError | None = None


class PlainLineWriter:
    """A line writer that works record by record."""

    __slots__ = ()

    def write(self, batch: RecordBatch, style: LineStyle, *, previous: int) -> RecordLines:
        """Return the lines of a batch; see `LineWriter`."""
        records = raw_records(batch, limit=style.limit)
        label = LABELS[batch.timestamp_type]
        lines = lines_of(records, style, metadata=lambda record: metadata_of(record, label))
        return gather(lines, style, previous=previous)


def lines_of(
    records: Iterable[Dumped], style: LineStyle, *, metadata: Callable[[Dumped], bytes]
) -> Iterator[Line]:
    """Yield the lines of records, up to the first one whose data cannot be decoded."""
    for record in records:
        text = metadata(record) if style.has_metadata else b""
        try:
            text += _data_of(record, style) if style.has_data else b""
        except BadRecordsError as error:
            yield Line(record.offset, record.timestamp, text, error)
            return
        yield Line(record.offset, record.timestamp, text)


def gather(lines: Iterator[Line], style: LineStyle, *, previous: int) -> RecordLines:
    """Join the selected lines, up to a fault."""
    texts: list[bytes] = []
    gaps: list[tuple[int, int]] = []
    error = None
    has = None if style.selection is None else style.selection.has
    try:
        for offset, timestamp, text, cut in lines:
            if has is not None and not has(offset, timestamp):
                continue
            if previous not in (offset - 1, NOTHING):
                gaps.append((previous, offset))
            previous = offset
            texts += (text, b"\n") if cut is None else (text,)
            error = cut or error
    except BadRecordsError as caught:
        error = caught
    return RecordLines(b"".join(texts), previous, gaps, error)


def metadata_of(record: RawRecord, label: bytes) -> bytes:
    """Return a line up to its data."""
    names = b",".join(utf8_as_java(name) for name in record.header_keys)
    return b"| offset: %d %s: %d keySize: %d valueSize: %d sequence: %d headerKeys: [%s]" % (
        record.offset,
        label,
        record.timestamp,
        size_of(record.key),
        size_of(record.value),
        record.sequence,
        names,
    )


def data_of(key: bytes | None, value: bytes | None, *, style: LineStyle) -> bytes:
    """Return the data of a line."""
    text = b""
    if key is not None:
        text = (b" key: " if style.has_metadata else b"| key: ") + style.key_text(key)
    if value is not None:
        is_first = key is None and not style.has_metadata
        text += (b"| payload: " if is_first else b" payload: ") + style.value_text(value)
    return text


def _data_of(record: LikeRecord, style: LineStyle) -> bytes:
    if style.record_texts is None:
        return data_of(record.key, record.value, style=style)
    key, value = style.record_texts(record.offset, key=record.key, value=record.value)
    as_is = replace(style, key_text=bytes, value_text=bytes)
    return data_of(key, value, style=as_is)


def size_of(data: Buffer | None) -> int:
    """Return a length, -1 for null."""
    return -1 if data is None else len(data)


def raw_records(batch: RecordBatch, *, limit: int = DEFAULT_LIMIT) -> Iterator[RawRecord]:
    """Yield the records of a batch, up to a fault; a compressed batch is decompressed first."""
    count = batch.count
    if count == 0:
        return
    if count < 0:
        raise batch.place.invalid(
            "a record count that cannot be right", expected="at least 0", found=count
        )
    if batch.codec is Codec.NONE:
        yield from _read_all(batch, batch.payload, count)
        return
    data = batch.place.decompress(batch.codec, batch.payload, magic=MAGIC, limit=limit)
    yield from list(_read_all(batch, data, count))


def _read_all(batch: RecordBatch, data: Buffer, count: int) -> Iterator[RawRecord]:
    at = 0
    stamp = batch.max_timestamp if batch.timestamp_type is TimestampType.LOG_APPEND_TIME else None
    for index in range(count):
        try:
            record, at = _read(batch, data, at, stamp)
        except BytesError as error:
            raise batch.place.invalid(
                f"record {index}, byte {error.position} of the records: {error.what}",
                expected=error.expected,
                found=error.found,
            ) from error
        if index == count - 1 and at != len(data):
            raise batch.place.invalid(
                f"bytes remain after {count} records", expected=at, found=len(data)
            )
        yield record


def _read(
    batch: RecordBatch, data: Buffer, position: int, stamp: int | None
) -> tuple[RawRecord, int]:
    """Read one record, and return the position of the next one."""
    length, start = read_varint(data, position, len(data))
    if not 0 < length <= len(data) - start:
        raise BytesError(
            "a record length that cannot be right",
            position=position,
            expected=f"1 to {len(data) - start}",
            found=length,
        )
    stop = start + length
    timestamp_delta, at = read_varlong(data, start + 1, stop)
    offset_delta, at = read_varint(data, at, stop)
    key, at = read_nullable(data, at, stop)
    value, at = read_nullable(data, at, stop)
    header_keys, at = _read_header_keys(data, at, stop)
    if at != stop:
        raise BytesError(
            "a record longer than its fields", position=at, expected=at - start, found=length
        )
    timestamp = wrap_int64(batch.base_timestamp + timestamp_delta) if stamp is None else stamp
    sequence = sequence_of(batch.base_sequence, offset_delta)
    offset = wrap_int64(batch.base_offset + offset_delta)
    return RawRecord(offset, timestamp, sequence, key, value, header_keys), stop


def sequence_of(base: int, delta: int) -> int:
    """Return the sequence of a record, -1 without one in the batch."""
    return -1 if base < 0 else java_increment(base, delta)


def java_increment(sequence: int, increment: int) -> int:
    """Return a sequence `increment` steps later, in Java's 32-bit arithmetic."""
    if sequence > _wrap_int32(INT32_MAX - increment):
        return _wrap_int32(increment - (INT32_MAX - sequence) - 1)
    return _wrap_int32(sequence + increment)


def _wrap_int32(number: int) -> int:
    return ((number + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def _read_header_keys(data: Buffer, position: int, end: int) -> tuple[tuple[bytes, ...], int]:
    count, at = read_varint(data, position, end)
    if not 0 <= count <= end - at:
        raise BytesError(
            "a header count that cannot be right",
            position=position,
            expected=f"0 to {end - at}",
            found=count,
        )
    keys = []
    for _ in range(count):
        key, value_at = read_nullable(data, at, end)
        if key is None:
            raise BytesError("a null header key", position=at, expected="a key", found="null")
        keys.append(key)
        _, at = read_nullable(data, value_at, end)
    return tuple(keys), at
