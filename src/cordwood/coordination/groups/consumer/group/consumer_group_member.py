"""Member of a consumer group (Kafka: `ConsumerGroupMember`)."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import chain, islice, zip_longest
from operator import lt
from typing import Final, NamedTuple, Self

from cordwood.coordination.groups.consumer.group.topic_partitions import (
    NO_PARTITION_EPOCHS,
    TopicPartitionEpochs,
    from_owned_record,
)
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages import internal

#: Member epochs of heartbeats that leave the group, and of static members that left for a while.
LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2


class MemberState(IntEnum):
    """States of a member on its way to the target assignment, with their numbers in records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    #: A state of a later version.
    UNKNOWN = 127

    @classmethod
    def of(cls, value: int) -> Self:
        """Return the state of a record."""
        return cls(value) if value in _STATES else cls(cls.UNKNOWN)


_STATES: Final = frozenset(int(each) for each in MemberState)


#: Names that are sorted in one call, which holds up all other threads.
_SORTED_AT_A_TIME: Final = 2_000


def distinct_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names in order, each once; those of a record are in order already."""
    found = [*dict.fromkeys(names)]
    if all(map(lt, found, islice(found, 1, None))):
        return tuple(found)
    step = _SORTED_AT_A_TIME
    runs = [sorted(found[at : at + step]) for at in range(0, len(found), step)]
    while len(runs) > 1:  # a sort merges what is in order already
        pairs = zip_longest(runs[::2], runs[1::2], fillvalue=())
        runs = [sorted(chain(*pair)) for pair in pairs]
    return tuple(runs[0])


class ClassicProtocolMember(NamedTuple):
    """Session and protocols of a classic protocol member (Kafka: `ClassicMemberMetadata`)."""

    session_timeout_ms: int
    #: Names and metadata of the supported protocols, in the order of the request.
    protocols: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMember:
    """A member; compared by value, because a changed member is a record."""

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    #: Sorted, without duplicates.
    topic_names: tuple[str, ...] = ()
    #: An empty expression is none.
    topic_regex: str | None = ""
    server_assignor: str | None = None
    classic: ClassicProtocolMember | None = None
    assigned: TopicPartitionEpochs = field(default_factory=dict)
    pending_revocation: TopicPartitionEpochs = field(default_factory=dict)

    def is_reconciled_to(self, epoch: int) -> bool:
        """Return whether the member has the target assignment of an epoch."""
        return self.state is MemberState.STABLE and self.member_epoch == epoch

    def assignment_epoch(self, topic_id: Uuid, partition: int) -> int | None:
        """Return the epoch in which the member was given a partition that it may still own."""
        epoch = self.assigned.get(topic_id, {}).get(partition)
        if epoch is None:
            return self.pending_revocation.get(topic_id, {}).get(partition)
        return epoch

    def advanced(
        self,
        epoch: int,
        *,
        state: MemberState,
        assigned: TopicPartitionEpochs,
        pending_revocation: TopicPartitionEpochs = NO_PARTITION_EPOCHS,
    ) -> "ConsumerGroupMember":
        """Return the member in an epoch, which may be its present one again."""
        return replace(
            self,
            member_epoch=epoch,
            previous_member_epoch=self.member_epoch,
            state=state,
            assigned=assigned,
            pending_revocation=pending_revocation,
        )

    def replaced_by(self, member_id: str) -> "ConsumerGroupMember":
        """Return the static member under its next member id."""
        return replace(self, member_id=member_id, member_epoch=0, previous_member_epoch=0)

    def departed(self) -> "ConsumerGroupMember":
        """Return the static member after it left for a while."""
        return replace(
            self,
            member_epoch=STATIC_LEAVE_EPOCH,
            assigned={topic: dict.fromkeys(each, 0) for topic, each in self.assigned.items()},
            pending_revocation=NO_PARTITION_EPOCHS,
        )

    def without_assignment(self) -> "ConsumerGroupMember":
        """Return the member after the deletion of its assignment, which that of it follows."""
        return replace(
            self,
            member_epoch=LEAVE_EPOCH,
            previous_member_epoch=LEAVE_EPOCH,
            assigned=NO_PARTITION_EPOCHS,
            pending_revocation=NO_PARTITION_EPOCHS,
        )

    def with_metadata(
        self, value: internal.ConsumerGroupMemberMetadataValue
    ) -> "ConsumerGroupMember":
        """Return the member with the fields of its metadata record."""
        classic = value.classic_member_metadata
        return replace(
            self,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            client_id=value.client_id,
            client_host=value.client_host,
            topic_names=distinct_names(value.subscribed_topic_names),
            topic_regex=value.subscribed_topic_regex,
            server_assignor=value.server_assignor,
            classic=None
            if classic is None
            else ClassicProtocolMember(
                classic.session_timeout_ms,
                tuple((each.name, bytes(each.metadata)) for each in classic.supported_protocols),
            ),
        )

    def with_assignment(
        self, value: internal.ConsumerGroupCurrentMemberAssignmentValue
    ) -> "ConsumerGroupMember":
        """Return the member with the fields of its current assignment record."""
        return replace(
            self,
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            state=MemberState.of(value.state),
            assigned=from_owned_record(value.assigned_partitions, member_epoch=value.member_epoch),
            pending_revocation=from_owned_record(
                value.partitions_pending_revocation, member_epoch=value.member_epoch
            ),
        )
