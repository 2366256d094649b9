"""The decoder made of kernels: rows, chunks and faults as the rules want them, views."""

from typing import cast

import pyarrow as pa
import pytest

from cordwood.core.errors import CorruptMessageError
from cordwood.core.java_text import text_as_java
from cordwood.records.batch_builder import BatchBuilder, BatchFields, empty_batch
from cordwood.records.columns import read_columns
from cordwood.records.compression import Codec
from cordwood.records.decoder import COLUMNS, AbortedTransaction, Chunking, ReadRequest, Selection
from cordwood.records.kernels.arena import ARENA_BYTES
from cordwood.records.kernels.block import BLOCK_ROWS
from cordwood.records.kernels.kernel_decoder import FILL_BYTES, GROUP_ROWS, KernelDecoder
from cordwood.records.legacy_builder import LegacyMagic
from cordwood.records.plain_decoder import PlainDecoder
from tests.unit.records import segments
from tests.unit.records.segments import chunks, legacy, marker, packed, produced, v2, values

OLD_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
MAGICS: tuple[LegacyMagic, ...] = (0, 1)
TWO_BATCHES = v2(b"a", b"b") + v2(b"c", b"d", fields=BatchFields(base_offset=2), timestamp=2000)
LENGTHS = (b"1", b"22", b"333", b"4444")
VIEWED = (b"", None, b"twelve bytes", b"thirteen byte", b"x" * 200)


def selected(data: bytes, selection: Selection) -> segments.Values:
    return values(KernelDecoder(), data, ReadRequest(selection=selection))


def committed(data: bytes, *aborted: tuple[int, int]) -> segments.Values:
    listed = tuple(AbortedTransaction(*one) for one in aborted)
    return selected(data, Selection(aborted=listed))


# -- rows


def test_decoder_yields_no_chunk_of_an_empty_buffer() -> None:
    assert list(KernelDecoder().decode(b"", ReadRequest())) == []


@pytest.mark.parametrize("codec", list(Codec))
def test_decoder_reads_every_column(codec: Codec) -> None:
    fields = BatchFields(
        base_offset=40, partition_leader_epoch=5, codec=codec, producer_id=9, producer_epoch=2,
        base_sequence=(1 << 31) - 1,
    )  # fmt: skip
    builder = BatchBuilder(fields)
    builder.append(b"k", None, timestamp=1000, headers=[("h", b"1"), ("n", None)])
    builder.append(None, b"v", timestamp=900, offset=42)

    first, second = segments.rows(KernelDecoder(), bytes(builder.build()), ReadRequest())

    headers = [{"key": "h", "value": b"1"}, {"key": "n", "value": None}]
    assert list(first) == list(COLUMNS)
    assert list(first.values()) == [40, 1000, 0, b"k", None, headers, 5, 9, 2, (1 << 31) - 1]
    assert list(second.values()) == [42, 900, 0, None, b"v", [], 5, 9, 2, 1]


@pytest.mark.parametrize("columns", (("offset",), ("headers", "value")))
@pytest.mark.parametrize(
    "key", (b"\xff\xfeabc", b"\xed\xa0\x80\xc3x", b"caf\xc3\xa9", b"ab\xe2\x82\xf0")
)
def test_decoder_reads_header_keys_that_are_not_utf8_like_its_twin(
    columns: tuple[str, ...], key: bytes
) -> None:
    builder = BatchBuilder(BatchFields())
    for number in range(3):
        builder.append(b"k", b"v%d" % number, headers=[("a", b"1"), ("hhhhh", b"2"), ("b", None)])
    data = bytes(builder.build()).replace(b"hhhhh", key)
    request = ReadRequest(columns=columns, check_crc=False, chunking=Chunking(max_bytes=130))

    found = [segments.rows(each, data, request) for each in (KernelDecoder(), PlainDecoder())]

    assert found[0] == found[1]
    assert len(found[0]) == 3
    wanted = {"key": text_as_java(key), "value": b"2"}
    assert columns == ("offset",) or wanted in cast("list[object]", found[0][0]["headers"])


def test_decoder_returns_the_requested_columns() -> None:
    request = ReadRequest(columns=("value", "offset"))

    (batch,) = read_columns(TWO_BATCHES, KernelDecoder(), request=request)

    assert batch.schema.names == ["value", "offset"]
    assert batch["offset"].to_pylist() == [0, 1, 2, 3]


