"""The plain decoder: rows, chunks, and the positions of rejected batches."""

import pytest

from cordwood.core.errors import CorruptMessageError, InvalidRecordError
from cordwood.records.batch_builder import BatchFields, empty_batch
from cordwood.records.compression import Codec
from cordwood.records.decoder import (
    COLUMNS,
    AbortedTransaction,
    BinaryColumn,
    Chunking,
    FixedColumn,
    HeadersColumn,
    ReadRequest,
    Selection,
)
from cordwood.records.legacy_builder import LegacyMagic
from cordwood.records.plain_decoder import PlainDecoder, Row, is_abort_marker, lay_out, row_cost
from cordwood.records.record import Record, TimestampType
from tests.unit.records import segments
from tests.unit.records.segments import legacy, marker, produced, v2

PLAIN = PlainDecoder()
CREATE = TimestampType.CREATE_TIME
OLD_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
MAGICS: tuple[LegacyMagic, ...] = (0, 1)
TWO_BATCHES = v2(b"a", b"b") + v2(b"c", b"d", fields=BatchFields(base_offset=2), timestamp=2000)
LENGTHS = v2(b"1", b"22", b"333", b"4444")


def selected(data: bytes, selection: Selection) -> segments.Values:
    return segments.values(PLAIN, data, ReadRequest(selection=selection))


def chunked(data: bytes, chunking: Chunking) -> list[segments.Values]:
    return segments.chunks(PLAIN, data, ReadRequest(chunking=chunking))


def committed(data: bytes, *aborted: tuple[int, int]) -> segments.Values:
    listed = tuple(AbortedTransaction(*one) for one in aborted)
    return selected(data, Selection(aborted=listed))


# -- rows


def test_plain_yields_no_chunk_of_an_empty_buffer() -> None:
    assert list(PLAIN.decode(b"", ReadRequest())) == []


@pytest.mark.parametrize("codec", list(Codec))
def test_plain_reads_batches_of_every_codec(codec: Codec) -> None:
    data = segments.packed(codec, 0, b"a" * 50, b"b") + segments.packed(codec, 2, b"c")

    assert segments.values(PLAIN, data) == [b"a" * 50, b"b", b"c"]


@pytest.mark.parametrize("cut", (1, 40, 61, 70))
def test_plain_ignores_an_incomplete_last_batch(cut: int) -> None:
    last = v2(b"c" * 30, fields=BatchFields(base_offset=2))

    assert segments.values(PLAIN, v2(b"a", b"b") + last[:cut]) == [b"a", b"b"]


def test_plain_returns_no_rows_of_an_empty_batch() -> None:
    data = bytes(empty_batch(BatchFields(), last_offset=5, max_timestamp=9)) + v2(
        b"a", fields=BatchFields(base_offset=6)
    )

    assert segments.rows(PLAIN, data, ReadRequest(columns=("offset", "value"))) == [
        {"offset": 6, "value": b"a"}
    ]


@pytest.mark.parametrize("codec", OLD_CODECS)
@pytest.mark.parametrize("magic", MAGICS)
def test_plain_reads_the_old_formats(magic: LegacyMagic, codec: Codec) -> None:
    data = legacy(magic, b"a", None, base_offset=7, codec=codec)
    columns = ("offset", "timestamp", "timestamp_type", "value", "producer_id", "sequence")

    found = segments.rows(PLAIN, data, ReadRequest(columns=columns))

    times = [(1000, 0), (1001, 0)] if magic == 1 else [(-1, -1), (-1, -1)]
    assert [tuple(row.values()) for row in found] == [
        (7, *times[0], b"a", -1, -1),
        (8, *times[1], None, -1, -1),
    ]


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_plain_returns_the_log_append_time_of_a_message(codec: Codec) -> None:
    data = legacy(1, b"a", b"b", codec=codec, log_append_time_ms=5000)

    found = segments.rows(PLAIN, data, ReadRequest(columns=("timestamp", "timestamp_type")))

    assert found == [{"timestamp": 5000, "timestamp_type": 1}] * 2


