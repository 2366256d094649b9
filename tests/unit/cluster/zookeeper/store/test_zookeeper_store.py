"""Tests of the whole store: every operation under a fault at each of its requests."""

from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, TypeAlias

import pytest

from cordwood.cluster.controller.context.live_broker import BrokerEndpoint
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.zookeeper.client.zookeeper_errors import SessionExpiredError
from cordwood.cluster.zookeeper.store.guarded_writes import ControllerGuard
from cordwood.cluster.zookeeper.znodes.broker_znode import BrokerRegistration
from cordwood.cluster.zookeeper.znodes.event_znodes import ConfigEntity
from tests.unit.cluster.zookeeper.store.store_values import FIRST, PARTITIONS, SECOND, TOPIC
from tests.unit.cluster.zookeeper.store.store_world import Member, StoreWorld

BROKER: Final = BrokerRegistration(
    broker_id=1, endpoints=(BrokerEndpoint("PLAINTEXT", "h1", 9092),), rack="r1"
)

Step: TypeAlias = Callable[[Member, ControllerGuard], Awaitable[object]]


async def nothing(member: Member, guard: ControllerGuard) -> None:
    """Prepare nothing."""


async def topic_exists(member: Member, guard: ControllerGuard) -> None:
    await member.store.topics.create("t", TOPIC, configs={"retention.ms": "1"})


async def leaderships_exist(member: Member, guard: ControllerGuard) -> None:
    await topic_exists(member, guard)
    await member.store.leaderships.create(FIRST, guard)


async def deletion_is_requested(member: Member, guard: ControllerGuard) -> None:
    await leaderships_exist(member, guard)
    await member.store.topics.request_deletion("t")


async def notifications_exist(member: Member, guard: ControllerGuard) -> None:
    await member.store.notifications.notify_isr_changes(PARTITIONS)
    await member.store.notifications.notify_log_dir_failure(1)


async def write_leaderships(member: Member, guard: ControllerGuard) -> object:
    return (await member.store.leaderships.write(SECOND, guard)).written


async def create_leaderships(member: Member, guard: ControllerGuard) -> object:
    return (await member.store.leaderships.create(FIRST, guard)).written


async def register(member: Member, guard: ControllerGuard) -> None:
    await member.store.brokers.register(BROKER)


class Operation(NamedTuple):
    """An operation that a controller performs after its preparation."""

    name: str
    prepare: Step
    perform: Step


OPERATIONS: Final = (
    Operation("register", nothing, register),
    Operation("cluster id", nothing, lambda m, _: m.store.facts.cluster_id(lambda: "drawn")),
    Operation("producer ids", nothing, lambda m, _: m.store.facts.claim_producer_ids(1)),
    Operation("create topic", nothing, lambda m, _: m.store.topics.create("t", TOPIC, configs={})),
    Operation(
        "assignment",
        topic_exists,
        lambda m, g: m.store.topics.write_assignment("t", {0: ReplicaAssignment((3,))}, guard=g),
    ),
    Operation("create leaderships", topic_exists, create_leaderships),
    Operation("write leaderships", leaderships_exist, write_leaderships),
    Operation("delete topic", deletion_is_requested, lambda m, g: m.store.topics.delete("t", g)),
    Operation(
        "reassignments",
        nothing,
        lambda m, g: m.store.administration.write_reassignments({PARTITIONS[0]: (2,)}, g),
    ),
    Operation("drop notes", notifications_exist, lambda m, g: m.store.notifications.drop_all(g)),
    Operation(
        "config",
        nothing,
        lambda m, _: m.store.configs.write(
            (ConfigEntity("users", "u"), ConfigEntity("clients", "c")), {"k": "v"}
        ),
    ),
    Operation("resign", nothing, lambda m, g: m.store.election.resign(g)),
)


def _facts(world: StoreWorld) -> dict[str, bytes]:
    """Return the nodes, without those that a repeated notification may double."""
    return {path: data for path, data in world.nodes().items() if "/config_change_" not in path}


class Run(NamedTuple):
    """The result of an operation, the nodes after it, and the number of its requests."""

    result: object
    nodes: dict[str, bytes]
    requests: int


def perform(operation: Operation, fault: "Fault | None" = None, *, at: int = 0) -> Run:
    """Perform an operation with a fault at one of its requests."""
    world, sent = StoreWorld(), [0]

    async def scene() -> object:
        member = await world.member(1)
        guard = await member.elected()
        await operation.prepare(member, guard)

        def on_send() -> None:
            sent[0] += 1
            if fault is not None and sent[0] == at + 1:
                world.world.after(0, lambda: fault(world, member))

        member.client.on_send = on_send
        return await operation.perform(member, guard)

    result = world.run(scene())
    return Run(result, _facts(world), sent[0])


Fault: TypeAlias = Callable[[StoreWorld, Member], object]


def lose_requests(_: StoreWorld, member: Member) -> None:
    member.client.break_connection()


def lose_responses(_: StoreWorld, member: Member) -> None:
    member.client.break_connection(member.client.requests_on_the_way)


def lose_half(_: StoreWorld, member: Member) -> None:
    member.client.break_connection((member.client.requests_on_the_way + 1) // 2)


@pytest.mark.parametrize("fault", (lose_requests, lose_responses, lose_half))
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_operation_has_the_same_effect_with_a_lost_connection_at_each_request(
    operation: Operation, fault: Fault
) -> None:
    expected = perform(operation)

    for at in range(expected.requests):
        run = perform(operation, fault, at=at)

        assert run.result == expected.result, f"request {at}"
        assert run.nodes == expected.nodes, f"request {at}"


def expire_before(world: StoreWorld, member: Member) -> None:
    world.server.expire(member.client.session_id)


def expire_after(world: StoreWorld, member: Member) -> None:
    member.client.cut(member.client.requests_on_the_way)

    def expire() -> None:
        world.server.expire(member.client.session_id)
        member.client.heal()

    world.world.after(50, expire)


@pytest.mark.parametrize("fault", (expire_before, expire_after))
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_operation_ends_with_the_session_at_each_request(
    operation: Operation, fault: Fault
) -> None:
    for at in range(perform(operation).requests):
        with pytest.raises(SessionExpiredError):
            perform(operation, fault, at=at)


def test_registration_and_role_end_with_the_session() -> None:
    world = StoreWorld()

    async def scene() -> None:
        member = await world.member(1)
        await member.store.brokers.register(BROKER)
        await member.elected()
        await member.store.close()

    world.run(scene())

    assert "/brokers/ids/1" not in world.nodes()
    assert "/controller" not in world.nodes()
    assert world.nodes()["/controller_epoch"] == b"1"


@pytest.mark.parametrize("fault", (lose_requests, lose_responses, lose_half))
def test_store_starts_with_a_lost_connection_at_each_request(fault: Fault) -> None:
    expected = started(None, at=0)

    for at in range(expected.requests):
        assert started(fault, at=at).nodes == expected.nodes, f"request {at}"


def started(fault: Fault | None, *, at: int) -> Run:
    """Start the store of the first broker, with a fault at one of its requests."""
    world, sent = StoreWorld(), [0]
    member = Member(world, 1)

    def on_send() -> None:
        sent[0] += 1
        if fault is not None and sent[0] == at + 1:
            world.world.after(0, lambda: fault(world, member))

    member.client.on_send = on_send
    world.run(member.store.start())
    return Run(None, world.nodes(), sent[0])
