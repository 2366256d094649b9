"""Tests of fetches that wait for a place in a log."""

from functools import partial

from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_leader import AppendRequest
from cordwood.records.control_records import EndTransaction
from cordwood.storage.log.log_append import AppendContext
from cordwood.storage.log.log_read import FetchIsolation, LogPosition
from tests.unit.broker.broker_samples import BrokerHarness
from tests.unit.storage.log_samples import NOW, batch, produced


def append(to: Partition, records: bytearray) -> None:
    to.append(memoryview(records))


def append_in_transaction(to: Partition) -> None:
    guard = to.log.producers.start_verification(1, sequence=0, epoch=0, now_ms=NOW)
    records = memoryview(produced(0, is_transactional=True))
    to.append(records, AppendRequest(context=AppendContext(guard=guard)))


def test_open_transaction_holds_back_the_waiting_readers_of_committed_records_alone() -> None:
    orders, calls = BrokerHarness().host(), list[str]()
    for name, isolation in (
        ("committed", FetchIsolation.TXN_COMMITTED),
        ("all", FetchIsolation.HIGH_WATERMARK),
    ):
        orders.wait_for(
            LogPosition(0, len(batch()) + 1), partial(calls.append, name), isolation=isolation
        )

    append(orders, batch())
    append_in_transaction(orders)
    before = [*calls]
    orders.leader(0).append_marker(
        EndTransaction(is_commit=False, coordinator_epoch=0), producer_id=1, producer_epoch=0
    )

    assert (before, calls) == (["all"], ["all", "committed"])


def test_place_of_a_bound_below_the_log_end_is_that_of_its_batch() -> None:
    orders = BrokerHarness().host()

    append(orders, batch(2))
    append_in_transaction(orders)
    append(orders, batch())

    committed, end = (
        orders.readable_position(each)
        for each in (FetchIsolation.TXN_COMMITTED, FetchIsolation.LOG_END)
    )
    assert committed == LogPosition(0, len(batch(2)))
    assert end is not None
    assert end > committed


def test_place_in_a_partition_that_is_offline_is_unknown() -> None:
    harness = BrokerHarness()
    orders = harness.host()

    harness.drop()

    assert orders.readable_position(FetchIsolation.LOG_END) is None
