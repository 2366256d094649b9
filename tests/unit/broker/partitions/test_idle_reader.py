"""Tests of readers that wait at the end of a partition over the polls of a session."""

from collections.abc import Callable

import pytest

from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.partitions.idle_reader import IdleReader
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_fetch import PartitionFetch
from cordwood.broker.partitions.session_readers import SessionReader, SessionReaders
from cordwood.storage.log.log_read import FetchIsolation
from tests.unit.broker.broker_samples import BrokerHarness
from tests.unit.storage.log_samples import batch

HIGH_WATERMARK = FetchIsolation.HIGH_WATERMARK


def append(to: Partition) -> None:
    to.append(memoryview(batch()))


def reader_at_the_end(of: Partition, readers: SessionReaders | None = None) -> IdleReader:
    start = of.readable_position(HIGH_WATERMARK)
    assert start is not None
    fetch = PartitionFetch(of, of.log.bounds.high_watermark, 1 << 20)
    return IdleReader(
        fetch, of, start, isolation=HIGH_WATERMARK, readers=readers or SessionReaders()
    )


def is_idle(reader: IdleReader, high_watermark: int = 1, log_start: int = 0) -> bool:
    return reader.is_idle(HIGH_WATERMARK, high_watermark=high_watermark, log_start=log_start)


def filled() -> Partition:
    orders = BrokerHarness().host()
    append(orders)
    return orders


def test_reader_is_idle_while_the_partition_has_the_bounds_that_were_sent() -> None:
    reader = reader_at_the_end(filled())

    assert is_idle(reader)
    assert not is_idle(reader, high_watermark=0)
    assert not is_idle(reader, log_start=1)


def test_reader_is_idle_for_its_own_isolation_alone() -> None:
    reader = reader_at_the_end(filled())

    assert not reader.is_idle(FetchIsolation.TXN_COMMITTED, high_watermark=1, log_start=0)


@pytest.mark.parametrize(
    "change",
    (
        append,
        lambda orders: orders.delete_records(-1),
        lambda orders: orders.apply(PartitionImage((1,), (1,), 1, 7)),
        lambda orders: orders.apply(PartitionImage((1, 2), (2,), 2, 7)),
        lambda orders: orders.close(),
    ),
    ids=("append", "deletion of records", "new epoch", "other leader", "deletion"),
)
def test_reader_is_not_idle_after_a_change(change: Callable[[Partition], object]) -> None:
    orders, moved = filled(), list[SessionReader]()
    reader = reader_at_the_end(orders, SessionReaders(moved.append))

    change(orders)

    assert (reader.is_waiting, is_idle(reader), moved) == (False, False, [reader])


def test_log_start_that_retention_advances_ends_the_idleness_without_a_call() -> None:
    orders, moved = filled(), list[SessionReader]()
    reader = reader_at_the_end(orders, SessionReaders(moved.append))

    orders.log.delete_records(1)

    assert (reader.is_waiting, is_idle(reader), moved) == (True, False, [])


def test_released_reader_neither_waits_nor_calls() -> None:
    orders, moved = filled(), list[SessionReader]()
    reader = reader_at_the_end(orders, SessionReaders(moved.append))

    reader.release()
    append(orders)

    assert (reader.is_waiting, moved) == (False, [])


def test_reader_without_a_fetch_in_progress_calls_nothing() -> None:
    orders = filled()
    reader = reader_at_the_end(orders)

    append(orders)

    assert not is_idle(reader, high_watermark=2)
