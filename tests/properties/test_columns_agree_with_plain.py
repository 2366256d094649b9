"""The kernels and the plain decoder return the same for the same bytes, valid or not.

Valid bytes are batches of every format and codec, read whole and in part, in chunks of any size.
Invalid bytes are the same with a changed byte, or with a header field near the end of 64 bits. Most
checksums are repaired, so that the change passes the first check. Then rows, error class and all
its fields are the same.
"""

import struct
from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordwood.core.binary import crc32, crc32c
from cordwood.core.errors import CordwoodError
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_stream import batches
from cordwood.records.columns import read_columns, schema
from cordwood.records.compression import Codec
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.records.decoder import (
    COLUMNS,
    AbortedTransaction,
    Chunking,
    Decoder,
    ReadRequest,
    Selection,
)
from cordwood.records.kernels.kernel_decoder import KernelDecoder
from cordwood.records.legacy_builder import LegacyBuilder
from cordwood.records.plain_decoder import PlainDecoder

BASE_TIMESTAMP_AT = 27
WIDE_FIELDS = (0, BASE_TIMESTAMP_AT, 35, 43)
WIDE_LEGACY_FIELDS = (0, 18)
NEAR_THE_END = st.integers((1 << 63) - 9, (1 << 63) - 1) | st.just(-(1 << 63))

KERNELS = KernelDecoder()
PLAIN = PlainDecoder()

CONTENT = st.none() | st.binary(max_size=40) | st.sampled_from([b"", b"x" * 13, b"y" * 300])
HEADERS = st.lists(st.tuples(st.text(max_size=5), CONTENT), max_size=3)
STAMPS = st.none() | st.integers(0, 1000)
RECORDS = st.lists(
    st.tuples(CONTENT, CONTENT, st.integers(-1, 1000), HEADERS, st.integers(1, 3)),
    min_size=1,
    max_size=6,
)


def _v2(draw: st.DrawFn, base: int) -> bytearray:
    """A v2 batch, from a producer that may be in a transaction."""
    producer = draw(st.integers(-1, 2))
    builder = BatchBuilder(
        BatchFields(
            base_offset=base,
            partition_leader_epoch=draw(st.integers(-1, 3)),
            codec=draw(st.sampled_from(list(Codec))),
            log_append_time_ms=draw(STAMPS),
            producer_id=producer,
            producer_epoch=min(producer, 0),
            base_sequence=-1 if producer < 0 else draw(st.sampled_from([0, (1 << 31) - 2])),
            is_transactional=producer >= 0 and draw(st.booleans()),
            delete_horizon_ms=draw(st.none() | st.integers(0, 5000)),
        )
    )
    offset = base
    for key, value, timestamp, headers, step in draw(RECORDS):
        builder.append(key, value, timestamp=timestamp, headers=headers, offset=offset)
        offset += step
    return builder.build(last_offset=builder.last_offset + draw(st.integers(0, 2)))


def _legacy(draw: st.DrawFn, base: int) -> bytearray:
    """Messages of v0 or v1, or a wrapper over them."""
    codec = draw(st.sampled_from([Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]))
    magic = draw(st.sampled_from([0, 1]))
    stamp = draw(STAMPS) if magic == 1 else None
    builder = LegacyBuilder(
        1 if magic else 0, base_offset=base, codec=codec, log_append_time_ms=stamp
    )
    for key, value, timestamp, _, step in draw(RECORDS):
        builder.append(
            key,
            value,
            timestamp=timestamp if magic else -1,
            offset=builder.last_offset + step,
        )
    return builder.build()


def _marker(draw: st.DrawFn, base: int) -> bytearray:
    """The end of a transaction."""
    fields = BatchFields(
        base_offset=base,
        producer_id=draw(st.integers(0, 2)),
        producer_epoch=0,
        is_transactional=True,
        is_control=True,
    )
    return control_batch(EndTransaction(draw(st.booleans()), 0), fields, timestamp=5)


KINDS: list[Callable[[st.DrawFn, int], bytearray]] = [_v2, _v2, _legacy, _marker]


@st.composite
def segments(draw: st.DrawFn) -> bytearray:
    """Batches of all kinds at rising offsets; the last one may be cut."""
    out = bytearray()
    base = draw(st.integers(0, 3))
    for kind in draw(st.lists(st.sampled_from(KINDS), max_size=6)):
        out += kind(draw, base)
        base = max(batch.last_offset for batch in batches(out)) + 1 + draw(st.integers(0, 2))
    return out[: len(out) - draw(st.sampled_from([0, 0, 0, 5]))]


@st.composite
def damaged_segments(draw: st.DrawFn) -> bytearray:
    """Segments of which some bytes have been changed, and most checksums put right again."""
    out = draw(segments())
    for _ in range(draw(st.integers(0, 3)) if out else 0):
        out[draw(st.integers(0, len(out) - 1))] = draw(st.integers(0, 255))
    for start, end, magic in places_of(out):
        fields = WIDE_FIELDS if magic == 2 else WIDE_LEGACY_FIELDS
        at = draw(st.sampled_from((None, None, None, *fields)))
        if at is not None and start + at + 8 <= end:
            struct.pack_into(">q", out, start + at, draw(NEAR_THE_END))
    wrong = draw(st.none() | st.none() | st.integers(0, 6))
    repair(out, wrong)
    return out


