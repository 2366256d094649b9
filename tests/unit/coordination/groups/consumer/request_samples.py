"""Requests of members of both protocols, for the group g."""

from collections.abc import Iterable

from cordwood.coordination.groups.consumer.consumer_group_configs import ConsumerGroupConfigs
from cordwood.coordination.groups.consumer.consumer_group_state import ConsumerGroupShardState
from cordwood.coordination.outcome import Outcome
from cordwood.core.ports import Random
from cordwood.core.uuids import Uuid
from cordwood.protocol.codec import encode, joined
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from cordwood.protocol.messages.internal import ConsumerProtocolSubscription
from cordwood.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from cordwood.testing.seeded_random import SeededRandom
from tests.unit.coordination.groups.consumer.consumer_harness import (
    TICKET,
    ConsumerHarness,
    client,
)


def heartbeat_request(
    member_id: str,
    epoch: int,
    *,
    topics: Iterable[str] | None = None,
    owned: dict[Uuid, list[int]] | None = None,
    instance: str | None = None,
    regex: str | None = None,
) -> ConsumerGroupHeartbeatRequest:
    """Return a heartbeat; one with epoch 0 has all required fields."""
    is_joining = epoch == 0
    partitions = {} if is_joining and owned is None else owned
    return ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member_id,
        member_epoch=epoch,
        instance_id=instance,
        rebalance_timeout_ms=5_000 if is_joining else -1,
        subscribed_topic_names=None if topics is None else list(topics),
        subscribed_topic_regex=regex,
        topic_partitions=None
        if partitions is None
        else [TopicPartitions(topic_id=topic, partitions=of) for topic, of in partitions.items()],
    )


def outcome_of(harness: ConsumerHarness, request: ConsumerGroupHeartbeatRequest) -> Outcome:
    return harness.groups.consumer_group_heartbeat(
        request, client(), ticket=TICKET, now_ms=harness.now_ms
    )


def send(
    harness: ConsumerHarness, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse:
    """Send a heartbeat; return its response, or raise its error."""
    response = harness.answer(outcome_of(harness, request))
    assert isinstance(response, ConsumerGroupHeartbeatResponse)
    return response


def join_request(
    member_id: str, topics: list[str], *, instance: str | None = None, metadata: bytes | None = None
) -> JoinGroupRequest:
    """Return a JoinGroup request with the protocol range."""
    return JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=5_000,
        member_id=member_id,
        group_instance_id=instance,
        protocol_type="consumer",
        protocols=[
            JoinGroupRequestProtocol(
                name="range", metadata=subscription(topics) if metadata is None else metadata
            )
        ],
    )


def subscription(topics: list[str]) -> bytes:
    """Return the metadata of a member that owns nothing."""
    return b"\0\1" + joined(encode(ConsumerProtocolSubscription(topics=topics), 1))


def shard_state(harness: ConsumerHarness, random: Random | None = None) -> ConsumerGroupShardState:
    """Return a state of its own over the groups of a harness."""
    state = ConsumerGroupShardState(
        harness.registry,
        ConsumerGroupConfigs(harness.settings),
        classic=harness.classic,
        random=random or SeededRandom(2),
    )
    state.view = harness.view
    return state
