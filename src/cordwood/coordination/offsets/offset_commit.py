"""OffsetCommit and TxnOffsetCommit: who may commit, and the records (Kafka: `commitOffset`).

    existing partitions ──► group ──► each partition: metadata size, owner ──► a record each

An error of the group, or of the owner of one partition, is the error of all existing partitions,
and then no record is written. Partitions that do not exist keep their own errors.
"""

from typing import Final, NamedTuple, Protocol, TypeVar

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.group import (
    CommitPartitionValidator,
    CommittedPartition,
    OffsetCommitter,
)
from cordwood.coordination.groups.group_registry import GroupRegistry
from cordwood.coordination.offsets.committed_offset import commit_record
from cordwood.coordination.offsets.group_partition_map import GroupPartition
from cordwood.coordination.offsets.known_partitions import KnownTopic
from cordwood.coordination.offsets.partition_results import PartitionResult, TopicResult
from cordwood.core.errors import (
    GroupIdNotFoundError,
    IllegalGenerationError,
    KafkaError,
    OffsetMetadataTooLargeError,
    StaleMemberEpochError,
)
from cordwood.core.types import NO_TIMESTAMP
from cordwood.core.uuids import NO_UUID
from cordwood.protocol.messages.internal import OffsetCommitValue

#: From this version of OffsetCommit on a missing group is GROUP_ID_NOT_FOUND.
_GROUP_ID_NOT_FOUND_SINCE: Final = 9


class CommitPartition(Protocol):
    """A partition of OffsetCommit, or of TxnOffsetCommit."""

    @property
    def partition_index(self) -> int:
        """The number of the partition."""

    @property
    def committed_offset(self) -> int:
        """The next offset to consume."""

    @property
    def committed_leader_epoch(self) -> int:
        """The leader epoch of the last consumed record, or -1."""

    @property
    def committed_metadata(self) -> str | None:
        """A text of the client."""


P = TypeVar("P", bound=CommitPartition)


class OffsetCommit(NamedTuple):
    """One commit, of either kind."""

    group_id: str
    committer: OffsetCommitter
    now_ms: int
    #: `offset.metadata.max.bytes`, which Kafka compares with the number of UTF-16 units.
    max_metadata: int
    expire_timestamp_ms: int = NO_TIMESTAMP


class CommitResult(NamedTuple):
    """The records of a commit, and the results of its existing partitions."""

    records: list[CoordinatorRecord]
    topics: list[TopicResult]
    #: False if the group has rejected the commit.
    is_accepted: bool


def commit(
    request: OffsetCommit, topics: list[KnownTopic[P]], *, groups: GroupRegistry
) -> CommitResult:
    """Return the records of a commit, or the error of the group for all its partitions."""
    try:
        validator = _validate(request, groups)
        records: list[CoordinatorRecord] = []
        results = [_commit_topic(request, each, validator, records=records) for each in topics]
    except KafkaError as error:
        code = _code(error, request.committer)
        return CommitResult([], failed(topics, code), is_accepted=False)
    return CommitResult(records, results, is_accepted=True)


def _validate(request: OffsetCommit, groups: GroupRegistry) -> CommitPartitionValidator | None:
    """Check the committer. A missing group may be a simple one, which its records create."""
    group = groups.by_id.get(request.group_id)
    if group is not None:
        return group.validate_offset_commit(request.committer)
    committer = request.committer
    if committer.epoch < 0:
        return None
    if not committer.is_transactional and committer.api_version >= _GROUP_ID_NOT_FOUND_SINCE:
        raise GroupIdNotFoundError(f"Group {request.group_id} not found.")
    raise IllegalGenerationError


def _code(error: KafkaError, committer: OffsetCommitter) -> int:
    """Return the code of an error; TxnOffsetCommit has no version with STALE_MEMBER_EPOCH."""
    if committer.is_transactional and isinstance(error, StaleMemberEpochError):
        return IllegalGenerationError.code
    return error.code


def _commit_topic(
    request: OffsetCommit,
    topic: KnownTopic[P],
    validator: CommitPartitionValidator | None,
    *,
    records: list[CoordinatorRecord],
) -> TopicResult:
    result = TopicResult(topic.name, topic.topic_id, [])
    # Kafka writes no topic id with the offsets of transactions.
    topic_id = NO_UUID if request.committer.is_transactional else topic.topic_id
    for each in topic.partitions:
        number = each.partition_index
        metadata = each.committed_metadata or ""
        if metadata and utf16_length(metadata) > request.max_metadata:
            code = OffsetMetadataTooLargeError.code
            result.partitions.append(PartitionResult(number, code))
            continue
        if validator is not None:
            validator(CommittedPartition(topic.name, topic.topic_id, number))
        result.partitions.append(PartitionResult(number, 0))
        value = OffsetCommitValue(
            offset=each.committed_offset,
            leader_epoch=each.committed_leader_epoch,
            metadata=metadata,
            commit_timestamp=request.now_ms,
            expire_timestamp=request.expire_timestamp_ms,
            topic_id=topic_id,
        )
        records.append(commit_record(GroupPartition(request.group_id, topic.name, number), value))
    return result


def failed(topics: list[KnownTopic[P]], code: int) -> list[TopicResult]:
    """Return the results of a commit whose partitions all fail with one error."""
    return [
        TopicResult(
            topic.name, topic.topic_id, [PartitionResult(each, code) for each in topic.numbers]
        )
        for topic in topics
    ]


def utf16_length(text: str) -> int:
    """Return Java's `String.length`: characters outside of the basic plane count twice."""
    return len(text) if text.isascii() else len(text.encode("utf-16-be", "surrogatepass")) // 2