@pytest.mark.parametrize("codec", OLD_CODECS)
@pytest.mark.parametrize("magic", MAGICS)
def test_decoder_reads_the_old_formats(magic: LegacyMagic, codec: Codec) -> None:
    data = legacy(magic, b"a", None, base_offset=7, codec=codec)
    columns = ("offset", "timestamp", "timestamp_type", "value", "producer_id", "sequence")

    found = segments.rows(KernelDecoder(), data, ReadRequest(columns=columns))

    times = [(1000, 0), (1001, 0)] if magic == 1 else [(-1, -1), (-1, -1)]
    assert [tuple(row.values()) for row in found] == [
        (7, *times[0], b"a", -1, -1),
        (8, *times[1], None, -1, -1),
    ]


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_decoder_returns_the_log_append_time_of_messages(codec: Codec) -> None:
    data = legacy(1, b"a", b"b", codec=codec, log_append_time_ms=5000)
    request = ReadRequest(columns=("timestamp", "timestamp_type"))

    found = segments.rows(KernelDecoder(), data, request)

    assert found == [{"timestamp": 5000, "timestamp_type": 1}] * 2


@pytest.mark.parametrize("check_crc", (True, False))
def test_decoder_reads_consecutive_wrappers(*, check_crc: bool) -> None:
    data = legacy(1, b"a", codec=Codec.LZ4) + legacy(1, b"b", base_offset=1, codec=Codec.GZIP)

    assert values(KernelDecoder(), data, ReadRequest(check_crc=check_crc)) == [b"a", b"b"]


def test_decoder_returns_the_log_append_time_of_a_batch() -> None:
    data = v2(b"a", b"b", fields=BatchFields(log_append_time_ms=5000))
    request = ReadRequest(columns=("timestamp", "timestamp_type"))

    found = segments.rows(KernelDecoder(), data, request)

    assert found == [{"timestamp": 5000, "timestamp_type": 1}] * 2


def test_decoder_keeps_the_order_of_batches_of_all_kinds() -> None:
    data = (
        legacy(0, b"0") + legacy(1, b"1", base_offset=1, codec=Codec.LZ4)
        + packed(Codec.ZSTD, 2, b"2") + v2(b"3", fields=BatchFields(base_offset=3))
        + legacy(1, b"4", base_offset=4) + packed(Codec.GZIP, 5, b"5")
    )  # fmt: skip

    assert values(KernelDecoder(), data) == [b"0", b"1", b"2", b"3", b"4", b"5"]


def test_decoder_reads_more_batches_than_a_run_has() -> None:
    data = v2(b"a") * (GROUP_ROWS + 5)

    assert len(values(KernelDecoder(), data)) == GROUP_ROWS + 5


@pytest.mark.parametrize("cut", (1, 40, 61, 70))
def test_decoder_ignores_an_incomplete_last_batch(cut: int) -> None:
    assert values(KernelDecoder(), TWO_BATCHES + v2(b"e" * 30)[:cut]) == [b"a", b"b", b"c", b"d"]


def test_decoder_returns_no_rows_of_an_empty_batch() -> None:
    empty = bytes(empty_batch(BatchFields(), last_offset=5, max_timestamp=9))

    assert values(KernelDecoder(), empty) == []


# -- chunks


@pytest.mark.parametrize("is_view", (True, False))
@pytest.mark.parametrize(
    ("chunking", "expected"),
    (
        (Chunking(max_rows=4), [[b"a", b"b", b"c", b"d"]]),
        (Chunking(max_rows=3), [[b"a", b"b"], [b"c", b"d"]]),
        (Chunking(max_bytes=3), [[b"a", b"b"], [b"c", b"d"]]),
        (Chunking(max_rows=1), [[b"a"], [b"b"], [b"c"], [b"d"]]),
    ),
)
def test_decoder_starts_a_chunk_when_a_batch_does_not_fit(
    chunking: Chunking, expected: list[segments.Values], *, is_view: bool
) -> None:
    request = ReadRequest(chunking=chunking, is_view=is_view)

    assert chunks(KernelDecoder(), TWO_BATCHES, request) == expected


