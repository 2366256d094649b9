"""Tests of the runtime of group shards: regular expressions are matched outside of the loop."""

import pytest

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.group_shard import GroupShard
from cordwood.coordination.groups.consumer.topics.regex_resolution import RegexResolution
from cordwood.coordination.runtime.group_runtime import GroupRuntime
from cordwood.coordination.runtime.runtime_ports import ShardKind
from cordwood.coordination.topic_view import TopicFacts, Topics
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from cordwood.protocol.messages.internal import GROUP_RECORDS
from cordwood.testing.seeded_random import SeededRandom
from tests.unit.broker.broker_samples import run, turns
from tests.unit.coordination.runtime.runtime_samples import RuntimeHarness

ORDERS = TopicFacts("orders", Uuid(b"the id of orders"), 2)


class GroupRuntimeHarness:
    """A group coordinator of one partition, in a cluster with the topic `orders`."""

    def __init__(self) -> None:
        self.base = base = RuntimeHarness()
        kind = ShardKind(
            "__consumer_offsets", GROUP_RECORDS, lambda _: GroupShard(random=SeededRandom(1))
        )
        self.log = base.log()
        self.runtime = GroupRuntime(kind, base.ports)
        self.runtime.update_topics(Topics([ORDERS], version=1))

    async def elect(self) -> None:
        self.runtime.elect(self.log)
        await turns(10)

    async def beat(self, epoch: int) -> ConsumerGroupHeartbeatResponse:
        """Send a heartbeat of a member that subscribes by an expression."""
        is_first = epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id="m",
            member_epoch=epoch,
            rebalance_timeout_ms=60_000 if is_first else -1,
            subscribed_topic_regex="ord.*" if is_first else None,
            topic_partitions=[] if is_first else None,
        )
        answer = await self.runtime.call(
            0,
            lambda shard, ticket, now_ms: shard.consumer_group_heartbeat(
                request, ClientContext(1), ticket=ticket, now_ms=now_ms
            ),
            answer=ConsumerGroupHeartbeatResponse,
        )
        await turns(10)
        return answer


def test_expression_is_resolved_after_the_heartbeat_that_brought_it() -> None:
    async def scene() -> tuple[object, object]:
        harness = GroupRuntimeHarness()
        await harness.elect()
        first = await harness.beat(0)
        harness.base.clock.advance(seconds=2)  # above the interval between assignments
        second = await harness.beat(first.member_epoch)
        assert first.assignment is not None
        assert second.assignment is not None
        return first.assignment.topic_partitions, [
            (each.topic_id, each.partitions) for each in second.assignment.topic_partitions
        ]

    assert run(scene()) == ([], [(ORDERS.topic_id, [0, 1])])


def test_failed_resolution_is_logged_and_leaves_the_shard_serving(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("odd")

    async def scene() -> int:
        harness = GroupRuntimeHarness()
        await harness.elect()
        monkeypatch.setattr(RegexResolution, "resolve", fail)
        first = await harness.beat(0)
        return (await harness.beat(first.member_epoch)).error_code

    assert run(scene()) == 0
    assert "ValueError: odd" in caplog.text
