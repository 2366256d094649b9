"""Topics are kept in the metadata, made on the disk, published, and found by whoever asks."""

import asyncio
import errno

import pytest

from cordwood.broker.image import NO_LEADER
from cordwood.broker.topic_nodes import decode_topic
from cordwood.broker.topic_rules import NewTopic
from cordwood.broker.topic_selection import Said
from cordwood.broker.topics import MorePartitions, PlannedTopic
from cordwood.core.errors import KafkaError, KafkaStorageError, UnknownTopicOrPartitionError
from cordwood.core.metadata_nodes import topic_path
from cordwood.testing.faults import Fault
from tests.unit.broker.broker_samples import Hall, run, turns
from tests.unit.storage.manager_samples import partition


def create(hall: Hall, *new: NewTopic, validate_only: bool = False) -> list[str]:
    """Create topics; return their names, or what was the matter."""
    outcomes = run(hall.broker.topics.create(new, validate_only=validate_only))
    return [
        each.image.name if isinstance(each, PlannedTopic) else type(each).__name__
        for each in outcomes
    ]


def test_created_topic_is_kept_made_and_published() -> None:
    hall = Hall()

    create(hall, NewTopic(name="orders", partitions=2, configs=[("retention.ms", "5")]))

    topic = hall.broker.metadata.image.topics["orders"]
    node = hall.store.get(topic_path("orders"))
    assert node is not None
    assert decode_topic(node.data, path="") == (topic.topic_id, [(1,), (1,)])
    assert hall.store.children("/config/topics") == ["orders"]
    assert [hall.broker.partitions.get("orders", each).topic_id for each in (0, 1)] == [
        topic.topic_id,
        topic.topic_id,
    ]
    assert hall.manager.topic_id(partition(1)) == topic.topic_id
    assert hall.broker.configs.config_for("orders").retention_ms == 5


def test_topic_without_settings_has_no_node_for_them() -> None:
    hall = Hall()

    create(hall, NewTopic(name="orders"))

    assert hall.store.children("/config/topics") == []


def test_topics_are_checked_each_for_itself() -> None:
    hall = Hall()
    create(hall, NewTopic(name="a.b"))

    outcomes = create(
        hall,
        NewTopic(name="a_b"),
        NewTopic(name="c_d"),
        NewTopic(name="e", configs=[("no.such", "1")]),
        NewTopic(name="f", replication_factor=2),
    )

    assert outcomes == [
        "InvalidTopicError",
        "c_d",
        "InvalidConfigError",
        "InvalidReplicationFactorError",
    ]
    assert [*hall.broker.metadata.image.topics] == ["a.b", "c_d"]


def test_nothing_is_made_when_topics_are_only_checked() -> None:
    hall = Hall()

    assert create(hall, NewTopic(name="orders"), validate_only=True) == ["orders"]

    assert hall.store.children("/brokers/topics") == []
    assert not hall.manager.logs


def test_nothing_is_made_that_the_metadata_do_not_keep() -> None:
    hall = Hall()
    hall.store.refuse(KafkaStorageError("no room"))

    with pytest.raises(KafkaStorageError, match="no room"):
        create(hall, NewTopic(name="orders"))

    assert not hall.broker.metadata.image.topics
    assert not hall.manager.logs


def test_partition_whose_log_cannot_be_made_has_no_leader() -> None:
    hall = Hall()
    fault = Fault(on="create", path="*/orders-1/*", code=errno.ENOSPC, times=99)
    hall.house.files.script.add(fault)

    create(hall, NewTopic(name="orders", partitions=2))

    partitions = hall.broker.metadata.image.topics["orders"].partitions
    assert [each.leader for each in partitions] == [1, NO_LEADER]
    with pytest.raises(KafkaStorageError):
        _ = hall.broker.partitions.get("orders", 1).log
    assert any("orders-1 cannot be served" in event for event in hall.house.events)


