"""Tests of one partition: append, read, leader epochs, waiting fetches."""

import errno

import pytest

from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_role import Offline
from cordwood.core.errors import (
    FencedLeaderEpochError,
    KafkaStorageError,
    NotLeaderOrFollowerError,
    OffsetOutOfRangeError,
    PolicyViolationError,
    UnknownLeaderEpochError,
    UnknownTopicOrPartitionError,
)
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_read import EARLIEST, LATEST, FetchIsolation, LogPosition
from cordwood.storage.log_config import COMPACT, LogConfig
from cordwood.storage.manager import log_creation, log_renames
from cordwood.storage.manager.log_manager import LogManager
from tests.unit.broker.broker_samples import BrokerHarness, led_topic
from tests.unit.broker.image_samples import host
from tests.unit.storage.log_samples import NOW, batch, lead, offsets
from tests.unit.storage.manager_samples import create_future_log, partition

COMPACTED = LogConfig(cleanup_policy=frozenset({COMPACT}))


def append(to: Partition, *sets: bytearray) -> list[int]:
    return [to.append(memoryview(each)).result().result.first_offset for each in sets]


def high_watermark(of: Partition) -> int:
    return of.log.bounds.high_watermark


def test_append_is_visible_to_readers_immediately() -> None:
    orders = BrokerHarness().host()

    assert append(orders, batch(2), batch()) == [0, 2]
    read = orders.read(0, max_bytes=1 << 20, isolation=FetchIsolation.HIGH_WATERMARK)
    assert offsets(read) == [(0, 1), (2, 2)]


def test_append_has_the_leader_epoch() -> None:
    orders = BrokerHarness().host(7)

    append(orders, batch())

    assert orders.last_offset_for_leader_epoch(7) == (7, 1)


def test_log_is_readable_when_the_broker_becomes_leader() -> None:
    harness = BrokerHarness()
    lead(log_creation.create(harness.manager, partition(), topic_id=None), batch(3))

    assert high_watermark(harness.host()) == 3


def test_waiting_reader_is_called_once_when_it_may_read_beyond_its_offset() -> None:
    orders, calls = BrokerHarness().host(), list[int]()

    for batches in (1, 2, 3):
        orders.wait_for(
            LogPosition(0, batches * len(batch())),
            lambda: calls.append(high_watermark(orders)),
            isolation=FetchIsolation.HIGH_WATERMARK,
        )
    append(orders, batch(), batch())

    assert calls == [1, 2]


def test_reader_at_the_end_of_the_log_enters_no_context_of_the_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """200 idle sessions of 100 partitions entered 160,000 of them a second, for 58 % of a core."""
    orders = BrokerHarness().host()
    append(orders, batch())
    monkeypatch.setattr(LogManager, "using", used)

    for isolation in FetchIsolation:
        read = orders.read(1, max_bytes=1 << 20, isolation=isolation, min_one=True)
        assert (read.slice, read.log_end, orders.readable_position(isolation)) == (
            None,
            1,
            LogPosition(0, len(batch())),
        )


def used(_manager: LogManager, log: Log) -> None:
    pytest.fail(f"{log.partition} was used")


def test_cancelled_wait_is_not_called() -> None:
    orders, calls = BrokerHarness().host(), list[str]()

    waiter = orders.wait_for(
        LogPosition(0, 1), lambda: calls.append("late"), isolation=FetchIsolation.LOG_END
    )
    waiter.cancel()
    append(orders, batch())

    assert calls == []


def test_records_are_deleted_up_to_an_offset_or_the_high_watermark() -> None:
    orders = BrokerHarness().host()
    append(orders, batch(4))

    assert (orders.delete_records(2), orders.delete_records(-1)) == (2, 4)


def test_records_of_a_topic_that_is_only_compacted_are_not_deleted() -> None:
    orders = BrokerHarness(COMPACTED).host()

    with pytest.raises(PolicyViolationError, match="compact alone"):
        orders.delete_records(-1)


def test_offset_lookups_return_the_leader_epoch_of_the_record() -> None:
    orders = BrokerHarness().host(3)
    append(orders, batch(2, timestamp=NOW))

    found = [
        orders.offset_for_timestamp(timestamp, FetchIsolation.HIGH_WATERMARK)
        for timestamp in (LATEST, EARLIEST, NOW)
    ]

    assert found == [(-1, 2, 3), (-1, 0, 3), (NOW, 0, 3)]


