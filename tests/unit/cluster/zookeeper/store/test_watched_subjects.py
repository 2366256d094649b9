"""Tests of the subjects of the stream: the events of each kind of change."""

from collections.abc import Awaitable, Callable

import pytest

from cordwood.cluster.controller.context.live_broker import BrokerEndpoint
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.zookeeper.client.zookeeper_client import CreateOp
from cordwood.cluster.zookeeper.store.guarded_writes import ControllerGuard
from cordwood.cluster.zookeeper.store.metadata_event import (
    BrokerModified,
    BrokersChanged,
    ConfigChanged,
    ControllerChanged,
    DeletionsRequested,
    ElectionsRequested,
    IsrChangesNotified,
    LogDirFailuresNotified,
    MetadataDamaged,
    MetadataEvent,
    PartitionsChanged,
    ReassignmentsRequested,
    SessionConnected,
    TopicsChanged,
)
from cordwood.cluster.zookeeper.store.watched_subjects import Subject
from cordwood.cluster.zookeeper.znodes.broker_znode import BrokerRegistration
from cordwood.cluster.zookeeper.znodes.event_znodes import ConfigEntity
from cordwood.cluster.zookeeper.znodes.partition_list_znodes import encode_partitions
from tests.unit.cluster.zookeeper.store.store_values import PARTITIONS, TOPIC
from tests.unit.cluster.zookeeper.store.store_world import Member, StoreWorld, play

Change = Callable[[Member, ControllerGuard], Awaitable[object]]


def broker(rack: str) -> BrokerRegistration:
    endpoints = (BrokerEndpoint("PLAINTEXT", "h", 9092),)
    return BrokerRegistration(broker_id=2, endpoints=endpoints, rack=rack)


async def reported(
    world: StoreWorld, subject: Subject, *changes: Change
) -> list[list[MetadataEvent]]:
    """Return the distinct events at the start, then those of each change by another broker."""
    member, other = await world.member(1), await world.member(2)
    guard = await other.elected()
    await other.store.brokers.register(broker("r0"))
    assert await member.events(1) == [SessionConnected()]
    seen, groups = member.collect(world.world), list[list[MetadataEvent]]()
    member.store.events.follow(subject)
    for change in (_none, *changes):
        await change(other, guard)
        await world.settle()
        groups.append([*dict.fromkeys(seen)])
        seen.clear()
    return groups


async def _none(member: Member, guard: ControllerGuard) -> None:
    """Change nothing."""


def raw(path: str, data: bytes) -> Change:
    """Return the creation of a node, as another program makes it."""
    return lambda member, _: member.client.create(path, data)


def play_reported(subject: Subject, *changes: Change) -> list[list[MetadataEvent]]:
    return play(lambda world: reported(world, subject, *changes))


async def resign_and_return(member: Member, guard: ControllerGuard) -> None:
    await member.store.election.resign(guard)
    await member.elected()


async def close(member: Member, _: ControllerGuard) -> None:
    await member.store.close()


def test_controller_is_reported() -> None:
    assert play_reported(Subject.CONTROLLER, resign_and_return, close) == [
        [ControllerChanged(2)],
        [ControllerChanged(None), ControllerChanged(2)],
        [ControllerChanged(None)],
    ]


def test_brokers_are_reported() -> None:
    events = play_reported(
        Subject.BROKERS,
        lambda member, _: member.store.brokers.update(broker("r1")),
        raw("/brokers/ids/9", b'{"version":1,"host":"h","port":1}'),
        lambda member, _: member.client.set("/brokers/ids/9", b"damaged"),
        close,
    )

    assert events[0] == events[2] == events[4] == [BrokersChanged()]
    (modified,), (damaged,) = events[1], events[3]
    assert isinstance(modified, BrokerModified)
    assert (modified.broker.broker_id, modified.broker.rack) == (2, "r1")
    assert isinstance(damaged, MetadataDamaged)
    assert damaged.error.path == "/brokers/ids/9"