def test_log_is_made_once_the_disk_allows_it() -> None:
    hall = Hall()
    fault = Fault(on="create", path="*/orders-1/*", code=errno.ENOSPC, times=99)
    hall.house.files.script.add(fault)
    create(hall, NewTopic(name="orders", partitions=2))
    run(hall.broker.topics.retry())
    refused = hall.broker.metadata.image.topics["orders"]

    hall.house.files.script.reset()
    run(hall.broker.topics.retry())

    assert refused.leaderless() == [partition(1)]
    assert not hall.broker.metadata.image.topics["orders"].leaderless()
    assert hall.broker.partitions.get("orders", 1).log.bounds.log_end == 0


def test_many_logs_are_made_again_until_one_finds_no_room() -> None:
    hall = Hall()
    full = Fault(on="create", path="*/orders-*", code=errno.ENOSPC, times=999)
    hall.house.files.script.add(full)
    create(hall, NewTopic(name="orders", partitions=60))
    hall.house.files.script.reset()
    hall.house.files.script.add(
        Fault(on="create", path="*/orders-30/*", code=errno.ENOSPC, times=99)
    )

    run(hall.broker.topics.retry())

    leaderless = hall.broker.metadata.image.topics["orders"].leaderless()
    assert leaderless == [partition(30), *map(partition, range(40, 60))]


def test_others_have_their_turn_while_many_partitions_are_made() -> None:
    hall, seen = Hall(), list[int]()

    async def scene() -> None:
        async with asyncio.TaskGroup() as group:
            new = [NewTopic(name="orders", partitions=100)]
            creating = group.create_task(hall.broker.topics.create(new))
            while not creating.done():
                await asyncio.sleep(0)
                seen.append(len(hall.manager.logs))

    run(scene())

    assert {*seen} >= {0, 20, 40, 60, 80, 100}
    assert seen.count(100) >= 5


@pytest.mark.parametrize("moment", (2, 7, 9, 11, 13))
def test_partition_has_no_leader_whose_directory_goes_while_others_are_made(moment: int) -> None:
    hall = Hall()

    async def scene() -> None:
        async with asyncio.TaskGroup() as group:
            new = [NewTopic(name="orders", partitions=100)]
            group.create_task(hall.broker.topics.create(new))
            await turns(moment)
            hall.manager.fail(hall.manager.directories[0], OSError("gone"))

    run(scene())

    topic = hall.broker.metadata.image.topics["orders"]
    usable = [name for name in topic.names() if name in hall.manager.logs]
    assert {*topic.leaderless()} == {*topic.names()} - {*usable}
    assert len(usable) >= 50


def test_partitions_of_a_failed_directory_are_not_made_elsewhere() -> None:
    hall = Hall()
    create(hall, NewTopic(name="orders", partitions=2))
    hall.manager.fail(hall.manager.directories[0], OSError("gone"))
    before = hall.broker.metadata.image

    run(hall.broker.topics.retry())

    assert hall.broker.metadata.image is before


def test_topic_has_no_leaders_when_no_directory_is_left() -> None:
    hall = Hall()
    for directory in hall.manager.directories:
        hall.manager.fail(directory, OSError("gone"))

    create(hall, NewTopic(name="orders"))

    assert hall.broker.metadata.image.topics["orders"].partitions[0].leader == NO_LEADER


def test_partitions_of_a_directory_that_fails_have_no_leader() -> None:
    hall = Hall()
    create(hall, NewTopic(name="orders", partitions=2), NewTopic(name="other"))

    hall.manager.fail(hall.manager.directories[0], OSError("gone"))

    topics = hall.broker.metadata.image.topics
    leaders = [each.leader for topic in topics.values() for each in topic.partitions]
    assert sorted(leaders) == [NO_LEADER, NO_LEADER, 1]


