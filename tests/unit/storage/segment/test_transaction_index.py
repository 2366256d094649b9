"""Transaction indexes find, reject and truncate entries as Kafka's do."""

from struct import pack

import pytest

from cordwood.core.errors import DamagedFileError
from cordwood.storage.segment.abstract_index import (
    IndexOrderError,
    InMemoryEntries,
)
from cordwood.storage.segment.transaction_index import (
    ABORTED_TXN_SIZE,
    AbortedTxn,
    TransactionIndex,
)

PATH = "/t-0/00000000000000000045.txnindex"
ABORTED = ((0, 0, 10, 11), (1, 5, 15, 13), (2, 18, 35, 25), (3, 32, 50, 40))


def transaction_index(*entries: tuple[int, int, int, int], base: int = 0) -> TransactionIndex:
    data = b"".join(pack(">hqqqq", 0, *entry) for entry in entries)
    return TransactionIndex(base, InMemoryEntries(data, ABORTED_TXN_SIZE, path=PATH))


def test_aborted_entry_has_the_bytes_that_kafka_writes() -> None:
    data = transaction_index().encode(AbortedTxn(7, 42, 43, 44))

    assert data.hex() == ("00000000000000000007000000000000002a000000000000002b000000000000002c")


@pytest.mark.parametrize(
    ("first", "end", "found", "is_complete"),
    (
        (0, 100, (0, 1, 2, 3), False),
        (0, 32, (0, 1, 2), True),
        (0, 35, (0, 1, 2, 3), True),
        (10, 35, (0, 1, 2, 3), True),
        (11, 35, (1, 2, 3), True),
        (20, 41, (2, 3), False),
        (51, 60, (), False),
    ),
)
def test_aborted_transactions_are_collected_for_a_range(
    first: int, end: int, *, found: tuple[int, ...], is_complete: bool
) -> None:
    collected = transaction_index(*ABORTED).collect(first, end)

    assert tuple(entry.producer_id for entry in collected.aborted) == found
    assert collected.is_complete is is_complete


def test_aborted_transactions_are_read_over_many_blocks() -> None:
    index = transaction_index(*((number, number, number, number) for number in range(500)))

    assert [entry.producer_id for entry in index.read(130)] == list(range(130, 500))
    assert index.last == AbortedTxn(499, 499, 499, 499)


@pytest.mark.parametrize(("offset", "kept"), ((51, 4), (50, 3), (0, 0)))
def test_aborted_transactions_are_truncated_before_a_marker(offset: int, kept: int) -> None:
    assert transaction_index(*ABORTED).count_below(offset) == kept


@pytest.mark.parametrize("marker", (50, 49))
def test_aborted_transactions_reject_a_marker_that_does_not_follow(marker: int) -> None:
    with pytest.raises(IndexOrderError, match=f"marker {marker} cannot follow 50"):
        transaction_index(*ABORTED).encode(AbortedTxn(9, 40, marker, 60))


def test_aborted_transactions_find_markers_of_another_segment() -> None:
    transaction_index(*ABORTED).sanity_check()

    with pytest.raises(DamagedFileError, match=r"position 0, expected offset 100 or above"):
        transaction_index(*ABORTED, base=100).sanity_check()


def test_aborted_transactions_find_partial_entries_and_unknown_versions() -> None:
    entry = pack(">hqqqq", 0, 1, 2, 3, 4)
    torn = TransactionIndex(0, InMemoryEntries(entry + bytes(5), ABORTED_TXN_SIZE))
    newer = TransactionIndex(0, InMemoryEntries(entry + b"\x01" + entry[1:], ABORTED_TXN_SIZE))

    with pytest.raises(DamagedFileError, match=r"a partial entry at the end .position 34"):
        torn.sanity_check()
    with pytest.raises(DamagedFileError, match=r".position 34, expected 0, found 1"):
        list(newer.read())


def test_order_of_entries_that_brokers_write_is_accepted() -> None:
    transaction_index(*ABORTED).check_order()
    # Markers without data have entries in the indexes of old brokers.
    transaction_index((1, 0, 5, 6), (1, 6, 7, 2), (1, 8, 8, 9)).check_order()


@pytest.mark.parametrize(
    ("field", "entries"),
    (
        ("last offset", ((1, 5, 15, 13), (0, 0, 10, 11))),
        ("last offset", ((0, 0, 10, 11), (1, 0, 10, 11))),
        ("producer id", ((-1, 0, 10, 11),)),
        ("first offset", ((0, 0, 10, 11), (0, 10, 15, 16))),
        ("first offset", ((0, 11, 10, 11),)),
        ("first offset", ((0, -1, 10, 11),)),
        ("last stable offset", ((0, 0, 10, 12),)),
        ("last stable offset", ((0, 0, 10, -1),)),
    ),
)
def test_impossible_entries_are_found(
    field: str, entries: tuple[tuple[int, int, int, int], ...]
) -> None:
    position = (len(entries) - 1) * ABORTED_TXN_SIZE

    with pytest.raises(DamagedFileError, match=rf"impossible {field} .position {position},"):
        transaction_index(*entries).check_order()
