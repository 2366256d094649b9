"""Tests of the reconciliation of metadata and log directories."""

import errno

from cordwood.broker.hosting.log_reconciliation import reconcile
from cordwood.broker.hosting.topic_hosting import TopicHosting
from cordwood.broker.metadata.metadata_image import NO_LEADER, ClusterImage
from cordwood.broker.metadata.producer_id_manager import block_after
from cordwood.broker.metadata.topic_znodes import StoredTopic, encode_topic, folders
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.core.metadata_paths import topic_path
from cordwood.core.producer_id_block import BLOCK_PATH, format_block
from cordwood.core.znodes import CreateZNode
from cordwood.records.record_checks import PlainInspector
from cordwood.storage.files.delayed_deletions import remove_tree
from cordwood.storage.manager import log_creation, log_renames
from cordwood.storage.manager.log_manager import LogManager
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_metadata import MemoryMetadata
from tests.unit.broker.broker_samples import resources
from tests.unit.broker.image_samples import cluster, topic_id
from tests.unit.storage.log_samples import batch, produced
from tests.unit.storage.manager_samples import (
    OTHER_ID,
    LogManagerHarness,
    create_future_log,
    partition,
)


class StartingBroker:
    """A broker that starts with stored topics over two directories."""

    def __init__(
        self, house: LogManagerHarness, store: MemoryMetadata | None = None, **topics: int
    ) -> None:
        self.house = house
        self.store = store or MemoryMetadata()
        kept = {name: StoredTopic(topic_id(name), [(1,)] * topics[name]) for name in topics}
        nodes = [CreateZNode(topic_path(name), encode_topic(kept[name])) for name in kept]
        if store is None:
            self.store.multi([*folders(), *nodes])
        self.manager = house.load()
        self.partitions = HostedPartitions(resources(self.manager))

    def run(self) -> ClusterImage:
        hosting = TopicHosting(self.manager, self.partitions, self.house.events.append)
        return reconcile(self.store, hosting, image=cluster())


def left_by(house: LogManagerHarness, *numbers: int, is_clean: bool = True) -> LogManager:
    """Write one record to each log, then shut down cleanly or not."""
    manager = house.load()
    for number in numbers:
        log = log_creation.create(manager, partition(number), topic_id=topic_id("orders"))
        log.append_as_leader(batch(), leader_epoch=3, inspector=PlainInspector())
        log.flush()
    if is_clean:
        manager.close()
    return manager


def epochs(image: ClusterImage) -> list[tuple[int, int]]:
    return [(each.leader, each.leader_epoch) for each in image.topics["orders"].partitions]


def restarted(start: StartingBroker, *, is_clean: bool) -> StartingBroker:
    """Stop a broker that has started, cleanly or by a crash, and return the next one."""
    if is_clean:
        start.manager.close()
    start.house.files.crash()
    return StartingBroker(start.house, start.store)


def test_logs_without_stored_states_begin_the_next_epoch() -> None:
    house = LogManagerHarness()
    left_by(house, 0, 1)

    start = StartingBroker(house, orders=2)

    assert epochs(start.run()) == [(1, 4), (1, 4)]
    assert start.partitions.get("orders", 1).log.bounds.high_watermark == 1
    assert not house.events


def test_topics_are_served_in_later_epochs_after_a_crash() -> None:
    house = LogManagerHarness()
    left_by(house, 0, is_clean=False)
    house.files.crash()

    assert epochs(StartingBroker(house, orders=1).run()) == [(1, 4)]


def test_missing_log_is_created_and_reported() -> None:
    house = LogManagerHarness()
    left_by(house, 0)

    start = StartingBroker(house, orders=3)

    assert epochs(start.run()) == [(1, 4), (1, 0), (1, 0)]
    assert house.events == [
        "orders had no log of its partitions 1, 2: they begin empty",
    ]
    assert start.manager.topic_id(partition(2)) == topic_id("orders")


def test_missing_logs_are_created_together() -> None:
    house = LogManagerHarness("/a")
    left_by(house, 0)
    second = FileFault(on="sync_directory", path="/a", first=2, code=errno.EIO)
    start = StartingBroker(house, orders=4)
    house.files.script.add(second)

    assert epochs(start.run()) == [(1, 4), (1, 0), (1, 0), (1, 0)]


def test_log_that_cannot_be_created_is_offline_and_others_are_not() -> None:
    house = LogManagerHarness("/a")
    left_by(house, 0)
    start = StartingBroker(house, orders=3)
    full = FileFault(on="create", path="/a/orders-1/*", code=errno.ENOSPC)
    house.files.script.add(full)

    assert epochs(start.run()) == [(1, 4), (NO_LEADER, 0), (1, 0)]
    assert house.events[0] == "orders had no log of its partitions 2: they begin empty"
    assert house.events[1].startswith("orders-1 cannot be served: ")


