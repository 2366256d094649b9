"""The scan over headers: which batches make a run, and why it ends."""

import pytest

from cordwood.core.binary import INT64_MAX
from cordwood.records.batch_builder import BatchFields
from cordwood.records.compression import Codec
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.header_scan import scan
from cordwood.records.kernels.kernel_definition import Words
from cordwood.records.record_batch import RecordBatch
from tests.unit.records import segments
from tests.unit.records.kernels.words import empty_table, scan_words, source_of
from tests.unit.records.segments import legacy, marker, packed, produced, v2

PLAIN = v2(b"a", b"b")
NEXT = v2(b"c", fields=BatchFields(base_offset=2), timestamp=5000)


def scanned(data: bytes, state: Words) -> tuple[int, int, int, int]:
    """Return kind, count, status and position after one scan."""
    scan(source_of(data), empty_table(), state)
    return (
        int(state[at.S_KIND]),
        int(state[at.S_COUNT]),
        int(state[at.S_STATUS]),
        int(state[at.S_POSITION]),
    )


def actions(data: bytes, state: Words) -> list[int]:
    table = empty_table()
    rows = scan(source_of(data), table, state)
    return [int(action) for action in table[:rows, at.T_ACTION]]


def test_scan_reads_each_field_of_a_header() -> None:
    data = produced(50, 9, b"a", b"b", in_transaction=True)
    table, batch = empty_table(), RecordBatch(data)

    scan(source_of(data), table, scan_words())

    assert table[0].tolist() == [
        0, 50, batch.partition_leader_epoch, batch.crc, batch.attributes, 1, 1000,
        1001, 9, 0, 0, 2, 61, len(data), at.ROWS, len(data),
    ]  # fmt: skip


def test_scan_ends_when_all_bytes_are_seen() -> None:
    data = PLAIN + NEXT

    assert scanned(data, scan_words()) == (at.PLAIN_RUN, 2, at.CUT, len(data))


@pytest.mark.parametrize("cut", (1, 16, 17, 60, 61))
def test_scan_ends_at_an_incomplete_batch(cut: int) -> None:
    data = PLAIN + NEXT[:cut]

    assert scanned(data, scan_words()) == (at.PLAIN_RUN, 1, at.CUT, len(PLAIN))


@pytest.mark.parametrize(
    ("data", "kind", "count"),
    (
        (packed(Codec.GZIP, 0, b"a") + PLAIN, at.PACKED_RUN, 1),
        (legacy(0, b"a") + legacy(1, b"b") + PLAIN, at.LEGACY_RUN, 1),
        (legacy(1, b"a", codec=Codec.GZIP) * 2, at.WRAPPER_RUN, 1),
        (PLAIN + packed(Codec.GZIP, 2, b"a"), at.PLAIN_RUN, 1),
    ),
    ids=("packed", "legacy", "wrapper", "plain"),
)
def test_scan_ends_a_run_when_another_kind_follows(data: bytes, kind: int, count: int) -> None:
    found = scanned(data, scan_words())

    assert found[:3] == (kind, count, at.MORE)
    assert found[3] < len(data)


def test_scan_continues_where_it_ended() -> None:
    data, state = PLAIN + packed(Codec.GZIP, 2, b"a"), scan_words()
    scanned(data, state)

    assert scanned(data, state) == (at.PACKED_RUN, 1, at.CUT, len(data))


def test_scan_ends_a_run_when_its_bytes_are_enough() -> None:
    found = scanned(PLAIN + NEXT, scan_words(group=len(PLAIN)))

    assert found == (at.PLAIN_RUN, 1, at.MORE, len(PLAIN))


def test_scan_ends_a_run_when_the_table_is_full() -> None:
    found = scanned(PLAIN * 9, scan_words())

    assert found == (at.PLAIN_RUN, 8, at.MORE, 8 * len(PLAIN))


def test_scan_covers_consecutive_messages_with_one_row() -> None:
    data, table = legacy(1, b"a", b"b", b"c"), empty_table()

    rows = scan(source_of(data), table, scan_words())

    assert rows == 3
    assert table[0, [at.T_DATA, at.T_DATA_END]].tolist() == [0, len(data)]
    assert int(table[0, at.T_BASE_OFFSET]) == 2


@pytest.mark.parametrize(
    "bad",
    (
        segments.changed(NEXT, 8, (13).to_bytes(4)),
        segments.changed(NEXT, 8, (48).to_bytes(4)),
        NEXT[:16] + b"\x03" + NEXT[17:],
        NEXT[:16] + b"\xff" + NEXT[17:],
    ),
    ids=("size < 14", "size < header", "magic 3", "magic -1"),
)
def test_scan_stops_before_an_invalid_batch(bad: bytes) -> None:
    assert scanned(PLAIN + bad, scan_words()) == (at.PLAIN_RUN, 1, at.MALFORMED, len(PLAIN))


def test_scan_skips_batches_before_the_selection() -> None:
    assert actions(PLAIN + NEXT, scan_words(first=2)) == [at.SKIP, at.ROWS]
    assert actions(PLAIN + NEXT, scan_words(first=1)) == [at.ROWS, at.ROWS]


def test_scan_skips_batches_that_are_too_old() -> None:
    assert actions(PLAIN + NEXT, scan_words(earliest=1002)) == [at.SKIP, at.ROWS]
    assert actions(PLAIN + NEXT, scan_words(earliest=1001)) == [at.ROWS, at.ROWS]


def test_scan_selects_no_rows_of_control_batches() -> None:
    assert actions(marker(0, 5, is_commit=True), scan_words()) == [at.CHECK]


def test_scan_reads_a_batch_when_it_ends_before_it_begins() -> None:
    assert actions(segments.changed(NEXT, 23, b"\xff" * 4), scan_words(first=5)) == [at.ROWS]


@pytest.mark.parametrize("base", (INT64_MAX, INT64_MAX - 1))
def test_scan_reads_a_batch_when_its_last_offset_has_too_many_bits(base: int) -> None:
    data = base.to_bytes(8) + v2(b"a", b"b", b"c")[8:]

    assert actions(data, scan_words(first=5)) == [at.ROWS]


@pytest.mark.parametrize(
    ("wrapper", "status"),
    (
        (legacy(0, b"a", base_offset=5, codec=Codec.GZIP), at.MORE),
        (legacy(1, b"a", codec=Codec.GZIP), at.MORE),
        (legacy(1, b"a", base_offset=5, codec=Codec.GZIP), at.FINISHED),
        (legacy(1, b"a"), at.FINISHED),
    ),
    ids=("v0 wrapper", "v1 wrapper at 0", "v1 wrapper", "message"),
)
def test_scan_continues_after_a_wrapper_without_its_last_offset(
    wrapper: bytes, status: int
) -> None:
    assert scanned(wrapper + PLAIN, scan_words(last=0))[2] == status


@pytest.mark.parametrize(("last", "count"), ((0, 1), (1, 1), (2, 2)))
def test_scan_finishes_when_the_last_offset_is_reached(last: int, count: int) -> None:
    found = scanned(PLAIN + NEXT + PLAIN, scan_words(last=last))

    assert found[1:3] == (count, at.FINISHED)


def test_scan_finishes_at_a_batch_after_the_selection() -> None:
    gap = v2(b"c", fields=BatchFields(base_offset=9))

    assert scanned(PLAIN + gap, scan_words(last=5)) == (0, 1, at.FINISHED, len(PLAIN))
