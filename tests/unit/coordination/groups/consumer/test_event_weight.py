"""An event of a consumer group is long by its names, members, topics and partitions."""

import pytest

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.groups.consumer.event_weight import LIGHT
from cordwood.coordination.outcome import Outcome
from cordwood.coordination.topic_view import TopicFacts
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from cordwood.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tests.unit.coordination.shard_harness import ShardHarness

SMALL = TopicFacts("small", Uuid(bytes(15) + b"\x01"), 3)
WIDE = TopicFacts("wide", Uuid(bytes(15) + b"\x02"), LIGHT)
MANY = [TopicFacts(f"t-{n}", Uuid(n.to_bytes(16)), 1) for n in range(1_000, 1_000 + LIGHT // 2)]
CLIENT = ClientContext(1, "c", "/127.0.0.1")


def harness() -> ShardHarness:
    made = ShardHarness((SMALL, WIDE, *MANY))
    made.now_ms = 1_000
    return made


def join(*names: str, member: str = "m", regex: str | None = None) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member,
        member_epoch=0,
        rebalance_timeout_ms=1_000,
        subscribed_topic_names=[*names],
        subscribed_topic_regex=regex,
        topic_partitions=[],
    )


def plain(epoch: int, member: str = "m") -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(group_id="g", member_id=member, member_epoch=epoch)


def begun(shard: ShardHarness, request: ConsumerGroupHeartbeatRequest) -> Outcome:
    return shard.shard.consumer_group_heartbeat(
        request, CLIENT, ticket=shard.ticket(), now_ms=shard.now_ms
    )


def is_long(shard: ShardHarness, request: ConsumerGroupHeartbeatRequest) -> bool:
    """Run a heartbeat; return whether it was long."""
    outcome = begun(shard, request)
    is_long = outcome.rest is not None
    shard.run(outcome)
    return is_long


@pytest.mark.parametrize(
    ("names", "expected"),
    (
        (["small"], False),
        (["wide"], True),
        ([each.name for each in MANY], True),
        ([f"unknown-{number}" for number in range(LIGHT - 1)], False),
        ([f"unknown-{number}" for number in range(LIGHT + 1)], True),
    ),
)
def test_join_is_long_by_its_names_and_their_partitions(
    names: list[str], *, expected: bool
) -> None:
    assert is_long(harness(), join(*names)) is expected


def test_heartbeat_without_a_change_is_short_in_a_large_group() -> None:
    shard = harness()
    shard.run(begun(shard, join("wide")))
    shard.run(begun(shard, plain(2)))  # compares its topics with those of the last epoch

    assert not is_long(shard, plain(2))


def test_heartbeat_that_computes_a_target_is_long() -> None:
    shard = harness()
    shard.run(begun(shard, join("wide")))
    shard.run(begun(shard, join("small", member="n")))

    shard.now_ms += 2_000

    assert is_long(shard, plain(3, "n"))


def test_second_member_within_the_assignment_interval_is_short() -> None:
    shard = harness()
    shard.run(begun(shard, join(*(each.name for each in MANY[:100]))))
    grown = replace_partitions(WIDE, 1)
    shard.set_topics((SMALL, grown, *MANY))

    assert not is_long(shard, join("small", member="n"))


def test_member_on_its_way_to_a_large_target_is_long() -> None:
    shard = harness()
    shard.run(begun(shard, join("wide")))
    shard.run(begun(shard, join("wide", member="n")))
    shard.now_ms += 2_000
    shard.run(begun(shard, plain(2)))

    assert is_long(shard, plain(2))


def test_many_members_make_the_next_target_long() -> None:
    shard = harness()
    for number in range(LIGHT // 4):
        shard.run(begun(shard, join("small", member=f"m-{number}")))
    shard.now_ms += 2_000

    assert is_long(shard, join("small", member="last"))


def test_classic_join_of_a_consumer_group_is_long_by_its_subscription() -> None:
    shard = harness()
    shard.run(begun(shard, join("small")))

    outcomes = [
        shard.shard.join_group(classic_join(size), CLIENT, ticket=shard.ticket(), now_ms=1_000)
        for size in (9 * LIGHT, 0)
    ]

    assert [each.rest is not None for each in outcomes] == [True, False]


def test_long_heartbeat_has_the_answer_and_the_records_of_a_short_one() -> None:
    shard = harness()
    ticket = shard.ticket()
    names = [each.name for each in MANY]
    outcome = shard.shard.consumer_group_heartbeat(
        join(*reversed(names)), CLIENT, ticket=ticket, now_ms=0
    )
    records = shard.run(outcome)

    answer = shard.answer(ticket, ConsumerGroupHeartbeatResponse)

    assert [each.type for each in records] == [5, 3, 7, 6, 8]
    assert answer.assignment is not None
    assert len(answer.assignment.topic_partitions) == len(MANY)


def replace_partitions(topic: TopicFacts, partitions: int) -> TopicFacts:
    return topic._replace(partitions=partitions)


def classic_join(size: int) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=1_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=bytes(size))],
    )