def places_of(out: bytearray) -> list[tuple[int, int, int]]:
    """Return start, end and magic of the batches, as far as they are valid."""
    try:
        return [(batch.position, batch.end, batch.magic) for batch in batches(out)]
    except CordwoodError:
        return []


def repair(out: bytearray, wrong: int | None = None) -> None:
    """Write the checksum that belongs to each batch's bytes, one of them perhaps left as it is."""
    for number, (start, end, magic) in enumerate(places_of(out)):
        if number == wrong:
            out[end - 1] ^= 1
            continue
        if magic == 2:
            struct.pack_into(">I", out, start + 17, crc32c(bytes(out[start + 21 : end])))
        else:
            struct.pack_into(">I", out, start + 12, crc32(bytes(out[start + 16 : end])))


SELECTIONS = st.builds(
    Selection,
    first_offset=st.sampled_from([0, 0, 3, 10, -(1 << 63), (1 << 63) - 4]),
    last_offset=st.sampled_from([(1 << 63) - 1, 20, 9, 0, (1 << 63) - 3]),
    min_timestamp=st.sampled_from([-(1 << 63), 0, 500]),
    max_timestamp=st.sampled_from([(1 << 63) - 1, 700]),
    aborted=st.none()
    | st.lists(
        st.builds(AbortedTransaction, st.integers(0, 2), st.integers(0, 20)), max_size=3
    ).map(tuple),
)

REQUESTS = st.builds(
    ReadRequest,
    columns=st.just(COLUMNS)
    | st.lists(st.sampled_from(COLUMNS), unique=True, min_size=1).map(tuple),
    selection=st.just(Selection()) | SELECTIONS,
    chunking=st.builds(
        Chunking,
        max_rows=st.sampled_from([1, 2, 3, 7, 1 << 16]),
        max_bytes=st.sampled_from([1, 20, 100, 1000, 1 << 20]),
    ),
    is_view=st.booleans(),
    is_whole=st.booleans(),
    check_crc=st.booleans(),
)

Outcome = tuple[list[pa.RecordBatch], object]


def outcome(buffer: bytes, decoder: Decoder, request: ReadRequest) -> Outcome:
    """All that reading a buffer does: the chunks, and the error with all that it names."""
    chunks: list[pa.RecordBatch] = []
    try:
        for chunk in read_columns(buffer, decoder, request=request):
            chunk.validate(full=True)
            chunks.append(chunk)
    except CordwoodError as error:
        return chunks, (type(error), error.args, vars(error))
    return chunks, None


def as_rows(table: pa.Table) -> list[dict[str, object]]:
    """The rows of a table, timestamps as numbers."""
    for number, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(number, field.name, table[number].cast(pa.int64()))
    rows: list[dict[str, object]] = table.to_pylist()
    return rows


def assert_same(buffer: bytes, request: ReadRequest) -> None:
    """Views end a chunk where their bytes end, so of views only the rows are compared.

    Timestamps are compared as numbers, since a damaged one may lie in no year that Python has.
    """
    fast, fast_error = outcome(buffer, KERNELS, request)
    plain, plain_error = outcome(buffer, PLAIN, request)
    target = schema(request.columns, is_view=request.is_view)

    assert fast_error == plain_error
    rows = [as_rows(pa.Table.from_batches(chunks, target)) for chunks in (fast, plain)]
    assert rows[0] == rows[1]
    if not request.is_view:
        assert fast == plain


@given(segment=segments(), request=REQUESTS)
def test_kernels_agree_with_plain_on_valid_batches(
    segment: bytearray, request: ReadRequest
) -> None:
    assert_same(bytes(segment), request)


@given(segment=damaged_segments(), request=REQUESTS)
def test_kernels_agree_with_plain_on_damaged_batches(
    segment: bytearray, request: ReadRequest
) -> None:
    assert_same(bytes(segment), request)


@given(junk=st.binary(max_size=200), request=REQUESTS)
def test_kernels_agree_with_plain_on_any_bytes(junk: bytes, request: ReadRequest) -> None:
    assert_same(junk, request)


@pytest.mark.parametrize("timestamp", (-(1 << 63), (1 << 63) - 1))
def test_kernels_agree_with_plain_on_timestamps_out_of_date_range(timestamp: int) -> None:
    builder = BatchBuilder()
    builder.append(None, b"v", timestamp=0)
    segment = builder.build()
    struct.pack_into(">q", segment, BASE_TIMESTAMP_AT, timestamp)
    repair(segment)

    for is_view in (False, True):
        assert_same(bytes(segment), ReadRequest(is_view=is_view))


@given(segment=segments(), is_view=st.booleans())
def test_held_chunk_keeps_its_rows_while_reading_continues(
    *, segment: bytearray, is_view: bool
) -> None:
    request = ReadRequest(chunking=Chunking(max_rows=1), is_view=is_view)
    seen = []
    held = []

    for chunk in read_columns(bytes(segment), KERNELS, request=request):
        seen.append(chunk.to_pylist())
        held.append(chunk)

    assert [chunk.to_pylist() for chunk in held] == seen
