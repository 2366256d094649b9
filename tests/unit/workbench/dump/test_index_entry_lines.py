"""Entries are read, searched and printed as by Kafka's dump tool."""

import struct

import pytest

from cordwood.core.binary import INT32_MAX, crc32c
from cordwood.core.errors import DamagedFileError
from cordwood.workbench.dump.index_entry_lines import (
    ABORTED_ENTRY,
    OFFSET_ENTRY,
    TIME_ENTRY,
    DumpedEntries,
    DumpedProducer,
    SnapshotError,
    aborted_entries,
    aborted_line,
    ensure_sane_index,
    ensure_sane_time_index,
    first_sequence,
    index_entry,
    index_line,
    lookup_position,
    producer_entries,
    producer_line,
    time_entry,
    time_line,
    used_entries,
)
from tests.unit.workbench.dump_samples import window_of

PRODUCER = DumpedProducer(7, 1, 5, 42, 0, 1000, -1, -1)


def entries_of(layout: struct.Struct, *rows: tuple[int, ...], tail: bytes = b"") -> DumpedEntries:
    data = b"".join(layout.pack(*row) for row in rows) + tail
    return DumpedEntries("/logs/100.index", window_of(data), layout, base_offset=100)


def snapshot(*rows: DumpedProducer) -> bytes:
    body = struct.pack(">i", len(rows)) + b"".join(struct.pack(">qhiqiqiq", *row) for row in rows)
    return struct.pack(">hI", 1, crc32c(body)) + body


def test_entries_are_spelled_with_whole_offsets() -> None:
    index = entries_of(OFFSET_ENTRY, (3, 70))
    times = entries_of(TIME_ENTRY, (1000, 3))

    assert index_line(index_entry(index, 0)) == "offset: 103 position: 70\n"
    assert time_line(time_entry(times, 0)) == "timestamp: 1000 offset: 103\n"


def test_entries_end_at_the_first_zero_but_the_very_first() -> None:
    index = entries_of(OFFSET_ENTRY, (0, 0), (3, 70), (0, 0), (9, 9))

    assert [entry.offset for entry in used_entries(index, index_entry)] == [100, 103]


@pytest.mark.parametrize(
    ("offset", "position"), ((50, 0), (100, 0), (103, 30), (104, 30), (105, 50), (999, 90))
)
def test_lookup_finds_the_largest_offset_up_to_the_target(offset: int, position: int) -> None:
    index = entries_of(OFFSET_ENTRY, (1, 10), (3, 30), (5, 50), (7, 70), (9, 90))

    assert lookup_position(index, offset) == position


def test_lookup_in_an_empty_index_begins_at_the_start() -> None:
    assert lookup_position(entries_of(OFFSET_ENTRY), 105) == 0


def test_lookup_counts_zeros_as_entries() -> None:
    zeros = [(0, 0)] * 2000

    assert lookup_position(entries_of(OFFSET_ENTRY, (1, 10), (3, 30), *zeros), 103) == 0


def test_lookup_before_the_warm_entries_finds_the_same() -> None:
    index = entries_of(OFFSET_ENTRY, *((at, at * 10) for at in range(3000)))

    assert [lookup_position(index, 100 + at) for at in (7, 1900, 2999)] == [70, 19000, 29990]


def test_valid_indexes_are_sane() -> None:
    ensure_sane_index(entries_of(OFFSET_ENTRY, (3, 70)))
    ensure_sane_time_index(entries_of(TIME_ENTRY, (1000, 3), (1000, 4)))
    ensure_sane_time_index(entries_of(TIME_ENTRY))


@pytest.mark.parametrize(
    ("rows", "tail", "words"),
    (
        (((3, 70), (-1, 80)), b"", "last offset is below"),
        (((3, 70),), b"x", "within an entry"),
    ),
)
def test_index_that_decreases_or_ends_early_fails_the_sanity_check(
    rows: tuple[tuple[int, int], ...], tail: bytes, words: str
) -> None:
    with pytest.raises(DamagedFileError, match=words):
        ensure_sane_index(entries_of(OFFSET_ENTRY, *rows, tail=tail))


@pytest.mark.parametrize(
    ("rows", "tail", "words"),
    (
        (((9, 3), (8, 4)), b"", "last timestamp is below"),
        (((9, 3), (9, -4)), b"", "last offset is below"),
        ((), b"x", "within an entry"),
    ),
)
def test_time_index_that_decreases_or_ends_early_fails_the_sanity_check(
    rows: tuple[tuple[int, int], ...], tail: bytes, words: str
) -> None:
    with pytest.raises(DamagedFileError, match=words):
        ensure_sane_time_index(entries_of(TIME_ENTRY, *rows, tail=tail))


def test_aborted_transaction_is_spelled() -> None:
    (entry,) = aborted_entries(entries_of(ABORTED_ENTRY, (0, 1, 0, 29, 8)))

    assert aborted_line(entry) == (
        "version: 0 producerId: 1 firstOffset: 0 lastOffset: 29 lastStableOffset: 8\n"
    )


def test_unknown_version_hides_all_aborted_transactions() -> None:
    index = entries_of(ABORTED_ENTRY, (0, 1, 0, 29, 8), (1, 1, 0, 29, 8))

    with pytest.raises(DamagedFileError, match="unknown version"):
        next(aborted_entries(index))


def test_producer_is_spelled_with_its_last_batch() -> None:
    (entry,) = producer_entries(snapshot(PRODUCER))

    assert producer_line(entry) == (
        "producerId: 7 producerEpoch: 1 coordinatorEpoch: -1"
        " currentTxnFirstOffset: OptionalLong.empty lastTimestamp: 1000 firstSequence: 5"
        " lastSequence: 5 lastOffset: 42 offsetDelta: 0 timestamp: 1000\n"
    )


def test_producer_without_a_batch_has_a_short_line() -> None:
    entry = PRODUCER._replace(last_offset=-1, transaction_first_offset=40)

    assert producer_line(entry).endswith(
        " currentTxnFirstOffset: OptionalLong[40] lastTimestamp: 1000\n"
    )


def test_first_sequence_may_be_before_the_wrap() -> None:
    assert first_sequence(PRODUCER._replace(last_sequence=1, offset_delta=3)) == INT32_MAX - 1


@pytest.mark.parametrize(
    ("data", "words"),
    (
        (b"\0", "schema validation: null"),
        (b"\0\1\0", "schema validation: null"),
        (b"\0\2", "unknown file version 2"),
        (snapshot(PRODUCER)[:-1], "schema validation: null"),
        (snapshot()[:6] + b"\xff" * 4, "serialized as null"),
        (snapshot()[:6] + b"\0\0\0\7", "a collection of size 7, but there are only 0 bytes"),
        (snapshot(PRODUCER)[:-1] + b"\0", "Stored crc: "),
    ),
)
def test_invalid_snapshot_is_rejected_with_kafkas_text(data: bytes, words: str) -> None:
    with pytest.raises(SnapshotError, match=words):
        producer_entries(data)
