"""Aborted and open transactions of a directory, with and without the files that tell of them."""

import pytest

from cordwood.storage.log_config import LogConfig
from cordwood.storage.names import SNAPSHOT, TXN_INDEX
from cordwood.storage.origin import Origin
from cordwood.storage.reader_transactions import ReaderTransactions, TransactionsAhead
from cordwood.testing.files import MemoryFiles
from tests.unit.storage.log_samples import DIRECTORY, batch, lead, marker, produced
from tests.unit.storage.reader_samples import directory, got, harm, logged, name, put, reader

CONFIG = LogConfig(segment_bytes=1 << 20, segment_index_bytes=1200, index_interval_bytes=0)


def transactional(sequence: int, producer_id: int) -> bytearray:
    return produced(sequence, 2, producer=(producer_id, 0), is_transactional=True)


def abort(producer_id: int) -> bytearray:
    return marker(producer=(producer_id, 0))


def commit(producer_id: int) -> bytearray:
    return marker(producer=(producer_id, 0), is_commit=True)


def written() -> MemoryFiles:
    """Return files of a log of four segments.

    0  1 begins at 0, 2 at 2; 1 commits at 4       | 1 aborted at 9 began at 5
    5  1 begins at 5, 2 at 7; 1 aborts at 9        | 2 aborted at 12 began at 2
    10 1 begins at 10, 2 aborts at 12              | 1 is open from 10 on
    13 3 begins at 13, and commits; plain ones     | at the end, 18
    """
    place, log = logged(CONFIG)
    sets = (
        (transactional(0, 1), transactional(0, 2), commit(1)),
        (transactional(2, 1), transactional(2, 2), abort(1)),
        (transactional(4, 1), abort(2)),
        (transactional(0, 3), commit(3), batch(2)),
    )
    for number, batches in enumerate(sets):
        if number:
            log.roll()
        for each in batches:
            is_marker = each in (abort(1), abort(2), commit(1), commit(3))
            lead(log, each, origin=Origin.COORDINATOR if is_marker else Origin.CLIENT)
    return place.files


def without(files: MemoryFiles, extension: str) -> None:
    for each in files.list(DIRECTORY):
        if each.endswith(extension):
            files.remove(f"{DIRECTORY}/{each}")


def torn_index(files: MemoryFiles) -> None:
    put(files, name(5, TXN_INDEX), got(files, name(5, TXN_INDEX))[:-1])


def lying_index(files: MemoryFiles) -> None:
    harm(files, name(5, TXN_INDEX), 9, b"\x05")


def foreign_index(files: MemoryFiles) -> None:
    put(files, name(5, TXN_INDEX), got(files, name(10, TXN_INDEX)))


def no_snapshots(files: MemoryFiles) -> None:
    without(files, SNAPSHOT)
    without(files, TXN_INDEX)


def damaged_snapshots(files: MemoryFiles) -> None:
    for base_offset in (5, 10, 13):
        harm(files, name(base_offset, SNAPSHOT), 3)
    without(files, TXN_INDEX)


@pytest.fixture(
    params=(
        lambda _: None,
        torn_index,
        lying_index,
        foreign_index,
        lambda files: without(files, TXN_INDEX),
        no_snapshots,
        damaged_snapshots,
    )
)
def transactions(request: pytest.FixtureRequest) -> ReaderTransactions:
    files = written()
    request.param(files)
    return ReaderTransactions(reader(files))


@pytest.mark.parametrize(
    ("first", "end", "expected"),
    (
        (0, 2, ()),
        (0, 5, ((2, 2, 12),)),
        (0, 18, ((1, 5, 9), (2, 2, 12))),
        (9, 10, ((1, 5, 9), (2, 2, 12))),
        (10, 13, ((2, 2, 12),)),
        (13, 18, ()),
    ),
)
def test_aborted_transactions_are_found_whatever_tells_of_them(
    transactions: ReaderTransactions, first: int, end: int, expected: tuple[tuple[int, int, int]]
) -> None:
    found = transactions.aborted_between(first, end)

    assert tuple(each[:3] for each in found) == expected
    assert transactions.aborted_between(first, end) == found


def test_aborted_transactions_are_found_when_nothing_is_open_between_them() -> None:
    place, log = logged(CONFIG)
    for sequence in (0, 2):
        lead(log, transactional(sequence, 1))
        lead(log, abort(1), origin=Origin.COORDINATOR)
        log.roll()

    found = ReaderTransactions(reader(place.files)).aborted_between(0, log.bounds.log_end)

    assert [entry.first_offset for entry in found] == [0, 3]


def test_last_stable_offset_is_where_the_oldest_open_transaction_begins(
    transactions: ReaderTransactions,
) -> None:
    assert transactions.last_stable_offset() == 10


def test_last_stable_offset_is_the_end_when_nothing_is_open() -> None:
    files = directory(log=bytes(produced(0)) + bytes(batch(1, at=1)))

    found = ReaderTransactions(reader(files))

    assert (found.last_stable_offset(), found.log_end) == (2, 2)
    assert found.aborted_between(0, 2) == ()


def test_snapshot_behind_the_end_is_not_looked_at() -> None:
    files = written()
    put(files, name(99, SNAPSHOT), got(files, name(13, SNAPSHOT)))

    assert ReaderTransactions(reader(files)).last_stable_offset() == 10


def test_empty_directory_has_no_transactions() -> None:
    found = ReaderTransactions(reader(directory()))

    assert (found.aborted_between(0, 9), found.last_stable_offset()) == ((), 0)


def test_aborted_transactions_of_a_part_are_found_without_any_files_beside() -> None:
    files = written()
    for extension in (TXN_INDEX, SNAPSHOT):
        without(files, extension)
    ahead = TransactionsAhead(reader(files), 10)

    ahead.look(7)

    found = ahead.aborted_between(7, 10)
    assert [(each.producer_id, each.first_offset, each.last_offset) for each in found] == [
        (2, 7, 12)
    ]


def test_transaction_that_is_over_before_an_offset_has_nothing_behind_it() -> None:
    ahead = TransactionsAhead(reader(written()), 10)

    ahead.look(0)

    assert [each.producer_id for each in ahead.aborted_between(5, 10)] == [1, 2]
    assert [each.producer_id for each in ahead.aborted_between(10, 13)] == [2]
    assert ahead.aborted_between(0, 2) == ()
