"""Commands that need no kind of group: a shard, its topics, its time, and members that join.

A member of a script has a name; its member id is that of the shard.
"""

from typing import Final

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.topic_view import TopicFacts
from cordwood.core.errors import NotEnoughReplicasError, error_for_code
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from cordwood.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.internal import (
    GroupMetadataKey,
    OffsetCommitKey,
    OffsetCommitValue,
)
from cordwood.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from cordwood.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from cordwood.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from cordwood.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from tests.scripts.transcript import error_name
from tests.unit.coordination.shard_harness import ShardHarness

_LATEST_JOIN: Final = 3
_LATEST_LEAVE: Final = 5


class ShardCommands:
    """A shard; a topic has the id of its number among the topics ever created."""

    def __init__(self) -> None:
        self._ids = 0
        self.topics = dict[str, TopicFacts]()
        self.members = dict[str, str]()
        self.harness = ShardHarness()

    def settings(
        self, *, retention: int = 604_800_000, check: int = 600_000, metadata: int = 4_096
    ) -> None:
        """Set the retention, the interval of its checks and the limit of metadata, and start."""
        self.harness = ShardHarness(
            settings=GroupSettings(
                offsets_retention_ms=retention,
                offsets_retention_check_interval_ms=check,
                offset_metadata_max_bytes=metadata,
                initial_rebalance_delay_ms=0,
            )
        )
        self.harness.reload()

    def topic(self, name: str, *, partitions: int = 4) -> str:
        """Create a topic."""
        self._ids += 1
        self.topics[name] = TopicFacts(name, Uuid(self._ids.to_bytes(16, "big")), partitions)
        return written(self.harness.set_topics(self.topics.values()))

    def delete_topic(self, name: str) -> str:
        """Delete a topic."""
        del self.topics[name]
        return written(self.harness.set_topics(self.topics.values()))

    # -- members of classic groups

    def join(
        self,
        group: str,
        member: str,
        *,
        topics: str = "",
        protocol: str = "consumer",
        session: int = 1_800_000,
    ) -> str:
        """Join a group, and get its generation unless other members have to join again."""
        names = _words(topics)
        subscription = b"\0\0" + len(names).to_bytes(4, "big")
        subscription += b"".join(len(each).to_bytes(2, "big") + each.encode() for each in names)
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=session,
            rebalance_timeout_ms=session,
            member_id="",
            protocol_type=protocol,
            protocols=[
                JoinGroupRequestProtocol(name="range", metadata=subscription + b"\xff\xff\xff\xff")
            ],
        )
        harness = self.harness
        ticket = harness.ticket()
        context = harness.context(_LATEST_JOIN)
        harness.run(
            harness.shard.join_group(request, context, ticket=ticket, now_ms=harness.now_ms)
        )
        harness.advance(0)
        if ticket not in harness.answers:
            return "waits"
        joined = harness.answer(ticket, JoinGroupResponse)
        self.members[member] = joined.member_id
        return f"generation {joined.generation_id}"

    def sync(self, group: str, member: str, *, generation: int) -> str:
        """Send the assignment of the only member."""
        harness, ticket = self.harness, self.harness.ticket()
        member_id = self.members[member]
        request = SyncGroupRequest(
            group_id=group,
            generation_id=generation,
            member_id=member_id,
            assignments=[SyncGroupRequestAssignment(member_id=member_id, assignment=b"")],
        )
        context = harness.context(_LATEST_JOIN)
        records = harness.run(
            harness.shard.sync_group(request, context, ticket=ticket, now_ms=harness.now_ms)
        )
        code = harness.answer(ticket, SyncGroupResponse).error_code
        return lines_of(error_text(code), written(records))

    def heartbeat(self, group: str, member: str, *, generation: int) -> str:
        """Send a heartbeat."""
        harness, ticket = self.harness, self.harness.ticket()
        request = HeartbeatRequest(
            group_id=group, generation_id=generation, member_id=self.members[member]
        )
        context = harness.context(_LATEST_JOIN)
        harness.run(harness.shard.heartbeat(request, context, ticket=ticket, now_ms=harness.now_ms))
        return error_text(harness.answer(ticket, HeartbeatResponse).error_code)

    def leave(self, group: str, member: str) -> str:
        """Leave a group."""
        harness, ticket = self.harness, self.harness.ticket()
        request = LeaveGroupRequest(
            group_id=group, members=[MemberIdentity(member_id=self.members[member])]
        )
        context = harness.context(_LATEST_LEAVE)
        records = harness.run(
            harness.shard.leave_group(request, context, ticket=ticket, now_ms=harness.now_ms)
        )
        code = harness.answer(ticket, LeaveGroupResponse).error_code
        return lines_of(error_text(code), written(records))

    # -- members of consumer groups

    def consume(self, group: str, member: str, *, epoch: int = 0, topics: str = "") -> str:
        """Send a heartbeat of the consumer protocol; epoch 0 joins, -1 leaves."""
        is_joining = epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member,
            member_epoch=epoch,
            rebalance_timeout_ms=60_000 if is_joining else -1,
            subscribed_topic_names=_words(topics) if is_joining else None,
            topic_partitions=[] if is_joining else None,
        )
        harness, ticket = self.harness, self.harness.ticket()
        context = harness.context(1)
        harness.run(
            harness.shard.consumer_group_heartbeat(
                request, context, ticket=ticket, now_ms=harness.now_ms
            )
        )
        response = harness.answer(ticket, ConsumerGroupHeartbeatResponse)
        if response.assignment is None:
            return f"epoch {response.member_epoch}"
        assigned = [
            f"{number_of(topic.topic_id)}-{number}"
            for topic in response.assignment.topic_partitions
            for number in topic.partitions
        ]
        return f"epoch {response.member_epoch}, {' '.join(assigned) or 'no partitions'}"

    # -- groups

    def delete_groups(self, *groups: str) -> str:
        """Delete groups."""
        harness, ticket = self.harness, self.harness.ticket()
        request = DeleteGroupsRequest(group_names=list(groups))
        context = harness.context(2)
        records = harness.run(
            harness.shard.delete_groups(request, context, ticket=ticket, now_ms=harness.now_ms)
        )
        results = harness.answer(ticket, DeleteGroupsResponse).results
        lines = [f"{each.group_id}: {error_text(each.error_code)}" for each in results]
        return lines_of(*lines, written(records))

    def list_groups(self, *, states: str = "", types: str = "") -> str:
        """List groups."""
        harness, ticket = self.harness, self.harness.ticket()
        request = ListGroupsRequest(
            states_filter=_words(states),
            types_filter=_words(types),
        )
        context = harness.context(5)
        harness.run(
            harness.shard.list_groups(request, context, ticket=ticket, now_ms=harness.now_ms)
        )
        groups = harness.answer(ticket, ListGroupsResponse).groups
        return lines_of(
            *(
                f"{each.group_id}: {each.group_type}, {each.group_state}"
                f", protocol type '{each.protocol_type}'"
                for each in groups
            )
        )

    # -- time, failures and loads

    def time(self, time: int) -> str:
        """Let time pass."""
        return written(self.harness.advance(time))

    def reject(self) -> None:
        """Reject the next append."""
        self.harness.rejection = NotEnoughReplicasError()

    def reload(self, *, again: str = "") -> None:
        """Load the shard from its log; a topic may have been deleted and created `again` before."""
        if again:
            self._ids += 1
            created = self.topics[again]._replace(topic_id=Uuid(self._ids.to_bytes(16, "big")))
            self.topics[again] = created
        self.harness.reload(self.topics.values())

    def id_of(self, topic: str) -> Uuid:
        """Return the id of a topic, and an unknown id if it does not exist."""
        facts = self.topics.get(topic)
        return Uuid(bytes(15) + b"\xff") if facts is None else facts.topic_id