def test_plain_returns_the_log_append_time_of_a_batch() -> None:
    data = v2(b"a", b"b", fields=BatchFields(log_append_time_ms=5000))

    found = segments.rows(PLAIN, data, ReadRequest(columns=("timestamp", "timestamp_type")))

    assert found == [{"timestamp": 5000, "timestamp_type": 1}] * 2


# -- chunks


def test_plain_gathers_batches_until_the_rows_of_a_chunk_are_full() -> None:
    assert chunked(TWO_BATCHES, Chunking(max_rows=4)) == [[b"a", b"b", b"c", b"d"]]


def test_plain_begins_a_chunk_when_a_batch_has_more_rows_than_are_left() -> None:
    assert chunked(TWO_BATCHES, Chunking(max_rows=3)) == [[b"a", b"b"], [b"c", b"d"]]


def test_plain_begins_a_chunk_when_a_batch_has_more_bytes_than_are_left() -> None:
    assert chunked(TWO_BATCHES, Chunking(max_bytes=3)) == [[b"a", b"b"], [b"c", b"d"]]


def test_plain_splits_a_batch_when_it_has_more_rows_than_a_chunk() -> None:
    assert chunked(LENGTHS, Chunking(max_rows=3)) == [[b"1", b"22", b"333"], [b"4444"]]


def test_plain_splits_a_batch_when_it_has_more_bytes_than_a_chunk() -> None:
    assert chunked(LENGTHS, Chunking(max_bytes=5)) == [[b"1", b"22"], [b"333"], [b"4444"]]


def test_record_larger_than_a_chunk_has_its_own_chunk() -> None:
    data = v2(b"a", b"larger", b"b")

    assert chunked(data, Chunking(max_bytes=3)) == [[b"a"], [b"larger"], [b"b"]]


def test_row_cost_counts_only_the_requested_columns() -> None:
    record = Record(0, 0, CREATE, b"12", b"345", (("é", b"6"), ("n", None)))

    costs = [row_cost(record, (name,)) for name in ("key", "value", "headers", "offset")]

    assert costs == [2, 3, 2 * 16 + 2 + 1 + 1, 0]


def test_row_cost_is_zero_when_key_and_value_are_null() -> None:
    assert row_cost(Record(0, 0, CREATE, None, None), COLUMNS) == 0


# -- selections


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    ((1, 2, [b"b", b"c"]), (2, 9, [b"c", b"d"]), (0, 1, [b"a", b"b"]), (9, 9, [])),
)
def test_plain_selects_by_offset(first: int, last: int, expected: list[bytes]) -> None:
    found = selected(TWO_BATCHES, Selection(first_offset=first, last_offset=last))

    assert found == expected


@pytest.mark.parametrize(
    ("earliest", "latest", "expected"),
    ((1001, 2000, [b"b", b"c"]), (1500, 9999, [b"c", b"d"]), (0, 1000, [b"a"])),
)
def test_plain_selects_by_time(earliest: int, latest: int, expected: list[bytes]) -> None:
    found = selected(TWO_BATCHES, Selection(min_timestamp=earliest, max_timestamp=latest))

    assert found == expected


def test_plain_skips_a_batch_before_the_selection() -> None:
    bad = segments.broken(v2(b"a"))
    wanted = v2(b"b", fields=BatchFields(base_offset=1))

    assert selected(bad + wanted, Selection(first_offset=1)) == [b"b"]


def test_plain_skips_a_batch_after_the_selection() -> None:
    # A gap before the bad batch: the last offset that is wanted is in no batch.
    bad = segments.broken(v2(b"b", fields=BatchFields(base_offset=9)))

    assert selected(v2(b"a") + bad, Selection(last_offset=5)) == [b"a"]


def test_plain_stops_at_the_batch_that_has_the_last_offset() -> None:
    bad = segments.broken(v2(b"b"))

    assert selected(v2(b"a") + bad, Selection(last_offset=0)) == [b"a"]