def test_logs_of_no_topic_are_lost_without_a_word() -> None:
    hall = Hall()
    hall.manager.create(partition(0), topic_id=None)
    before = hall.metadata.image

    hall.manager.fail(hall.manager.directories[0], OSError("gone"))

    assert hall.metadata.image is before


def test_missing_topics_are_made_as_the_settings_say() -> None:
    hall = Hall(given={"num.partitions": "3", "offsets.topic.num.partitions": "4"})

    run(hall.broker.topics.make_missing(["orders", "__consumer_offsets"]))

    topics = hall.broker.metadata.image.topics
    assert {name: len(topic.partitions) for name, topic in topics.items()} == {
        "orders": 3,
        "__consumer_offsets": 4,
    }
    assert hall.broker.configs.config_for("__consumer_offsets").is_compacted


def test_topic_gets_more_partitions() -> None:
    hall = Hall()
    create(hall, NewTopic(name="orders", partitions=1))
    before = hall.broker.metadata.image.topics["orders"]

    run(hall.broker.topics.grow([MorePartitions("orders", 3)]))

    topic = hall.broker.metadata.image.topics["orders"]
    assert (topic.topic_id, len(topic.partitions)) == (before.topic_id, 3)
    assert hall.broker.partitions.get("orders", 2).log.partition == partition(2)
    node = hall.store.get(topic_path("orders"))
    assert node is not None
    assert len(decode_topic(node.data, path="").replicas) == 3


def test_topic_grows_only_if_it_may_and_is_told_to() -> None:
    hall = Hall()
    create(hall, NewTopic(name="orders", partitions=2))
    wanted = [MorePartitions("orders", 2), MorePartitions("x", 2)]

    refused = run(hall.broker.topics.grow(wanted))
    run(hall.broker.topics.grow([MorePartitions("orders", 5)], validate_only=True))

    assert [each.code for each in refused if isinstance(each, KafkaError)] == [37, 3]
    assert len(hall.broker.metadata.image.topics["orders"].partitions) == 2


def test_nothing_is_deleted_where_nothing_is_meant() -> None:
    hall = Hall()
    before = hall.metadata.image

    run(hall.broker.topics.delete([Said("x")]))

    assert hall.metadata.image is before


def test_deleted_topic_frees_its_name_at_once_and_its_files_later() -> None:
    hall = Hall()
    create(hall, NewTopic(name="orders", configs=[("retention.ms", "5")]))

    selection = run(hall.broker.topics.delete([Said("orders"), Said("x")]))

    assert [*selection.meant] == ["orders"]
    assert [said for said, _ in selection.refused] == [Said("x")]
    assert hall.store.children("/brokers/topics") == hall.store.children("/config/topics") == []
    with pytest.raises(UnknownTopicOrPartitionError):
        hall.broker.partitions.get("orders", 0)
    assert len(hall.house.names("/a", ending="-delete")) == 1
    hall.house.clock.advance(ms=60_000)
    assert hall.house.names("/a") == []


def test_topic_may_be_made_anew_right_after_its_deletion() -> None:
    hall = Hall()
    create(hall, NewTopic(name="orders", configs=[("retention.ms", "5")]))
    before = hall.broker.metadata.image.topics["orders"]

    run(hall.broker.topics.delete([Said("orders")]))
    create(hall, NewTopic(name="orders"))

    topic = hall.broker.metadata.image.topics["orders"]
    assert topic.topic_id != before.topic_id
    assert hall.broker.partitions.get("orders", 0).topic_id == topic.topic_id
    assert hall.broker.configs.config_for("orders").retention_ms != 5


def test_topic_is_deleted_even_if_its_files_cannot_be_moved() -> None:
    hall = Hall()
    create(hall, NewTopic(name="orders"))
    hall.house.files.script.add(Fault(on="rename", code=errno.ENOSPC))

    run(hall.broker.topics.delete([Said("orders")]))

    assert not hall.broker.metadata.image.topics
    assert any("its files are still there" in event for event in hall.house.events)
