"""Group as offsets and lists see it, of either kind (Kafka: `Group`)."""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeAlias

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.core.uuids import NO_UUID, Uuid


class GroupType(StrEnum):
    """Kinds of groups, with their names in ListGroups."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


class OffsetCommitter(NamedTuple):
    """The sender of a commit, by the fields of its request; -1 and "" are the simple consumer."""

    member_id: str
    instance_id: str | None
    #: Generation of a classic group, or member epoch of a consumer group.
    epoch: int
    is_transactional: bool
    api_version: int


class CommittedPartition(NamedTuple):
    """One partition of a commit; the topic id is zero if it is unknown."""

    topic: str
    topic_id: Uuid = NO_UUID
    partition: int = 0


CommitPartitionValidator: TypeAlias = Callable[[CommittedPartition], None]
"""Raises the error of a partition that the committer does not own. It fails the whole request."""


class Group(Protocol):
    """A group with members, or a simple group, which only commits offsets.

    The `validate_` methods raise the KafkaError of the whole request. They change nothing.
    """

    @property
    def group_id(self) -> str:
        """The id of the group."""

    @property
    def group_type(self) -> GroupType:
        """The kind of the group."""

    @property
    def state_name(self) -> str:
        """Kafka's name of the state, as ListGroups shows it."""

    @property
    def protocol_type(self) -> str:
        """The protocol type, "consumer" for consumers; empty for simple groups."""

    @property
    def is_empty(self) -> bool:
        """Whether the state is Empty: the group can be deleted, and its offsets expire."""

    def validate_offset_commit(self, committer: OffsetCommitter) -> CommitPartitionValidator | None:
        """Check a commit, also a transactional one; return the check of each partition, if any."""

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Check a fetch of committed offsets; -1 is the epoch of fetches without a member."""

    def validate_offset_delete(self) -> None:
        """Check a deletion of offsets; subscribed topics are checked by `is_subscribed`."""

    def validate_delete(self) -> None:
        """Check a deletion of the group."""

    def is_subscribed(self, topic: str) -> bool:
        """Return whether a member may consume the topic: its offsets neither expire nor go."""

    def expiry_base_ms(self, commit_timestamp_ms: int) -> int | None:
        """Return the time from which the retention of an offset counts, None if it is kept."""

    def tombstones(self) -> list[CoordinatorRecord]:
        """Return the records that delete the group, without those of its offsets."""