async def recreate_topic(member: Member, guard: ControllerGuard) -> None:
    await member.store.topics.delete("t", guard)
    await member.store.topics.create("t", TOPIC, configs={})


def test_topics_are_reported() -> None:
    assert play_reported(
        Subject.TOPICS,
        lambda member, _: member.store.topics.create("t", TOPIC, configs={}),
        lambda member, _: member.store.topics.write_assignment("t", {0: ReplicaAssignment((1,))}),
        recreate_topic,
        lambda member, guard: member.store.topics.delete("t", guard),
    ) == [
        [TopicsChanged()],
        [TopicsChanged()],
        [PartitionsChanged("t")],
        [TopicsChanged()],
        [TopicsChanged()],
    ]


async def request_deletion(member: Member, guard: ControllerGuard) -> None:
    await member.store.topics.create("t", TOPIC, configs={})
    await member.store.topics.request_deletion("t")


def test_requested_deletions_are_reported() -> None:
    assert play_reported(
        Subject.DELETIONS,
        request_deletion,
        lambda member, guard: member.store.administration.drop_deletions(["t"], guard),
    ) == [[], [DeletionsRequested()], []]


@pytest.mark.parametrize(
    ("subject", "path", "event"),
    (
        (Subject.REASSIGNMENTS, "/admin/reassign_partitions", ReassignmentsRequested()),
        (Subject.ELECTIONS, "/admin/preferred_replica_election", ElectionsRequested()),
    ),
)
def test_requests_of_administrators_are_reported(
    subject: Subject, path: str, event: MetadataEvent
) -> None:
    assert play_reported(
        subject,
        raw(path, b"{}"),
        lambda member, _: member.client.set(path, b"{ }"),
        lambda member, _: member.client.delete(path),
    ) == [[], [event], [event], []]


async def notify_twice(member: Member, guard: ControllerGuard) -> None:
    await member.client.multi(
        [
            CreateOp(f"/isr_change_notification/{name}", data, sequential=True)
            for name, data in (
                ("isr_change_", encode_partitions(PARTITIONS[:2])),
                ("isr_change_", encode_partitions(PARTITIONS[1:])),
            )
        ]
    )


def test_changes_of_in_sync_sets_are_reported_with_their_numbers() -> None:
    assert play_reported(
        Subject.ISR_CHANGES,
        notify_twice,
        lambda member, guard: member.store.notifications.drop_isr_changes([0, 1], guard),
        lambda member, _: member.store.notifications.notify_isr_changes(PARTITIONS[:1]),
    ) == [
        [],
        [IsrChangesNotified(PARTITIONS, (0, 1))],
        [],
        [IsrChangesNotified(PARTITIONS[:1], (2,))],
    ]


def test_lost_log_directories_are_reported_with_their_numbers() -> None:
    first, damaged = play_reported(
        Subject.LOG_DIR_FAILURES,
        lambda member, _: member.store.notifications.notify_log_dir_failure(2),
        raw("/log_dir_event_notification/log_dir_event_0000000007", b"x"),
    )[1:]

    assert first == [LogDirFailuresNotified((2,), (0,))]
    assert isinstance(damaged[0], MetadataDamaged)
    assert damaged[1:] == [LogDirFailuresNotified((), (7,))]


def test_configurations_are_reported_each() -> None:
    topic, brokers = (ConfigEntity("topics", "t"),), (ConfigEntity("brokers", ""),)

    async def write_both(member: Member, _: ControllerGuard) -> None:
        await member.store.configs.write(topic, {"k": "1"})
        await member.store.configs.write(brokers, {"k": "2"})

    events = play_reported(
        Subject.CONFIGS, write_both, raw("/config/changes/config_change_0000000009", b"x")
    )

    assert events[:2] == [[], [ConfigChanged(topic), ConfigChanged(brokers)]]
    assert isinstance(events[2][0], MetadataDamaged)
