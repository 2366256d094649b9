"""Tests of brokers in a cluster: replication, leaders, configurations, topics."""

from cordwood.broker.config.config_resources import topic_resource
from cordwood.broker.services import BrokerFeatures
from cordwood.broker.topics.topic_selection import TopicReference
from cordwood.client.aio import Admin, Consumer, Producer
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from tests.unit.node.cluster_samples import (
    Cluster,
    addresses,
    cluster,
    controller_of,
    create_orders,
    high_watermark,
    in_sync,
    leader_of,
    log_end,
    produce,
    until,
)
from tests.unit.node.node_samples import run

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))


def test_records_are_on_all_replicas_when_they_are_acknowledged() -> None:
    async def scene() -> None:
        async with cluster(1, 2, 3) as found:
            await create_orders(found)
            await produce(found, b"a", b"b")
            assert [log_end(found, each) for each in (1, 2, 3)] == [2, 2, 2]
            await until(lambda: all(high_watermark(found, each) == 2 for each in (1, 2, 3)))

    run(scene())


def test_broker_that_stops_moves_its_leaderships_first() -> None:
    async def scene() -> None:
        async with cluster(1, 2, 3) as found:
            await create_orders(found)
            await produce(found, b"a")
            former = leader_of(found.brokers[1])
            await found.stop(former)
            left = [found.brokers[each] for each in found.nodes]
            await until(lambda: all(leader_of(each) != former for each in left))
            await produce(found, b"b")
            assert {log_end(found, each) for each in found.nodes} == {2}

    run(scene())


def test_broker_that_returns_catches_up_and_joins() -> None:
    async def scene() -> None:
        async with cluster(1, 2, 3) as found:
            await create_orders(found)
            former = leader_of(found.brokers[1])
            await found.stop(former)
            await produce(found, b"a", b"b")
            broker = await found.start(former)
            await until(lambda: leader_of(broker) > 0)
            await until(lambda: in_sync(broker) == {1, 2, 3})
            assert log_end(found, former) == 2

    run(scene())


def test_another_broker_is_elected_after_the_end_of_a_session() -> None:
    async def scene() -> None:
        async with cluster(1, 2, 3) as found:
            await create_orders(found)
            controller = (await controller_of(found)).configs.node_id
            before = found.clients[controller].session_id
            found.server.expire(before)
            await until(lambda: found.clients[controller].session_id not in {0, before})
            await controller_of(found)
            await until(lambda: all(in_sync(each) == {1, 2, 3} for each in found.brokers.values()))
            await produce(found, b"a")

    run(scene())


def test_changed_configuration_reaches_every_broker() -> None:
    async def scene() -> None:
        async with cluster(1, 2, 3) as found:
            await create_orders(found)
            resource = topic_resource("orders")
            await found.brokers[1].config_changes.replace(
                resource, [("retention.ms", "1000")], validate_only=False
            )
            logs = [each.partitions.get("orders", 0).log for each in found.brokers.values()]
            await until(lambda: all(log.config.retention_ms == 1000 for log in logs))

    run(scene())


def test_leader_with_a_lost_directory_is_replaced() -> None:
    async def scene() -> None:
        async with cluster(1, 2, 3) as found:
            await create_orders(found)
            former = leader_of(found.brokers[1])
            manager = found.brokers[former].logs
            (directory,) = manager.directories
            manager.fail(directory, OSError("gone"))
            await until(lambda: all(leader_of(each) != former for each in found.brokers.values()))
            assert former not in in_sync(found.brokers[former])

    run(scene())


def test_deleted_topic_leaves_no_log() -> None:
    async def scene() -> None:
        async with cluster(1, 2, 3) as found:
            await create_orders(found)
            controller = await controller_of(found)
            await controller.topics.delete([TopicReference("orders")])
            await until(lambda: not any(each.logs.logs for each in found.brokers.values()))
            await until(
                lambda: not any(each.metadata.image.topics for each in found.brokers.values())
            )

    run(scene())


async def values_of(consumer: Consumer, count: int) -> list[bytes | None]:
    values = list[bytes | None]()
    while len(values) < count:
        values += [each.value for each in await consumer.poll()]
    return values


def reader(found: Cluster) -> Consumer:
    return Consumer(addresses(found), group_id="readers", auto_offset_reset="earliest")