def _words(text: str) -> list[str]:
    return [each for each in text.split(",") if each]


def number_of(topic_id: Uuid) -> str:
    """Return the id of a topic of a script."""
    return f"id {topic_id[-1]}"


def error_text(code: int) -> str:
    """Return the name of an error, or `ok`."""
    return error_name(error_for_code(code)()) if code else "ok"


def lines_of(*lines: str) -> str:
    """Join the lines that are not empty; none at all are `none`."""
    return "\n".join(each for each in lines if each) or "none"


def written(records: list[CoordinatorRecord]) -> str:
    """Return a line for each record."""
    return "\n".join(map(_record_line, records))


def _record_line(record: CoordinatorRecord) -> str:
    key, value = record.key, record.value
    if isinstance(key, GroupMetadataKey):
        return f"writes group {key.group}" if value else f"deletes group {key.group}"
    if not isinstance(key, OffsetCommitKey):
        return f"{'writes' if value else 'deletes'} type {record.type}"
    name = f"{key.group} {key.topic}-{key.partition}"
    if value is None:
        return f"deletes {name}"
    assert isinstance(value, OffsetCommitValue), f"an unexpected value {value}"
    details = [f"v{record.version}"]
    details += [f"topic {number_of(value.topic_id)}"] if value.topic_id != NO_UUID else []
    details += [f"expires at {value.expire_timestamp}"] if value.expire_timestamp >= 0 else []
    return f"writes {name}: {value.offset}, {', '.join(details)}"