def test_future_leader_epoch_is_unknown_and_an_old_one_is_fenced() -> None:
    orders = BrokerHarness().host(3)

    orders.ensure_epoch(-1)
    orders.ensure_epoch(3)
    with pytest.raises(FencedLeaderEpochError):
        orders.ensure_epoch(2)
    with pytest.raises(UnknownLeaderEpochError):
        orders.ensure_epoch(4)


def test_current_epoch_without_records_ends_at_the_log_end() -> None:
    harness = BrokerHarness()
    lead(log_creation.create(harness.manager, partition(), topic_id=None), batch(2), epoch=1)
    orders = harness.host(2)

    assert [orders.last_offset_for_leader_epoch(each) for each in (1, 2, 3)] == [
        (1, 2),
        (2, 2),
        (-1, -1),
    ]


def test_reader_has_diverged_when_its_last_epoch_ended_before_its_offset() -> None:
    harness = BrokerHarness()
    log = log_creation.create(harness.manager, partition(), topic_id=None)
    lead(log, batch(2), epoch=1)
    lead(log, batch(2), epoch=3)
    orders = harness.host(3)

    assert [orders.find_divergence(*each) for each in ((-1, 9), (1, 2), (3, 4))] == [None] * 3
    assert [orders.find_divergence(*each) for each in ((1, 3), (2, 2))] == [(1, 2), (1, 2)]


@pytest.mark.parametrize(("epoch", "offset"), ((9, 1), (0, 0)))
def test_unknown_divergence_is_out_of_range(epoch: int, offset: int) -> None:
    orders = BrokerHarness().host()
    append(orders, batch(2))
    orders.delete_records(1)

    with pytest.raises(OffsetOutOfRangeError):
        orders.find_divergence(epoch, offset)


def test_partition_in_a_failed_directory_rejects_appends_and_a_closed_one_is_unknown() -> None:
    harness = BrokerHarness()
    orders, others = harness.host(), harness.host(topic="others")

    others.close()
    harness.manager.fail(harness.manager.directories[0], OSError(errno.EIO, "gone"))

    with pytest.raises(KafkaStorageError):
        append(orders, batch())
    with pytest.raises(UnknownTopicOrPartitionError, match="others-0 has been deleted"):
        append(others, batch())


def test_offline_partition_keeps_no_frames_of_its_rejected_requests() -> None:
    orders = BrokerHarness().host()
    orders.go_offline(KafkaStorageError("the disk has failed"))

    with pytest.raises(KafkaStorageError, match="the disk has failed"):
        append(orders, batch())

    assert isinstance(orders.role, Offline)
    assert orders.role.error.__traceback__ is None


def test_late_fetch_of_an_earlier_registration_does_not_count() -> None:
    """The broker has lost the end of its log since, in a crash of its machine."""
    orders = BrokerHarness().host()
    orders.apply(PartitionImage((1, 2), (1, 2), 1, 1))
    orders.log.epoch_file.save()
    pending = orders.append(memoryview(batch()))
    orders.follower(2, leader_epoch=1, broker_epoch=7)(0)

    with pytest.raises(NotLeaderOrFollowerError, match="has broker epoch 6, and an earlier one 7"):
        orders.follower(2, leader_epoch=1, broker_epoch=6)(1)

    assert (pending.done(), high_watermark(orders)) == (False, 0)


def test_partition_without_a_log_is_offline() -> None:
    harness = BrokerHarness()
    host(harness.broker.partitions, led_topic(0))

    with pytest.raises(KafkaStorageError, match="no log of orders-0"):
        append(harness.broker.partitions.get("orders", 0), batch())


def test_partition_uses_a_moved_log() -> None:
    harness = BrokerHarness()
    orders = harness.host()
    append(orders, batch())
    copy = create_future_log(harness.manager, partition(), harness.manager.directories[1])
    copy.append_as_follower(batch(epoch=0), leader_epoch=0)

    log_renames.promote(harness.manager, partition())
    orders.apply(led_topic(0).partitions[0])

    assert append(orders, batch()) == [1]
    assert orders.log is copy