def test_group_continues_when_its_coordinator_stops() -> None:
    async def scene() -> None:
        async with cluster(1, 2, 3) as found:
            await create_orders(found)
            await produce(found, b"a", b"b")
            async with reader(found) as consumer:
                consumer.subscribe(["orders"])
                assert await values_of(consumer, 2) == [b"a", b"b"]
                await consumer.commit()
                offsets = found.brokers[1].metadata.image.topics["__consumer_offsets"]
                await found.stop(offsets.partitions[0].leader)
                await produce(found, b"c")
                assert await values_of(consumer, 1) == [b"c"]
                await consumer.commit()
            async with reader(found) as consumer:
                ((_, committed),) = (await consumer.committed([("orders", 0)])).items()
                assert committed is not None
                assert committed.offset == 3

    run(scene())


def test_transaction_has_its_markers_on_the_leaders_of_other_brokers() -> None:
    async def scene() -> None:
        async with cluster(1, 2, 3) as found:
            await create_orders(found, partitions=3)
            async with Producer(addresses(found), transactional_id="writer") as producer:
                await producer.begin()
                for number in range(3):
                    await producer.send("orders", b"a", partition=number)
                await producer.commit()
            leaders = [leader_of(found.brokers[1], number) for number in range(3)]
            assert {*leaders} == {1, 2, 3}
            logs = [
                found.brokers[leader].partitions.get("orders", number).log
                for number, leader in enumerate(leaders)
            ]
            await until(lambda: all(log.bounds.last_stable == 2 for log in logs))

    run(scene())


def test_broker_whose_sessions_end_one_after_the_other_registers_again() -> None:
    async def scene() -> None:
        async with cluster(1, 2, 3) as found:
            await create_orders(found)
            client, ids = found.clients[2], set[int]()
            while len(ids) < 3:
                await until(lambda: client.session_id not in {0, *ids})
                ids.add(client.session_id)
                found.server.expire(client.session_id)
            await controller_of(found)
            await until(lambda: all(in_sync(each) == {1, 2, 3} for each in found.brokers.values()))

    run(scene())


def test_unclean_elections_are_allowed_for_one_topic() -> None:
    async def scene() -> None:
        async with cluster(1, 2, 3) as found:
            await create_orders(found)
            last = leader_of(found.brokers[1])
            for each in {1, 2, 3} - {last}:
                await found.stop(each)
            await until(lambda: in_sync(found.brokers[last]) == {last})
            await found.stop(last)
            other = min({1, 2, 3} - {last})
            broker = await found.start(other)
            await until(lambda: "orders" in broker.metadata.image.topics)
            assert leader_of(broker) < 0
            await broker.config_changes.replace(
                topic_resource("orders"),
                [("unclean.leader.election.enable", "true")],
                validate_only=False,
            )
            await until(lambda: leader_of(broker) == other)

    run(scene())


def test_replicas_move_between_directories_while_records_arrive() -> None:
    async def scene() -> None:
        async with cluster() as found:
            for node_id in (1, 2, 3):
                await found.start(node_id, log_dirs="/a,/b")
            await create_orders(found)
            await produce(found, b"a")
            before = {each: directory_of(found, each) for each in found.nodes}
            after = {each: "/b" if path == "/a" else "/a" for each, path in before.items()}
            async with Admin(addresses(found)) as admin:
                for node_id, path in after.items():
                    errors = await admin.alter_replica_log_dirs(node_id, {("orders", 0): path})
                    assert errors == {ORDERS: None}
                    await produce(found, b"b")
            await until(lambda: {each: directory_of(found, each) for each in found.nodes} == after)
            await produce(found, b"c")
            assert {log_end(found, each) for each in found.nodes} == {5}
            assert in_sync(found.brokers[1]) == {1, 2, 3}

            former = leader_of(found.brokers[1])
            await found.stop(former)
            await produce(found, b"d")
            broker = await found.start(former, log_dirs="/a,/b")
            await until(lambda: leader_of(broker) > 0 and in_sync(broker) == {1, 2, 3})
            assert (directory_of(found, former), log_end(found, former)) == (after[former], 6)

    run(scene())


def directory_of(found: Cluster, node_id: int) -> str:
    """Return the log directory of the replica."""
    return found.brokers[node_id].logs.logs[ORDERS].directory.rpartition("/")[0]


def test_broker_of_a_cluster_finalizes_no_features() -> None:
    async def scene() -> None:
        async with cluster(1) as found:
            assert found.brokers[1].features == BrokerFeatures(epoch=-1)

    run(scene())