@pytest.mark.parametrize("is_view", (True, False))
def test_decoder_splits_between_any_two_records(*, is_view: bool) -> None:
    few = [b"%d" % number for number in range(BLOCK_ROWS + 50)]
    request = ReadRequest(chunking=Chunking(max_rows=BLOCK_ROWS - 20), is_view=is_view)

    found = chunks(KernelDecoder(), v2(*few), request)

    assert [len(chunk) for chunk in found] == [BLOCK_ROWS - 20, 70]
    assert [value for chunk in found for value in chunk] == few


@pytest.mark.parametrize(
    "data",
    (
        v2(*LENGTHS),
        packed(Codec.SNAPPY, 0, *LENGTHS),
        legacy(0, *LENGTHS),
        legacy(1, *LENGTHS, codec=Codec.GZIP),
    ),
    ids=("plain", "packed", "messages", "wrapper"),
)
def test_decoder_splits_a_batch_larger_than_a_chunk(data: bytes) -> None:
    by_bytes, by_rows = Chunking(max_bytes=5), Chunking(max_rows=3)
    larger = Chunking(max_bytes=2)

    found = [
        chunks(KernelDecoder(), data, ReadRequest(chunking=one)) for one in (by_bytes, by_rows)
    ]

    assert found == [[[b"1", b"22"], [b"333"], [b"4444"]], [[b"1", b"22", b"333"], [b"4444"]]]
    alone = chunks(KernelDecoder(), data, ReadRequest(chunking=larger))
    assert alone == [[b"1"], [b"22"], [b"333"], [b"4444"]]


# -- selections and transactions


@pytest.mark.parametrize(
    ("selection", "expected"),
    (
        (Selection(first_offset=1, last_offset=2), [b"b", b"c"]),
        (Selection(first_offset=9), []),
        (Selection(min_timestamp=1001, max_timestamp=2000), [b"b", b"c"]),
        (Selection(min_timestamp=1500), [b"c", b"d"]),
    ),
)
def test_decoder_selects_by_offset_and_time(selection: Selection, expected: list[bytes]) -> None:
    assert selected(TWO_BATCHES, selection) == expected


@pytest.mark.parametrize("codec", OLD_CODECS)
@pytest.mark.parametrize("magic", MAGICS)
def test_decoder_selects_messages_by_offset(magic: LegacyMagic, codec: Codec) -> None:
    data = legacy(magic, b"a", b"b", b"c", b"d", base_offset=5, codec=codec)

    assert selected(data, Selection(first_offset=6, last_offset=7)) == [b"b", b"c"]


@pytest.mark.parametrize(
    "before",
    (
        v2(b"a"),
        packed(Codec.GZIP, 0, b"a"),
        legacy(1, b"a"),
        legacy(1, b"0", b"a", codec=Codec.LZ4),
    ),
    ids=("plain", "packed", "message", "wrapper"),
)
def test_decoder_skips_a_batch_before_the_selection(before: bytes) -> None:
    data = segments.broken(before) + v2(b"b", fields=BatchFields(base_offset=2), timestamp=2000)

    assert selected(data, Selection(first_offset=2)) == [b"b"]
    assert selected(data, Selection(min_timestamp=1500)) == [b"b"]


def test_decoder_drops_aborted_records_until_their_marker() -> None:
    data = (
        v2(b"nobody")
        + produced(1, 7, b"dropped", in_transaction=True)
        + produced(2, 8, b"other", in_transaction=True)
        + produced(3, 7, b"plain", in_transaction=False)
        + marker(4, 7, is_commit=False)
        + produced(5, 7, b"kept", in_transaction=True)
        + marker(6, 7, is_commit=True)
    )

    assert committed(data, (7, 1)) == [b"nobody", b"other", b"plain", b"kept"]
    assert committed(data) == [b"nobody", b"dropped", b"other", b"plain", b"kept"]


def test_decoder_keeps_a_producer_dropped_when_the_marker_commits() -> None:
    data = (
        produced(0, 7, b"a", in_transaction=True)
        + marker(1, 7, is_commit=True)
        + produced(2, 7, b"b", in_transaction=True)
    )

    assert committed(data, (7, 0)) == []