def test_log_is_offline_when_its_directory_fails_while_others_are_created() -> None:
    house = LogManagerHarness("/a")
    left_by(house, 0)
    start = StartingBroker(house, orders=2)
    house.files.script.add(FileFault(on="sync_directory", path="/a", code=errno.EIO))

    assert epochs(start.run()) == [(NO_LEADER, 0), (NO_LEADER, 0)]
    assert [event for event in house.events if "orders-0 cannot be served" in event]


def test_log_whose_old_checkpoints_stay_is_not_created() -> None:
    house = LogManagerHarness("/a")
    left_by(house, 0, 1)
    remove_tree(house.files, "/a/orders-1")
    start = StartingBroker(house, orders=2)
    house.files.script.add(FileFault(on="rename", path="/a/*checkpoint", code=errno.ENOSPC))

    assert epochs(start.run()) == [(1, 4), (NO_LEADER, 0)]


def test_log_without_a_topic_is_set_aside() -> None:
    house = LogManagerHarness()
    left_by(house, 0)

    start = StartingBroker(house)

    assert not start.run().topics
    assert not start.manager.logs
    assert house.names("/a")[0].endswith("-stray")
    assert house.events == ["orders-0 is set aside as -stray: there is no such topic"]


def test_log_of_an_earlier_topic_is_set_aside_and_replaced() -> None:
    house = LogManagerHarness()
    log_creation.create(house.load(), partition(0), topic_id=OTHER_ID)
    house.files.crash()

    start = StartingBroker(house, orders=1)
    start.run()

    assert start.manager.topic_id(partition(0)) == topic_id("orders")
    assert any("its topic was deleted" in event for event in house.events)
    assert len(house.names("/a")) + len(house.names("/b")) == 2


def test_log_above_the_partition_count_is_set_aside() -> None:
    house = LogManagerHarness()
    left_by(house, 0, 1)

    start = StartingBroker(house, orders=1)
    start.run()

    assert [*start.manager.logs] == [partition(0)]
    assert house.events == ["orders-1 is set aside as -stray: its topic has 1 partitions"]


def test_log_without_a_topic_id_gets_its_topic_s_id() -> None:
    house = LogManagerHarness()
    log_creation.create(house.load(), partition(0), topic_id=None)
    house.files.crash()

    start = StartingBroker(house, orders=1)
    start.run()

    assert start.manager.topic_id(partition(0)) == topic_id("orders")


def test_producer_ids_found_in_logs_are_not_allocated_again() -> None:
    house = LogManagerHarness()
    log = log_creation.create(house.load(), partition(0), topic_id=topic_id("orders"))
    batch = produced(0, producer=(4321, 0))
    log.append_as_leader(batch, leader_epoch=0, inspector=PlainInspector())
    log.flush()
    house.files.crash()

    start = StartingBroker(house, orders=1)
    start.run()
    start.run()

    block = start.store.get(BLOCK_PATH)
    assert block is not None
    assert (block_after(block.data), block.version) == (range(5000, 6000), 0)


def test_existing_producer_id_block_is_not_replaced() -> None:
    start = StartingBroker(LogManagerHarness(), orders=1)
    start.store.multi([CreateZNode(BLOCK_PATH, format_block(range(1000), 1))])

    start.run()

    assert start.store.get(BLOCK_PATH) == (format_block(range(1000), 1), 0)


def test_future_log_replaces_a_log_renamed_before_a_crash() -> None:
    house = LogManagerHarness()
    manager = left_by(house, 0, is_clean=False)
    future = create_future_log(manager, partition(0), manager.directories[1])
    future.append_as_follower(batch(), leader_epoch=3)
    future.flush()
    log_renames.set_aside(manager, partition(0))
    house.files.crash()

    start = StartingBroker(house, orders=1)
    start.run()

    assert start.partitions.get("orders", 0).log.bounds.log_end == 1
    assert house.names("/b") == ["orders-0"]


def test_future_log_with_a_log_is_not_promoted() -> None:
    house = LogManagerHarness()
    manager = left_by(house, 0, is_clean=False)
    create_future_log(manager, partition(0), manager.directories[1])
    house.files.crash()

    start = StartingBroker(house, orders=1)
    start.run()

    assert [*start.manager.futures] == [partition(0)]
    assert start.manager.logs[partition(0)].directory == "/a/orders-0"


def test_future_log_without_a_topic_is_not_changed() -> None:
    house = LogManagerHarness()
    manager = left_by(house, 0, is_clean=False)
    create_future_log(manager, partition(0), manager.directories[1])
    house.files.crash()

    start = StartingBroker(house)
    start.run()

    assert [*start.manager.futures] == [partition(0)]


