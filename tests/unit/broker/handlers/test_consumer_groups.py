"""Tests of the handlers of groups of the consumer protocol, on a broker with its logs."""

import asyncio
from collections.abc import Callable

import pytest

from cordwood.broker.config.config_resources import ALL_BROKERS, group_resource
from cordwood.broker.handlers.consumer_groups import (
    consumer_group_describe,
    consumer_group_heartbeat,
)
from cordwood.broker.loop_turns import TurnQueue
from cordwood.coordination.groups.consumer.event_weight import LIGHT
from cordwood.coordination.outcome import Outcome
from cordwood.coordination.runtime.long_events import LongEvents
from cordwood.core.errors import InvalidGroupIdError
from cordwood.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    DescribedGroup,
)
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from tests.unit.broker.broker_samples import BrokerHarness, run, turns
from tests.unit.broker.coordinators.coordinator_samples import coordinating, locate
from tests.unit.broker.test_loop_turns import SteppingClock, turns_of


async def beat(
    harness: BrokerHarness, epoch: int = 0, member: str = "m", *, version: int = 1
) -> ConsumerGroupHeartbeatResponse:
    """Send a heartbeat of a member of `g`, which subscribes to `orders`."""
    is_first = epoch == 0
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member,
        member_epoch=epoch,
        rebalance_timeout_ms=60_000 if is_first else -1,
        subscribed_topic_names=["orders"] if is_first else None,
        topic_partitions=[] if is_first else None,
    )
    return await consumer_group_heartbeat(harness.broker, harness.context(version), request)


async def described(harness: BrokerHarness, group_id: str = "g") -> DescribedGroup:
    request = ConsumerGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=True)
    answer = await consumer_group_describe(harness.broker, harness.context(1), request)
    return answer.groups[0]


def test_member_joins_gets_its_partitions_and_leaves() -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinating() as harness:
            await locate(harness)
            joined = await beat(harness)
            assert joined.assignment is not None
            partitions = [each.partitions for each in joined.assignment.topic_partitions]
            before = await described(harness)
            left = await beat(harness, -1)
            after = await described(harness)
            return (
                (joined.error_code, joined.member_epoch, partitions),
                (before.group_state, before.authorized_operations, left.member_epoch),
                after.group_state,
            )

    assert run(scene()) == ((0, 2, [[0, 1]]), ("Stable", 3400, -1), "Empty")


def test_quirk_09_heartbeat_interval_is_that_of_the_settings_and_never_0() -> None:
    async def scene() -> int:
        async with coordinating() as harness:
            await locate(harness)
            return (await beat(harness)).heartbeat_interval_ms

    assert run(scene()) == 5000


@pytest.mark.parametrize(("version", "code"), ((0, 0), (1, 42)))
def test_quirk_10_member_id_is_made_by_the_client_from_version_1_on(
    version: int, code: int
) -> None:
    async def scene() -> tuple[int, bool]:
        async with coordinating() as harness:
            await locate(harness)
            answer = await beat(harness, member="", version=version)
            return answer.error_code, bool(answer.member_id)

    assert run(scene()) == (code, code == 0)


def test_session_ends_by_the_clock_of_the_logs() -> None:
    async def scene() -> int:
        async with coordinating() as harness:
            await locate(harness)
            joined = await beat(harness)
            harness.storage.clock.advance(seconds=46)
            await turns(20)
            return (await beat(harness, joined.member_epoch)).error_code

    assert run(scene()) == 25


def test_group_survives_a_restart_of_its_coordinator() -> None:
    async def scene() -> tuple[int, str]:
        async with coordinating() as harness:
            await locate(harness)
            joined = await beat(harness)
            groups = harness.broker.coordinators.groups
            log = harness.broker.coordinators.group_log(groups.partition_of("g"))
            groups.runtime.elect(log)
            await turns(20)
            again = await beat(harness, joined.member_epoch)
            return again.error_code, (await described(harness)).group_state

    assert run(scene()) == (0, "Stable")


def test_added_partitions_are_assigned() -> None:
    async def scene() -> list[list[int]]:
        async with coordinating() as harness:
            await locate(harness)
            joined = await beat(harness)
            image = harness.metadata.image
            orders = image.topics["orders"]
            grown = type(orders)("orders", orders.topic_id, (*orders.partitions,) * 2)
            harness.metadata.publish(image.with_topic(grown))
            await turns(20)
            harness.storage.clock.advance(seconds=2)
            again = await beat(harness, joined.member_epoch)
            assert again.assignment is not None
            return [each.partitions for each in again.assignment.topic_partitions]

    assert run(scene()) == [[0, 1, 2, 3]]