@pytest.mark.parametrize("magic", MAGICS)
def test_plain_skips_a_message_before_the_selection(
    magic: LegacyMagic,
) -> None:
    data = segments.broken(legacy(magic, b"a")) + legacy(magic, b"b", base_offset=1)

    assert selected(data, Selection(first_offset=1)) == [b"b"]


def test_plain_selects_inside_a_wrapper() -> None:
    data = legacy(1, b"a", b"b", b"c", base_offset=10, codec=Codec.GZIP)

    found = selected(data, Selection(first_offset=11, max_timestamp=1001))

    assert found == [b"b"]


# -- transactions


def test_plain_drops_aborted_records_until_their_marker() -> None:
    data = (
        produced(0, 7, b"dropped", in_transaction=True)
        + marker(1, 7, is_commit=False)
        + produced(2, 7, b"kept", in_transaction=True)
        + marker(3, 7, is_commit=True)
    )

    assert committed(data, (7, 0)) == [b"kept"]


def test_plain_keeps_a_producer_dropped_when_the_marker_commits() -> None:
    data = (
        produced(0, 7, b"a", in_transaction=True)
        + marker(1, 7, is_commit=True)
        + produced(2, 7, b"b", in_transaction=True)
    )

    assert committed(data, (7, 0)) == []


def test_plain_returns_records_of_other_producers_and_without_transactions() -> None:
    data = (
        v2(b"nobody")
        + produced(1, 7, b"aborted", in_transaction=True)
        + produced(2, 8, b"other", in_transaction=True)
        + produced(3, 7, b"plain", in_transaction=False)
    )

    assert committed(data, (7, 1)) == [b"nobody", b"other", b"plain"]


def test_plain_returns_a_transaction_that_began_before_the_aborted_one() -> None:
    data = produced(0, 7, b"early", in_transaction=True) + produced(
        1, 7, b"late", in_transaction=True
    )

    assert committed(data, (7, 1)) == [b"early"]


def test_plain_returns_aborted_records_without_a_list_of_aborted_transactions() -> None:
    data = produced(0, 7, b"a", in_transaction=True) + marker(1, 7, is_commit=False)

    assert segments.values(PLAIN, data) == [b"a"]


def test_plain_returns_no_rows_of_control_batches() -> None:
    data = marker(0, 7, is_commit=True) + marker(1, 7, is_commit=False)

    assert segments.values(PLAIN, data) == []
    assert committed(data) == []


def test_plain_reads_markers_before_the_selection() -> None:
    data = marker(0, 7, is_commit=False) + produced(1, 7, b"kept", in_transaction=True)
    aborted = (AbortedTransaction(7, 0),)

    assert selected(data, Selection(first_offset=1, aborted=aborted)) == [b"kept"]


@pytest.mark.parametrize("aborted", (None, ()))
def test_plain_checks_control_batches(aborted: tuple[AbortedTransaction, ...] | None) -> None:
    data = v2(b"a") + segments.broken(marker(1, 7, is_commit=True))
    request = ReadRequest(selection=Selection(aborted=aborted))

    before, error = segments.refused(PLAIN, data, request)

    assert (before, error.base_offset) == ([[b"a"]], 1)


def test_plain_checks_aborted_batches() -> None:
    data = segments.broken(produced(0, 7, b"dropped", in_transaction=True))
    request = ReadRequest(selection=Selection(aborted=(AbortedTransaction(7, 0),)))

    before, error = segments.refused(PLAIN, data, request)

    assert (before, error.base_offset) == ([], 0)


@pytest.mark.parametrize(
    ("key", "is_abort"), ((bytes(4), True), (b"\0\0\0\1", False), (b"\0\0\0", False), (None, False))
)
def test_abort_marker_is_recognized_by_the_type_in_its_key(
    key: bytes | None, *, is_abort: bool
) -> None:
    assert is_abort_marker([Record(0, 0, CREATE, key, None)]) is is_abort
    assert not is_abort_marker([])


# -- what is refused


