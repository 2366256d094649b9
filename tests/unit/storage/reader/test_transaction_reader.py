"""Aborted and open transactions of a directory, with and without indexes and snapshots."""

import pytest

from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.files.file_names import SNAPSHOT, TXN_INDEX
from cordwood.storage.log_config import LogConfig
from cordwood.storage.reader.partition_reader import PartitionCheckpoints
from cordwood.storage.reader.transaction_reader import TransactionLookahead, TransactionReader
from cordwood.storage.segment.abstract_index import InMemoryEntries
from cordwood.storage.segment.transaction_index import AbortedTxn, TransactionIndex
from cordwood.testing.memory_files import MemoryFiles
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
            lead(log, each, origin=AppendOrigin.COORDINATOR if is_marker else AppendOrigin.CLIENT)
    return place.files


def without(files: MemoryFiles, extension: str) -> None:
    for each in files.list(DIRECTORY):
        if each.endswith(extension):
            files.remove(f"{DIRECTORY}/{each}")


def torn_index(files: MemoryFiles) -> None:
    put(files, name(5, TXN_INDEX), got(files, name(5, TXN_INDEX))[:-1])


def wrong_index(files: MemoryFiles) -> None:
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
        wrong_index,
        foreign_index,
        lambda files: without(files, TXN_INDEX),
        no_snapshots,
        damaged_snapshots,
    )
)
def transactions(request: pytest.FixtureRequest) -> TransactionReader:
    files = written()
    request.param(files)
    return TransactionReader(reader(files))


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
def test_aborted_transactions_are_found_in_every_file(
    transactions: TransactionReader, first: int, end: int, expected: tuple[tuple[int, int, int]]
) -> None:
    found = transactions.aborted_between(first, end)

    assert tuple(each[:3] for each in found) == expected
    assert transactions.aborted_between(first, end) == found


def test_aborted_transactions_are_found_without_an_open_one_between_them() -> None:
    place, log = logged(CONFIG)
    for sequence in (0, 2):
        lead(log, transactional(sequence, 1))
        lead(log, abort(1), origin=AppendOrigin.COORDINATOR)
        log.roll()

    found = TransactionReader(reader(place.files)).aborted_between(0, log.bounds.log_end)

    assert [entry.first_offset for entry in found] == [0, 3]


def test_last_stable_offset_is_the_first_of_the_oldest_open_transaction(
    transactions: TransactionReader,
) -> None:
    assert transactions.last_stable_offset() == 10


@pytest.mark.parametrize(
    ("high_watermark", "expected"), ((18, 10), (12, 2), (9, 2), (4, 0), (2, 0))
)
def test_marker_after_the_high_watermark_decides_no_transaction(
    transactions: TransactionReader, high_watermark: int, expected: int
) -> None:
    assert transactions.last_stable_offset(high_watermark) == expected


def test_last_stable_offset_is_the_end_without_an_open_transaction() -> None:
    files = directory(log=bytes(produced(0)) + bytes(batch(1, at=1)))

    found = TransactionReader(reader(files))

    assert found.last_stable_offset() == 2
    assert found.log_end == 2
    assert found.aborted_between(0, 2) == ()


def test_last_stable_offset_is_not_below_the_log_start() -> None:
    found = TransactionReader(reader(written(), PartitionCheckpoints(log_start=11)))

    assert found.last_stable_offset() == 11
    assert found.last_stable_offset(11) == 11


@pytest.mark.parametrize("log_start", (13, 14))
def test_last_stable_offset_ignores_snapshots_up_to_the_log_start(log_start: int) -> None:
    """Kafka removes them when it opens the log; the transaction open at 10 has no data left."""
    found = TransactionReader(reader(written(), PartitionCheckpoints(log_start=log_start)))

    assert found.last_stable_offset() == 18
    assert found.last_stable_offset(12) == 12


def test_transaction_with_data_from_the_log_start_on_is_open_without_snapshots() -> None:
    files = written()
    without(files, SNAPSHOT)
    found = TransactionReader(reader(files, PartitionCheckpoints(log_start=11)))

    assert found.last_stable_offset() == 11


def test_snapshot_after_the_end_is_ignored() -> None:
    files = written()
    put(files, name(99, SNAPSHOT), got(files, name(13, SNAPSHOT)))

    assert TransactionReader(reader(files)).last_stable_offset() == 10


def test_empty_directory_has_no_transactions() -> None:
    found = TransactionReader(reader(directory()))

    assert found.aborted_between(0, 9) == ()
    assert found.last_stable_offset() == 0


def test_aborted_transactions_of_a_part_are_found_without_other_files() -> None:
    files = written()
    for extension in (TXN_INDEX, SNAPSHOT):
        without(files, extension)
    ahead = TransactionLookahead(reader(files), 10)

    ahead.read_ahead(7)

    found = ahead.aborted_between(7, 10)
    assert [(each.producer_id, each.first_offset, each.last_offset) for each in found] == [
        (2, 7, 12)
    ]


def test_completed_transaction_has_no_records_after_its_marker() -> None:
    ahead = TransactionLookahead(reader(written()), 10)

    ahead.read_ahead(0)

    assert [each.producer_id for each in ahead.aborted_between(5, 10)] == [1, 2]
    assert [each.producer_id for each in ahead.aborted_between(10, 13)] == [2]
    assert ahead.aborted_between(0, 2) == ()


def entries(*found: tuple[int, int, int, int]) -> bytes:
    index = TransactionIndex(0, InMemoryEntries(b"", 34))
    return b"".join(index.encode(AbortedTxn(*each)) for each in found)


@pytest.mark.parametrize(
    "index",
    (
        entries((2, 3, 5, 6), (1, 0, 2, 3)),
        entries((1, 0, 2, 3), (1, 0, 2, 3), (2, 3, 5, 6)),
        entries((1, 0, 2, 3), (2, 3, 5, 6), (3, 6, 8, 9)),
        entries((1, 0, 2, 3), (2, 6, 5, 6)),
    ),
    ids=("reverse order", "an entry twice", "of a committed transaction", "begin behind the end"),
)
def test_index_that_contradicts_the_log_is_not_used(index: bytes) -> None:
    place, log = logged(CONFIG)
    for producer_id in (1, 2, 3):
        lead(log, transactional(0, producer_id))
        end = commit(3) if producer_id == 3 else abort(producer_id)
        lead(log, end, origin=AppendOrigin.COORDINATOR)
    log.roll()
    lead(log, batch(2))
    put(place.files, name(0, TXN_INDEX), index)

    found = TransactionReader(reader(place.files)).aborted_between(0, 11)

    assert [each[:3] for each in found] == [(1, 0, 2), (2, 3, 5)]