def test_disk_failure_during_the_check_of_logs_is_reported() -> None:
    house = LogManagerHarness()
    left_by(house, 0, is_clean=False)
    house.files.crash()
    house.files.remove("/a/orders-0/partition.metadata")
    start = StartingBroker(house, orders=1)
    house.files.script.add(FileFault(on="create", path="*/partition.metadata*"))

    image = start.run()

    assert epochs(image) == [(NO_LEADER, 0)]
    assert any("orders-0 cannot be checked" in event for event in house.events)


def test_failed_promotion_of_a_future_log_is_reported() -> None:
    house = LogManagerHarness()
    manager = left_by(house, 0, is_clean=False)
    create_future_log(manager, partition(0), manager.directories[1])
    log_renames.set_aside(manager, partition(0))
    house.files.crash()
    start = StartingBroker(house, orders=1)
    house.files.script.add(FileFault(on="rename", path="/b/*"))

    start.run()

    assert any("orders-0: its future log cannot be promoted" in event for event in house.events)


def test_log_in_a_failed_directory_is_neither_served_nor_created_again() -> None:
    house = LogManagerHarness()
    left_by(house, 0)
    house.files.script.add(FileFault(on="open", path="/a/meta.properties", code=errno.EIO))

    start = StartingBroker(house, orders=1)

    assert epochs(start.run()) == [(NO_LEADER, 0)]
    assert not start.manager.logs


def test_damaged_log_is_offline_and_others_are_not() -> None:
    house = LogManagerHarness()
    left_by(house, 0, 1)
    house.files.remove("/a/orders-0/partition.metadata")
    damaged = house.files.create("/a/orders-0/partition.metadata")
    damaged.append(b"?")
    damaged.sync()

    assert epochs(StartingBroker(house, orders=2).run()) == [(NO_LEADER, 0), (1, 4)]


def test_epoch_published_after_a_crash_stays_after_a_clean_stop_without_records() -> None:
    start = StartingBroker(LogManagerHarness(), orders=1)
    seen = [epochs(start.run())]
    for is_clean in (False, True, True, False, True):
        start = restarted(start, is_clean=is_clean)
        seen.append(epochs(start.run()))

    assert [leaders[0][1] for leaders in seen] == [0, 1, 1, 1, 2, 2]


def test_lost_records_are_replaced_under_another_epoch() -> None:
    start = StartingBroker(LogManagerHarness(), orders=1)
    start.run()
    start = restarted(start, is_clean=False)
    start.run()
    first = start.partitions.get("orders", 0)
    first.append(memoryview(batch()))
    start = restarted(start, is_clean=False)

    start.run()

    second = start.partitions.get("orders", 0)
    assert second.log.bounds.log_end == 0
    assert second.leader_epoch == first.leader_epoch + 1


def test_log_that_vanished_is_created_again_under_another_epoch() -> None:
    start = StartingBroker(LogManagerHarness(), orders=1)
    start.run()
    start.manager.close()
    files = start.house.files
    for name in files.list("/a/orders-0"):
        files.remove(f"/a/orders-0/{name}")
    files.remove_directory("/a/orders-0")

    assert epochs(StartingBroker(start.house, start.store).run()) == [(1, 1)]


def test_epoch_without_records_ends_at_the_log_end() -> None:
    start = StartingBroker(LogManagerHarness(), orders=1)
    start.run()
    start.partitions.get("orders", 0).append(memoryview(batch(3)))
    start.partitions.get("orders", 0).log.flush()
    for _ in range(2):
        start = restarted(start, is_clean=False)
        start.run()

    orders = start.partitions.get("orders", 0)
    assert orders.leader_epoch == 2
    assert orders.last_offset_for_leader_epoch(1) == (0, 3)
    assert orders.last_offset_for_leader_epoch(2) == (2, 3)


def test_partition_is_offline_while_its_directory_is_missing() -> None:
    house = LogManagerHarness()
    start = StartingBroker(house, orders=2)
    start.run()
    start.partitions.get("orders", 1).append(memoryview(batch()))
    assert house.names("/b") == ["orders-1"]
    start.manager.close()
    house.paths = ("/a",)
    start = StartingBroker(house, start.store)

    assert epochs(start.run()) == [(1, 0), (NO_LEADER, 0)]
    assert start.manager.has_partition(partition(1))
    assert any("orders-1 cannot be served" in event for event in house.events)
    assert any("is not mounted" in event for event in house.events)
    start.manager.close()
    house.paths = ("/a", "/b")
    again = StartingBroker(house, start.store)
    assert epochs(again.run()) == [(1, 0), (1, 0)]
    assert again.partitions.get("orders", 1).log.bounds.log_end == 1
