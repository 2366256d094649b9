"""Tests of logs that are created when the disk allows it."""

import errno
from dataclasses import replace

from cordwood.broker.hosting.log_reconciliation import reconcile
from cordwood.broker.hosting.partition_states import read_state
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.storage.manager import log_renames
from cordwood.testing.file_faults import FileFault
from tests.unit.broker.broker_samples import BrokerHarness, run
from tests.unit.broker.image_samples import cluster
from tests.unit.broker.topic_samples import (
    BusyHarness,
    begin,
    begin_creation,
    create,
    directories_of,
)
from tests.unit.storage.manager_samples import partition


def test_log_is_created_once_the_disk_allows_it() -> None:
    harness = BrokerHarness()
    fault = FileFault(on="create", path="*/orders-1/*", code=errno.ENOSPC, times=99)
    harness.storage.files.script.add(fault)
    create(harness, NewTopic(name="orders", partitions=2))
    run(harness.topics.retry())
    refused = harness.broker.metadata.image.topics["orders"]

    harness.storage.files.script.reset()
    run(harness.topics.retry())

    assert refused.leaderless() == [partition(1)]
    assert not harness.broker.metadata.image.topics["orders"].leaderless()
    assert harness.broker.partitions.get("orders", 1).log.bounds.log_end == 0


def test_retry_creates_logs_until_one_fails() -> None:
    harness = BrokerHarness()
    full = FileFault(on="create", path="*/orders-*", code=errno.ENOSPC, times=999)
    harness.storage.files.script.add(full)
    create(harness, NewTopic(name="orders", partitions=60))
    harness.storage.files.script.reset()
    harness.storage.files.script.add(
        FileFault(on="create", path="*/orders-30/*", code=errno.ENOSPC, times=99)
    )

    run(harness.topics.retry())

    leaderless = harness.broker.metadata.image.topics["orders"].leaderless()
    assert leaderless == [partition(30), *map(partition, range(40, 60))]


def test_partitions_of_a_failed_directory_are_not_created_elsewhere() -> None:
    harness = BrokerHarness()
    create(harness, NewTopic(name="orders", partitions=2))
    harness.manager.fail(harness.manager.directories[0], OSError("gone"))
    before = harness.broker.metadata.image

    run(harness.topics.retry())

    assert harness.broker.metadata.image is before


def test_log_that_could_not_be_created_has_no_directory_until_a_retry() -> None:
    harness = BrokerHarness()
    full = FileFault(on="create", path="*/orders-1/*", code=errno.ENOSPC, times=99)
    harness.storage.files.script.add(full)
    create(harness, NewTopic(name="orders", partitions=2))
    before = directories_of(harness, 2)

    harness.storage.files.script.reset()
    run(harness.topics.retry())

    assert (before, directories_of(harness, 2)) == (["/a", None], ["/a", "/b"])


def test_log_that_a_start_has_missed_is_created_in_the_next_epoch() -> None:
    harness = BrokerHarness()
    create(harness, NewTopic(name="orders", partitions=2))
    log_renames.delete(harness.manager, partition(1))
    full = FileFault(on="create", path="*/orders-1/*", code=errno.ENOSPC, times=99)
    harness.storage.files.script.add(full)
    image = replace(cluster(), epoch=harness.metadata.image.epoch)
    harness.metadata.publish(reconcile(harness.store, harness.hosting, image=image))

    harness.storage.files.script.reset()
    run(harness.topics.retry())

    second = harness.broker.partitions.get("orders", 1)
    stored = read_state(harness.store, partition(1))
    assert (second.log.bounds.log_end, second.leader_epoch) == (0, 1)
    assert stored is not None
    assert stored.leader_epoch == 1


def test_retry_leaves_topics_alone_that_are_in_work() -> None:
    harness = BusyHarness()

    async def scene() -> None:
        growing = begin_creation(harness, "orders")
        await harness.work()
        await harness.finish(begin(harness.topics.retry()))
        assert not growing.done()
        await harness.finish(growing)

    run(scene())

    assert not any("retry" in event for event in harness.storage.events)
