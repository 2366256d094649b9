"""Tests of reading a whole partition for a coordinator."""

import errno
from collections.abc import AsyncIterator, Callable

import pytest

from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_loader import load, wait_until_committed
from cordwood.core.errors import (
    FencedLeaderEpochError,
    KafkaStorageError,
    NotLeaderOrFollowerError,
)
from cordwood.records.batch_stream import batches
from cordwood.testing.file_faults import FileFault
from tests.unit.broker.broker_samples import BrokerHarness, meanwhile, run
from tests.unit.storage.log_samples import batch
from tests.unit.storage.manager_samples import HeldWorker

LED = PartitionImage((1, 2), (1, 2), 1, 1)
OTHER_LEADER = PartitionImage((1, 2), (1, 2), 2, 1)


def append(to: Partition, *sets: bytearray) -> None:
    for each in sets:
        to.append(memoryview(each))


def chunks(harness: BrokerHarness, *, epoch: int = 0) -> AsyncIterator[memoryview]:
    partition = harness.broker.partitions.get("orders", 0)
    worker = harness.manager.ports.worker
    return load(partition, epoch, worker=worker, chunk_bytes=2 * len(batch()))


async def collect(
    loaded: AsyncIterator[memoryview], *, after_first: Callable[[], object] = lambda: None
) -> list[list[int]]:
    """Return the base offsets of the batches in each chunk."""
    found = list[list[int]]()
    async for chunk in loaded:
        found.append([each.base_offset for each in batches(chunk)])
        if len(found) == 1:
            after_first()
    return found


def test_partition_is_loaded_in_chunks_of_whole_batches_from_its_log_start() -> None:
    harness = BrokerHarness()
    orders = harness.host()
    append(orders, *(batch() for _ in range(5)))
    orders.delete_records(1)

    assert run(collect(chunks(harness))) == [[1, 2], [3, 4]]


def test_batch_larger_than_a_chunk_is_loaded_whole() -> None:
    harness = BrokerHarness()
    append(harness.host(), batch(50), batch())

    assert run(collect(chunks(harness))) == [[0], [50]]


def test_empty_partition_has_no_chunk() -> None:
    harness = BrokerHarness()
    harness.host()

    assert run(collect(chunks(harness))) == []


def test_records_that_arrive_meanwhile_are_not_loaded() -> None:
    harness = BrokerHarness()
    orders = harness.host()
    append(orders, *(batch() for _ in range(4)))

    found = run(collect(chunks(harness), after_first=lambda: append(orders, batch())))

    assert found == [[0, 1], [2, 3]]


def test_coordinator_of_an_old_epoch_loads_nothing() -> None:
    harness = BrokerHarness()
    append(harness.host(1), batch())

    with pytest.raises(FencedLeaderEpochError):
        run(collect(chunks(harness, epoch=0)))


@pytest.mark.parametrize("count", (2, 4))
def test_load_fails_when_another_broker_becomes_the_leader(count: int) -> None:
    harness = BrokerHarness()
    orders = harness.host()
    append(orders, *(batch() for _ in range(count)))

    with pytest.raises((NotLeaderOrFollowerError, FencedLeaderEpochError)):
        run(collect(chunks(harness), after_first=lambda: orders.apply(OTHER_LEADER)))


def test_disk_that_fails_during_a_load_takes_the_log_directory_offline() -> None:
    worker = HeldWorker()
    harness = BrokerHarness(worker=worker)
    append(harness.host(), batch())
    loading = collect(chunks(harness))

    def fail() -> None:
        harness.storage.files.script.add(FileFault(on="pread", code=errno.EIO))
        worker.go_on()

    with pytest.raises(ExceptionGroup) as raised:
        run(meanwhile(loading, fail))

    assert raised.group_contains(KafkaStorageError)
    assert not harness.manager.directories[0].is_online


def replicated(harness: BrokerHarness) -> Partition:
    """Return a partition that broker 1 leads, and of which broker 2 lacks a record."""
    orders = harness.host()
    orders.apply(LED)
    append(orders, batch())
    return orders


def test_records_count_once_the_high_watermark_has_reached_the_log_end() -> None:
    harness = BrokerHarness()
    orders = replicated(harness)
    fetch = orders.follower(2, leader_epoch=1)

    over, _ = run(
        meanwhile(
            wait_until_committed(orders, 1),
            lambda: fetch(0),
            lambda: append(orders, batch()),  # a later record is not waited for
            lambda: fetch(1),
        )
    )

    assert over == [False, False, False]


def test_records_that_count_already_are_not_waited_for() -> None:
    harness = BrokerHarness()
    orders = harness.host()
    append(orders, batch())

    run(wait_until_committed(orders, 0))


def test_wait_fails_when_another_broker_becomes_the_leader() -> None:
    harness = BrokerHarness()
    orders = replicated(harness)

    with pytest.raises(ExceptionGroup) as raised:
        run(
            meanwhile(
                wait_until_committed(orders, 1),
                lambda: orders.apply(LED._replace(leader=2, leader_epoch=2)),
            )
        )

    assert raised.group_contains(FencedLeaderEpochError)
