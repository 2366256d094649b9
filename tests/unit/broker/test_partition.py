"""A partition: what counts is what readers see, and whoever waits is told."""

import errno

import pytest

from cordwood.broker.partition import Partition
from cordwood.core.errors import (
    FencedLeaderEpochError,
    KafkaStorageError,
    OffsetOutOfRangeError,
    PolicyViolationError,
    UnknownLeaderEpochError,
    UnknownTopicOrPartitionError,
)
from cordwood.storage.log_config import COMPACT, LogConfig
from cordwood.storage.reading import EARLIEST, LATEST, Isolation
from cordwood.testing.faults import Fault
from tests.unit.broker.broker_samples import Hall
from tests.unit.storage.log_samples import NOW, batch, lead, offsets, produced
from tests.unit.storage.manager_samples import HeldWorker, partition

FLUSHING = LogConfig(flush_messages=1)
COMPACTED = LogConfig(cleanup_policy=frozenset({COMPACT}))


def append(to: Partition, *sets: bytearray) -> list[int]:
    return [to.append(memoryview(each)).result.first_offset for each in sets]


def high_watermark(of: Partition) -> int:
    return of.log.bounds.high_watermark


def test_append_is_seen_by_readers_at_once() -> None:
    orders = Hall().host()

    assert append(orders, batch(2), batch()) == [0, 2]
    read = orders.read(0, max_bytes=1 << 20, isolation=Isolation.HIGH_WATERMARK)
    assert offsets(read) == [(0, 1), (2, 2)]


def test_append_bears_the_leader_epoch() -> None:
    orders = Hall().host(7)

    append(orders, batch())

    assert orders.end_of_epoch(7) == (7, 1)


def test_what_the_log_has_is_seen_when_it_is_taken_over() -> None:
    hall = Hall()
    lead(hall.manager.create(partition(), topic_id=None), batch(3))

    assert high_watermark(hall.host()) == 3


def test_append_that_has_to_be_flushed_counts_once_it_is() -> None:
    worker = HeldWorker()
    orders = Hall(FLUSHING, worker=worker).host()

    durable = orders.append(memoryview(batch())).durable
    before = high_watermark(orders)
    worker.go_on()

    assert before == 0
    assert (durable is not None and durable.done(), high_watermark(orders)) == (True, 1)


def test_duplicate_of_what_is_not_flushed_waits_too() -> None:
    worker = HeldWorker()
    orders = Hall(FLUSHING, worker=worker).host()

    orders.append(memoryview(produced(0)))
    again = orders.append(memoryview(produced(0)))

    assert (again.result.is_duplicate, again.result.first_offset) == (True, 0)
    assert again.durable is not None
    assert not again.durable.done()


def test_flush_that_fails_makes_nothing_visible() -> None:
    worker = HeldWorker()
    hall = Hall(FLUSHING, worker=worker)
    orders = hall.host()
    log = orders.log

    hall.house.files.script.add(Fault(on="sync", path="/a/orders-0/*.log", code=errno.EIO))
    durable = orders.append(memoryview(batch())).durable
    worker.go_on()

    assert durable is not None
    assert isinstance(durable.exception(), KafkaStorageError)
    assert log.bounds.high_watermark == 0


def test_watcher_is_called_for_each_append_until_it_gives_up() -> None:
    orders, calls = Hall().host(), list[int]()

    def call() -> None:
        calls.append(high_watermark(orders))

    orders.watch(call)
    append(orders, batch(), batch())
    orders.unwatch(call)
    append(orders, batch())

    assert calls == [1, 2]


def test_records_are_deleted_up_to_an_offset_or_the_high_watermark() -> None:
    orders = Hall().host()
    append(orders, batch(4))

    assert (orders.delete_records(2), orders.delete_records(-1)) == (2, 4)


def test_records_of_a_topic_that_is_only_compacted_are_not_deleted() -> None:
    orders = Hall(COMPACTED).host()

    with pytest.raises(PolicyViolationError, match="without delete"):
        orders.delete_records(-1)


def test_latest_offset_comes_with_the_leader_epoch_and_the_earliest_with_its_own() -> None:
    orders = Hall().host(3)
    append(orders, batch(2, timestamp=NOW))

    found = [
        orders.offset_for_timestamp(timestamp, Isolation.HIGH_WATERMARK)
        for timestamp in (LATEST, EARLIEST, NOW)
    ]

    assert found == [(-1, 2, 3), (-1, 0, 3), (NOW, 0, 3)]


def test_epoch_that_the_leader_has_not_reached_is_unknown_and_one_behind_is_fenced() -> None:
    orders = Hall().host(3)

    orders.ensure_epoch(-1)
    orders.ensure_epoch(3)
    with pytest.raises(FencedLeaderEpochError):
        orders.ensure_epoch(2)
    with pytest.raises(UnknownLeaderEpochError):
        orders.ensure_epoch(4)


def test_present_epoch_ends_at_the_log_end_though_nothing_was_written_in_it() -> None:
    hall = Hall()
    lead(hall.manager.create(partition(), topic_id=None), batch(2), epoch=1)
    orders = hall.host(2)

    assert [orders.end_of_epoch(each) for each in (1, 2, 3)] == [(1, 2), (2, 2), (-1, -1)]


def test_reader_has_diverged_when_its_last_epoch_ended_before_its_offset() -> None:
    hall = Hall()
    log = hall.manager.create(partition(), topic_id=None)
    lead(log, batch(2), epoch=1)
    lead(log, batch(2), epoch=3)
    orders = hall.host(3)

    assert [orders.divergence(*each) for each in ((-1, 9), (1, 2), (3, 4))] == [None] * 3
    assert [orders.divergence(*each) for each in ((1, 3), (2, 2))] == [(1, 2), (1, 2)]


@pytest.mark.parametrize(("epoch", "offset"), ((9, 1), (0, 0)))
def test_divergence_that_cannot_be_told_is_out_of_range(epoch: int, offset: int) -> None:
    orders = Hall().host()
    append(orders, batch(2))
    orders.delete_records(1)

    with pytest.raises(OffsetOutOfRangeError):
        orders.divergence(epoch, offset)


def test_partition_of_a_failed_directory_refuses_and_one_that_is_closed_is_unknown() -> None:
    hall = Hall()
    orders, others = hall.host(), hall.host(topic="others")

    others.close()
    hall.manager.fail(hall.manager.directories[0], OSError(errno.EIO, "gone"))

    with pytest.raises(KafkaStorageError):
        append(orders, batch())
    with pytest.raises(UnknownTopicOrPartitionError, match="others-0 has been deleted"):
        append(others, batch())


def test_partition_without_a_log_is_offline() -> None:
    hall = Hall()
    hall.broker.partitions.host("orders", topic_id=hall.house.random.token(16), leader_epochs=[0])  # type: ignore[arg-type]  # any id will do

    with pytest.raises(KafkaStorageError, match="no log of orders-0"):
        append(hall.broker.partitions.get("orders", 0), batch())


def test_partition_goes_on_with_a_log_that_has_moved() -> None:
    hall = Hall()
    orders = hall.host()
    append(orders, batch())
    copy = hall.manager.create_future(partition(), hall.manager.directories[1])
    copy.append_as_follower(batch(epoch=0), leader_epoch=0)

    hall.manager.promote(partition())

    assert append(orders, batch()) == [1]
    assert orders.log is copy
