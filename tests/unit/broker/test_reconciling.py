"""Metadata and log directories agree after the start, and nothing is lost on the way."""

import errno

from cordwood.broker.hosting import HostingTools
from cordwood.broker.image import NO_LEADER, ClusterImage
from cordwood.broker.partition import PartitionTools
from cordwood.broker.partitions import Partitions
from cordwood.broker.producer_ids import BLOCK_PATH, block_after, format_block
from cordwood.broker.reconciling import reconcile
from cordwood.broker.topic_nodes import KeptTopic, encode_topic, folders
from cordwood.core.metadata_nodes import topic_path
from cordwood.core.nodes import CreateNode
from cordwood.records.inspect import PlainInspector
from cordwood.storage.flusher import Flusher
from cordwood.storage.manager import LogManager
from cordwood.testing.faults import Fault
from cordwood.testing.metadata import MemoryMetadata
from tests.unit.broker.image_samples import cluster, topic_id
from tests.unit.storage.log_samples import batch, produced
from tests.unit.storage.manager_samples import OTHER_ID, House, partition


class Start:
    """A broker that starts on two directories and what its metadata say."""

    def __init__(self, house: House, **topics: int) -> None:
        self.house = house
        self.store = MemoryMetadata()
        kept = {name: KeptTopic(topic_id(name), [(1,)] * topics[name]) for name in topics}
        nodes = [CreateNode(topic_path(name), encode_topic(kept[name])) for name in kept]
        self.store.multi([*folders(), *nodes])
        self.manager = house.load()
        tools = PartitionTools(self.manager, Flusher(self.manager), PlainInspector)
        self.partitions = Partitions(tools)

    def run(self) -> ClusterImage:
        tools = HostingTools(self.manager, self.partitions, self.house.events.append)
        return reconcile(self.store, tools, image=cluster())


def left_by(house: House, *numbers: int, is_clean: bool = True) -> LogManager:
    """Leave logs with a record each, in order or not."""
    manager = house.load()
    for number in numbers:
        log = manager.create(partition(number), topic_id=topic_id("orders"))
        log.append_as_leader(batch(), leader_epoch=3, inspector=PlainInspector())
        log.flush()
    if is_clean:
        manager.close()
    return manager


def epochs(image: ClusterImage) -> list[tuple[int, int]]:
    return [(each.leader, each.leader_epoch) for each in image.topics["orders"].partitions]


def test_topics_are_served_in_the_epochs_of_their_logs_after_a_clean_stop() -> None:
    house = House()
    left_by(house, 0, 1)

    start = Start(house, orders=2)

    assert epochs(start.run()) == [(1, 3), (1, 3)]
    assert start.partitions.get("orders", 1).log.bounds.high_watermark == 1
    assert not house.events


def test_topics_are_served_in_later_epochs_after_a_crash() -> None:
    house = House()
    left_by(house, 0, is_clean=False)
    house.files.crash()

    assert epochs(Start(house, orders=1).run()) == [(1, 4)]


def test_log_that_is_missing_is_made_and_told_of() -> None:
    house = House()
    left_by(house, 0)

    start = Start(house, orders=3)

    assert epochs(start.run()) == [(1, 3), (1, 0), (1, 0)]
    assert house.events == [
        "orders had no log of its partitions 1, 2: they begin empty",
    ]
    assert start.manager.topic_id(partition(2)) == topic_id("orders")


def test_log_without_a_topic_is_set_aside() -> None:
    house = House()
    left_by(house, 0)

    start = Start(house)

    assert not start.run().topics
    assert not start.manager.logs
    assert house.names("/a")[0].endswith("-stray")
    assert house.events == ["orders-0 is set aside as -stray: there is no such topic"]


def test_log_of_an_earlier_topic_is_set_aside_and_another_one_made() -> None:
    house = House()
    house.load().create(partition(0), topic_id=OTHER_ID)
    house.files.crash()

    start = Start(house, orders=1)
    start.run()

    assert start.manager.topic_id(partition(0)) == topic_id("orders")
    assert any("its topic was deleted" in event for event in house.events)
    assert len(house.names("/a")) + len(house.names("/b")) == 2


