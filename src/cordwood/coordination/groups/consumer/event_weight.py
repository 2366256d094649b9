"""Weight of an event of a consumer group, which decides the thread that runs it (Kafka: none).

    names, or a new member     the names, and those of the group
    a target is due            members with their names, topics with their partitions
    a member without its target    its partitions and names
    a conversion               the members of the classic group

A topic, partition or name weighs 1: a few microseconds. An event above `LIGHT` takes more than
about 10 ms. Sums end there, so that the weight itself takes 2 ms at most.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.consumer.assignors.group_spec import NO_PARTITIONS
from cordwood.coordination.groups.consumer.consumer_group_state import ConsumerGroupShardState
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_member import ConsumerGroupMember
from cordwood.coordination.topic_view import TopicView
from cordwood.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from cordwood.protocol.messages.join_group import JoinGroupRequest

#: The weight up to which the event loop runs an event itself.
LIGHT: Final = 2_000
_OF_MEMBER: Final = 4
_OF_CONVERTED_MEMBER: Final = 20
#: The bytes of a classic subscription that weigh as much as a name.
_BYTES_OF_A_NAME: Final = 8


def is_long_heartbeat(
    state: ConsumerGroupShardState, request: ConsumerGroupHeartbeatRequest, *, now_ms: int
) -> bool:
    """Return whether a heartbeat is a long event."""
    names = request.subscribed_topic_names or ()
    is_change = bool(names) or request.subscribed_topic_regex is not None
    weights = _of_request(
        state, request.group_id, request.member_id, is_change=is_change, now_ms=now_ms
    )
    return _exceeds(chain((len(names),), _of_topics(names, state.view), weights))


def is_long_join(state: ConsumerGroupShardState, request: JoinGroupRequest, *, now_ms: int) -> bool:
    """Return whether a JoinGroup request to a consumer group is a long event."""
    size = sum(len(each.metadata) for each in request.protocols) // _BYTES_OF_A_NAME
    weights = _of_request(state, request.group_id, request.member_id, is_change=True, now_ms=now_ms)
    return _exceeds(chain((size,), weights))


def _exceeds(weights: Iterable[int]) -> bool:
    total = 0
    for each in weights:
        total += each
        if total > LIGHT:
            return True
    return False


def _of_request(
    state: ConsumerGroupShardState,
    group_id: str,
    member_id: str,
    *,
    is_change: bool,
    now_ms: int,
) -> Iterator[int]:
    """Yield the weights of the group and of the member of a request."""
    group = state.registry.by_id.get(group_id)
    if isinstance(group, ClassicGroup):
        yield _OF_CONVERTED_MEMBER * len(group.members)
    if not isinstance(group, ConsumerGroup):
        return
    if group.classic_members:
        yield _OF_CONVERTED_MEMBER * len(group.members)
    member = group.members.get(member_id)
    is_outdated = group.has_stale_topics or group.group_epoch > group.assignment_epoch
    if member is None or is_change or is_outdated:
        yield from _of_subscriptions(group)
        if state.may_assign(group, now_ms):
            yield from _of_assignment(group, state.view)
    elif member.is_reconciled_to(group.assignment_epoch):
        return
    if member is not None:
        yield from _of_member(group, member)


def _of_subscriptions(group: ConsumerGroup) -> Iterator[int]:
    yield len(group.subscriptions.names)
    yield from (len(each.topics) for each in group.subscriptions.resolved.values())


def _of_assignment(group: ConsumerGroup, view: TopicView) -> Iterator[int]:
    yield _OF_MEMBER * len(group.members)
    yield from (len(each.topic_names) for each in group.members.values())
    yield from _of_topics(group.subscriptions.names, view)
    for each in group.subscriptions.resolved.values():
        yield from _of_topics(each.topics, view)


def _of_topics(names: Iterable[str], view: TopicView) -> Iterator[int]:
    """Yield the partitions of each topic that exists."""
    for name in names:
        topic = view.by_name(name)
        yield 0 if topic is None else 1 + topic.partitions


def _of_member(group: ConsumerGroup, member: ConsumerGroupMember) -> Iterator[int]:
    yield len(member.topic_names)
    for partitions in (group.target.get(member.member_id, NO_PARTITIONS), member.assigned):
        yield len(partitions)
        yield from map(len, partitions.values())