@pytest.mark.parametrize("aborted", (None, (AbortedTransaction(7, 0),)))
def test_decoder_checks_control_batches(aborted: tuple[AbortedTransaction, ...] | None) -> None:
    data = v2(b"a") + segments.broken(marker(1, 7, is_commit=True))
    request = ReadRequest(selection=Selection(aborted=aborted))

    before, error = segments.refused(KernelDecoder(), data, request)

    assert (before, error.base_offset) == ([[b"a"]], 1)


# -- what is refused


@pytest.mark.parametrize(
    "bad",
    (
        v2(b"c", b"d", fields=BatchFields(base_offset=20)),
        packed(Codec.LZ4, 20, b"c", b"d"),
        legacy(0, b"c", base_offset=20),
        legacy(1, b"c", base_offset=20, codec=Codec.GZIP),
    ),
    ids=("plain", "packed", "message", "wrapper"),
)
def test_decoder_reports_the_position_of_an_invalid_batch(bad: bytes) -> None:
    good = v2(b"a", b"b")

    before, error = segments.refused(KernelDecoder(), good + segments.broken(bad) + v2(b"e"))

    assert before == [[b"a", b"b"]]
    assert isinstance(error, CorruptMessageError)
    assert (error.position, error.base_offset) == (len(good), 20)


@pytest.mark.parametrize("codec", list(Codec))
def test_decoder_returns_all_rows_before_a_wrong_checksum(codec: Codec) -> None:
    good = [v2(b"a", fields=BatchFields(base_offset=row, codec=codec)) for row in range(3)]
    bad = segments.broken(v2(b"b", fields=BatchFields(base_offset=3, codec=codec)))

    before, error = segments.refused(KernelDecoder(), b"".join(good) + bad)

    assert (before, error.base_offset) == ([[b"a"] * 3], 3)


def test_decoder_reports_the_first_invalid_batch_when_a_later_checksum_is_wrong() -> None:
    data = packed(Codec.ZSTD, 1, b"b" * 100)
    damaged = segments.changed(data, 61, b"\0")
    wrong = segments.broken(packed(Codec.ZSTD, 2, b"c"))

    before, error = segments.refused(KernelDecoder(), v2(b"a") + damaged + wrong)

    assert (before, error.base_offset) == ([[b"a"]], 1)


@pytest.mark.parametrize("max_rows", (1, 100))
def test_decoder_returns_no_row_of_a_batch_with_an_invalid_last_record(max_rows: int) -> None:
    data = v2(b"b", b"c", fields=BatchFields(base_offset=1))
    bad = segments.changed(data, len(data) - 1, b"\x02")
    request = ReadRequest(chunking=Chunking(max_rows=max_rows))

    before, error = segments.refused(KernelDecoder(), v2(b"a") + bad, request)

    assert before == [[b"a"]]
    assert error.base_offset == 1


@pytest.mark.parametrize("at", (8, 16))
def test_decoder_rejects_an_invalid_batch(at: int) -> None:
    good = v2(b"a")
    bad = good[:at] + b"\x80" + good[at + 1 :]

    before, error = segments.refused(KernelDecoder(), good + bad)

    assert (before, error.position) == ([[b"a"]], len(good))


def test_decoder_rejects_an_unknown_codec() -> None:
    bad = segments.changed(v2(b"b", fields=BatchFields(base_offset=1)), 21, b"\0\7")

    before, error = segments.refused(KernelDecoder(), v2(b"a") + bad)

    assert (before, error.base_offset, error.found) == ([[b"a"]], 1, 7)


@pytest.mark.parametrize("data", (v2(b"a"), packed(Codec.GZIP, 0, b"a"), legacy(1, b"a")))
def test_decoder_reads_a_wrong_checksum_when_none_is_checked(data: bytes) -> None:
    at = 17 if data[16] == 2 else 12
    wrong = data[:at] + bytes(4) + data[at + 4 :]

    assert values(KernelDecoder(), wrong, ReadRequest(check_crc=False)) == [b"a"]
    assert segments.refused(KernelDecoder(), wrong)[1].position == 0