def test_log_beyond_the_last_partition_is_set_aside() -> None:
    house = House()
    left_by(house, 0, 1)

    start = Start(house, orders=1)
    start.run()

    assert [*start.manager.logs] == [partition(0)]
    assert house.events == ["orders-1 is set aside as -stray: its topic has 1 partitions"]


def test_log_that_does_not_say_whose_it_is_gets_its_topics_id() -> None:
    house = House()
    house.load().create(partition(0), topic_id=None)
    house.files.crash()

    start = Start(house, orders=1)
    start.run()

    assert start.manager.topic_id(partition(0)) == topic_id("orders")


def test_ids_of_producers_in_logs_are_not_given_out_again() -> None:
    house = House()
    log = house.load().create(partition(0), topic_id=topic_id("orders"))
    batch = produced(0, producer=(4321, 0))
    log.append_as_leader(batch, leader_epoch=0, inspector=PlainInspector())
    log.flush()
    house.files.crash()

    start = Start(house, orders=1)
    start.run()
    start.run()

    block = start.store.get(BLOCK_PATH)
    assert block is not None
    assert (block_after(block.data), block.version) == (range(5000, 6000), 0)


def test_blocks_of_producer_ids_go_on_where_they_were() -> None:
    start = Start(House(), orders=1)
    start.store.multi([CreateNode(BLOCK_PATH, format_block(range(1000), 1))])

    start.run()

    assert start.store.get(BLOCK_PATH) == (format_block(range(1000), 1), 0)


def test_copy_takes_the_place_of_a_log_that_a_crash_has_moved_away() -> None:
    house = House()
    manager = left_by(house, 0, is_clean=False)
    future = manager.create_future(partition(0), manager.directories[1])
    future.append_as_follower(batch(), leader_epoch=3)
    future.flush()
    manager.set_aside(partition(0))
    house.files.crash()

    start = Start(house, orders=1)
    start.run()

    assert start.partitions.get("orders", 0).log.bounds.log_end == 1
    assert house.names("/b") == ["orders-0"]


def test_copy_stays_a_copy_beside_its_log() -> None:
    house = House()
    manager = left_by(house, 0, is_clean=False)
    manager.create_future(partition(0), manager.directories[1])
    house.files.crash()

    start = Start(house, orders=1)
    start.run()

    assert [*start.manager.futures] == [partition(0)]
    assert start.manager.logs[partition(0)].directory == "/a/orders-0"


def test_copy_of_a_log_without_a_topic_is_left_alone() -> None:
    house = House()
    manager = left_by(house, 0, is_clean=False)
    manager.create_future(partition(0), manager.directories[1])
    house.files.crash()

    start = Start(house)
    start.run()

    assert [*start.manager.futures] == [partition(0)]


def test_disk_that_fails_while_logs_are_looked_at_is_told_of() -> None:
    house = House()
    left_by(house, 0, is_clean=False)
    house.files.crash()
    start = Start(house, orders=1)
    house.files.script.add(Fault(on="open", path="*/partition.metadata"))

    image = start.run()

    assert epochs(image) == [(NO_LEADER, 0)]
    assert any("orders-0 cannot be looked at" in event for event in house.events)


def test_copy_that_cannot_take_its_place_is_told_of() -> None:
    house = House()
    manager = left_by(house, 0, is_clean=False)
    manager.create_future(partition(0), manager.directories[1])
    manager.set_aside(partition(0))
    house.files.crash()
    start = Start(house, orders=1)
    house.files.script.add(Fault(on="rename", path="/b/*"))

    start.run()

    assert any("orders-0 cannot take its place" in event for event in house.events)


def test_log_in_a_directory_that_failed_is_neither_served_nor_made_anew() -> None:
    house = House()
    left_by(house, 0)
    house.files.script.add(Fault(on="open", path="/a/meta.properties", code=errno.EIO))

    start = Start(house, orders=1)

    assert epochs(start.run()) == [(NO_LEADER, 0)]
    assert not start.manager.logs


def test_log_that_is_damaged_is_offline_alone() -> None:
    house = House()
    left_by(house, 0, 1)
    house.files.remove("/a/orders-0/partition.metadata")
    damaged = house.files.create("/a/orders-0/partition.metadata")
    damaged.append(b"?")
    damaged.sync()

    assert epochs(Start(house, orders=2).run()) == [(NO_LEADER, 0), (1, 3)]