def test_plain_reports_the_position_of_an_invalid_batch() -> None:
    good = v2(b"a", b"b")
    bad = segments.broken(v2(b"c", fields=BatchFields(base_offset=20)))

    before, error = segments.refused(PLAIN, good + bad + v2(b"d"))

    assert before == [[b"a", b"b"]]
    assert isinstance(error, CorruptMessageError)
    assert (error.position, error.base_offset) == (len(good), 20)


def test_plain_returns_no_row_of_a_batch_with_an_invalid_last_record() -> None:
    good = v2(b"a")
    data = v2(b"b", b"c", fields=BatchFields(base_offset=1))
    bad = segments.changed(data, len(data) - 1, b"\x02")

    before, error = segments.refused(PLAIN, good + bad, ReadRequest(chunking=Chunking(max_rows=1)))

    assert before == [[b"a"]]
    assert isinstance(error, InvalidRecordError | CorruptMessageError)
    assert (error.position, error.base_offset) == (len(good), 1)


def test_plain_rejects_an_unknown_magic() -> None:
    good = v2(b"a")

    before, error = segments.refused(PLAIN, good + good[:16] + b"\x03" + good[17:])

    assert (before, error.position, error.found) == ([[b"a"]], len(good), 3)


def test_plain_reads_a_wrong_checksum_when_none_is_checked() -> None:
    data = v2(b"a")
    wrong = data[:17] + bytes(4) + data[21:]

    assert segments.values(PLAIN, wrong, ReadRequest(check_crc=False)) == [b"a"]
    assert segments.refused(PLAIN, wrong)[1].position == 0


@pytest.mark.parametrize("codec", (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD))
def test_plain_rejects_a_batch_that_decompresses_to_more_than_the_limit(codec: Codec) -> None:
    good = v2(b"a")
    bomb = segments.packed(codec, 1, bytes(5000))

    before, error = segments.refused(PLAIN, good + bomb, ReadRequest(limit=4000))

    assert before == [[b"a"]]
    assert (error.position, error.base_offset) == (len(good), 1)
    assert "4000" in str(error)


# -- layout


def test_layout_ends_bytes_where_the_next_begin() -> None:
    rows = [Row(Record(0, 0, CREATE, None, value)) for value in (b"ab", None, b"", b"c")]

    chunk = lay_out(rows, ReadRequest(columns=("value",)))

    column = chunk.columns["value"]
    assert isinstance(column, BinaryColumn)
    assert (chunk.rows, column.nulls) == (4, 1)
    assert column.starts.tolist() == [0, 2, 2, 2, 3]
    assert (column.data.tobytes(), column.bits.tolist()) == (b"abc", [0b1101])


def test_layout_counts_the_headers_of_each_row() -> None:
    headers = (("a", b"1"), ("bc", None))
    rows = [Row(Record(0, 0, CREATE, None, None, kept)) for kept in (headers, (), headers[:1])]

    column = lay_out(rows, ReadRequest(columns=("headers",))).columns["headers"]

    assert isinstance(column, HeadersColumn)
    assert (column.starts.tolist(), column.pairs) == ([0, 2, 2, 3], 3)
    assert (column.keys.data.tobytes(), column.keys.starts.tolist()) == (b"abca", [0, 1, 3, 4])
    assert (column.values.data.tobytes(), column.values.nulls) == (b"11", 1)


@pytest.mark.parametrize(
    ("name", "number", "kind"),
    (
        ("offset", 70, "int64"),
        ("timestamp", 80, "int64"),
        ("timestamp_type", 0, "int8"),
        ("partition_leader_epoch", 3, "int32"),
        ("producer_id", 4, "int64"),
        ("producer_epoch", 5, "int16"),
        ("sequence", 9, "int32"),
    ),
)
def test_layout_keeps_numbers_in_the_size_of_their_column(
    name: str, number: int, kind: str
) -> None:
    row = Row(Record(70, 80, CREATE, None, None, sequence=9), 3, 4, 5)

    column = lay_out([row], ReadRequest(columns=(name,))).columns[name]

    assert isinstance(column, FixedColumn)
    assert (column.numbers.tolist(), column.numbers.dtype.name) == ([number], kind)