@pytest.mark.parametrize(("protocols", "code"), (("classic", 35), ("classic,consumer", 16)))
def test_request_without_a_coordinator_or_a_protocol_has_the_error(
    protocols: str, code: int
) -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinating(group_coordinator_rebalance_protocols=protocols) as harness:
            answer, group = await beat(harness), await described(harness)
            return (
                (answer.error_code, answer.member_id, answer.member_epoch),
                answer.heartbeat_interval_ms,
                (group.error_code, group.group_state),
            )

    assert run(scene()) == ((code, None, 0), 0, (code, ""))


def test_assignment_interval_is_changed_while_the_broker_runs() -> None:
    async def scene() -> list[int]:
        async with coordinating() as harness:
            await locate(harness)
            name = "group.consumer.assignment.interval.ms"
            harness.configs.apply(ALL_BROKERS, {name: "0"})
            await beat(harness)
            second = await beat(harness, member="n")
            return [second.error_code, second.member_epoch]

    assert run(scene()) == [0, 3]


def test_settings_of_a_group_count_from_the_next_heartbeat_on() -> None:
    texts = {"consumer.heartbeat.interval.ms": "7000", "consumer.session.timeout.ms": "60000"}

    async def scene() -> tuple[object, ...]:
        async with coordinating() as harness:
            await locate(harness)
            joined = await beat(harness)
            changes = harness.broker.config_changes
            await changes.replace(group_resource("g"), [*texts.items()], validate_only=False)
            second = await beat(harness, joined.member_epoch)
            harness.storage.clock.advance(seconds=59)
            await turns(20)
            third = await beat(harness, joined.member_epoch)
            await changes.replace(group_resource("g"), [], validate_only=False)
            fourth = await beat(harness, joined.member_epoch)
            answers = (joined, second, third, fourth)
            return tuple((each.error_code, each.heartbeat_interval_ms) for each in answers)

    assert run(scene()) == ((0, 5000), (0, 7000), (0, 7000), (0, 5000))


def test_group_that_is_named_twice_is_described_once() -> None:
    async def scene() -> list[str]:
        async with coordinating() as harness:
            request = ConsumerGroupDescribeRequest(
                group_ids=["g", "h", "g"], include_authorized_operations=True
            )
            answer = await consumer_group_describe(harness.broker, harness.context(1), request)
            return [each.group_id for each in answer.groups]

    assert run(scene()) == ["g", "h"]


def test_empty_group_id_is_invalid_in_a_description() -> None:
    async def scene() -> DescribedGroup:
        async with coordinating() as harness:
            await locate(harness)
            return await described(harness, "")

    found = run(scene())
    assert (found.error_code, found.error_message) == (InvalidGroupIdError.code, None)


def test_heartbeat_with_many_names_is_a_long_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """The target of 10,000 topics took 150 ms of the event loop."""
    begun, begin = list[Outcome](), LongEvents.begin

    def counting(events: LongEvents, outcome: Outcome, end: Callable[..., object]) -> None:
        begun.append(outcome)
        begin(events, outcome, end)

    monkeypatch.setattr(LongEvents, "begin", counting)
    unknown = [f"unknown-{number:05}" for number in range(LIGHT)]

    async def scene() -> tuple[int, int, list[str]]:
        async with coordinating() as harness:
            await locate(harness)
            request = ConsumerGroupHeartbeatRequest(
                group_id="g",
                member_id="m",
                member_epoch=0,
                rebalance_timeout_ms=60_000,
                subscribed_topic_names=["orders", *reversed(unknown), "orders"],
                topic_partitions=[],
            )
            answer = await consumer_group_heartbeat(harness.broker, harness.context(1), request)
            assert answer.error_code == 0
            (member,) = (await described(harness)).members
            assigned = len(member.assignment.topic_partitions)
            return len(begun), assigned, member.subscribed_topic_names

    assert run(scene()) == (1, 1, ["orders", *unknown])


def test_members_of_a_large_group_are_described_in_turns() -> None:
    async def scene() -> tuple[int, int]:
        async with coordinating() as harness:
            await locate(harness)
            for number in range(40):
                await beat(harness, member=f"m-{number}")
            harness.broker.turns = TurnQueue(SteppingClock())
            asked = asyncio.ensure_future(described(harness))
            taken = await turns_of(asked)
            return taken, len((await asked).members)

    taken, members = run(scene())
    assert members == 40
    assert taken >= 4