@pytest.mark.parametrize("limit", (4000, ARENA_BYTES + 4000))
@pytest.mark.parametrize("is_wrapper", (True, False))
def test_decoder_rejects_a_batch_that_decompresses_to_more_than_the_limit(
    limit: int, *, is_wrapper: bool
) -> None:
    huge = bytes(limit + 1000)
    bomb = legacy(1, huge, base_offset=1, codec=Codec.GZIP) if is_wrapper else None
    bomb = bomb or packed(Codec.GZIP, 1, huge)

    before, error = segments.refused(KernelDecoder(), v2(b"a") + bomb, ReadRequest(limit=limit))

    assert (before, error.base_offset) == ([[b"a"]], 1)
    assert str(limit) in str(error)


# -- views


@pytest.mark.parametrize("codec", list(Codec))
def test_views_hold_values_of_any_size(codec: Codec) -> None:
    data = v2(*VIEWED, fields=BatchFields(codec=codec))
    request = ReadRequest(is_view=True)

    (batch,) = read_columns(data, KernelDecoder(), request=request)

    batch.validate(full=True)
    assert batch["value"].type == pa.binary_view()
    assert batch["value"].to_pylist() == list(VIEWED)


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_views_hold_the_values_of_messages(codec: Codec) -> None:
    data = legacy(1, *VIEWED, codec=codec)

    assert values(KernelDecoder(), data, ReadRequest(is_view=True)) == list(VIEWED)


def test_views_refer_to_the_buffer() -> None:
    data = bytearray(v2(b"." * 20))
    request = ReadRequest(columns=("value",), is_view=True)
    (batch,) = read_columns(data, KernelDecoder(), request=request)

    data[-21:-1] = b"!" * 20

    assert bytes(batch["value"].buffers()[2]).count(b"!") == 20


def test_views_keep_their_bytes_when_the_arena_is_left() -> None:
    half = [bytes([letter]) * (ARENA_BYTES // 2) for letter in b"abcde"]
    data = b"".join(packed(Codec.ZSTD, offset, value) for offset, value in enumerate(half))
    request = ReadRequest(columns=("value",), is_view=True)

    held = list(read_columns(data, KernelDecoder(), request=request))

    assert [value for batch in held for value in batch["value"].to_pylist()] == half
    assert len(held) > 1


@pytest.mark.parametrize("is_view", (True, False))
def test_decoder_continues_after_the_decompressed_bytes_are_full(*, is_view: bool) -> None:
    large = [bytes([letter]) * (FILL_BYTES - 100) for letter in b"abcdef"]
    data = b"".join(packed(Codec.ZSTD, offset, value) for offset, value in enumerate(large))

    assert values(KernelDecoder(), data, ReadRequest(is_view=is_view)) == large


def test_decoder_stops_at_an_invalid_batch_after_a_chunk_filled_within_a_run() -> None:
    large = packed(Codec.ZSTD, 1, b"x" * FILL_BYTES)
    data = packed(Codec.ZSTD, 0, b"a") + segments.changed(large, 23, b"\xff") + large

    before, error = segments.refused(KernelDecoder(), data)

    assert (before, error.base_offset) == ([[b"a"]], 1)


def test_decoder_decompresses_a_batch_larger_than_the_arena() -> None:
    large = b"x" * (ARENA_BYTES + 10)
    data = packed(Codec.ZSTD, 0, b"a") + packed(Codec.ZSTD, 1, large) + packed(Codec.ZSTD, 2, b"b")

    assert values(KernelDecoder(), data) == [b"a", large, b"b"]
    assert values(KernelDecoder(), data, ReadRequest(is_view=True)) == [b"a", large, b"b"]


@pytest.mark.parametrize("is_view", (True, False))
@pytest.mark.parametrize("codec", (Codec.NONE, Codec.LZ4))
def test_held_record_batches_keep_their_rows_while_reading_continues(
    codec: Codec, *, is_view: bool
) -> None:
    data = v2(*(bytes([letter]) * 40 for letter in b"abcdefgh"), fields=BatchFields(codec=codec))
    decoder, request = KernelDecoder(), ReadRequest(chunking=Chunking(max_rows=1), is_view=is_view)
    held = list(read_columns(data, decoder, request=request))
    seen = [batch.to_pylist() for batch in held]

    values(decoder, v2(*[b"z" * 40] * 8, fields=BatchFields(codec=codec)), request)

    assert [batch.to_pylist() for batch in held] == seen
    assert [row[0]["value"] for row in seen] == [bytes([letter]) * 40 for letter in b"abcdefgh"]
