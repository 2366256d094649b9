"""Checks of commits against a member's epoch (Kafka: `ConsumerGroup.validateOffsetCommit`).

A commit in the member's epoch may name any partition. A commit in an earlier epoch is accepted for
partitions that the member has had since that epoch, also while it gives them up (KIP-1251).
"""

from typing import Final

from cordwood.coordination.groups.consumer.group.consumer_group_member import ConsumerGroupMember
from cordwood.coordination.groups.group import (
    CommitPartitionValidator,
    CommittedPartition,
    OffsetCommitter,
)
from cordwood.core.errors import (
    IllegalGenerationError,
    KafkaError,
    StaleMemberEpochError,
    UnknownMemberIdError,
    UnsupportedVersionError,
)

_EPOCHS_SINCE: Final = 9


def validate_committer(
    committer: OffsetCommitter, member: ConsumerGroupMember | None, *, group_id: str
) -> CommitPartitionValidator | None:
    """Check a commit of a group that has members; return the check of each partition, if any."""
    if committer.is_transactional and _is_anonymous(committer):
        return None
    if member is None:
        raise UnknownMemberIdError(
            f"Member {committer.member_id} is not a member of group {group_id}."
        )
    is_old = committer.api_version < _EPOCHS_SINCE and not committer.is_transactional
    if is_old and member.classic is None:
        raise UnsupportedVersionError(
            "OffsetCommit version 9 or above must be used by members using the consumer group "
            "protocol"
        )
    if committer.epoch == member.member_epoch:
        return None
    if committer.epoch > member.member_epoch:
        raise _newer(committer.epoch, member)
    return _assignment_epoch_check(member, committer.epoch)


def validate_fetcher(member: ConsumerGroupMember, epoch: int) -> None:
    """Check the epoch of a member that fetches committed offsets."""
    if epoch == member.member_epoch:
        return
    if member.classic is not None:
        raise IllegalGenerationError(
            f"The received generation id {epoch} does not match the expected member epoch "
            f"{member.member_epoch}."
        )
    raise StaleMemberEpochError(
        f"The received member epoch {epoch} does not match the expected member epoch "
        f"{member.member_epoch}."
    )


def _is_anonymous(committer: OffsetCommitter) -> bool:
    return (committer.epoch, committer.member_id, committer.instance_id) == (-1, "", None)


def _newer(epoch: int, member: ConsumerGroupMember) -> KafkaError:
    words = f"is newer than current member epoch {member.member_epoch}."
    if member.classic is not None:
        return IllegalGenerationError(f"Received generation id {epoch} {words}")
    return StaleMemberEpochError(f"Received member epoch {epoch} {words}")


def _assignment_epoch_check(member: ConsumerGroupMember, epoch: int) -> CommitPartitionValidator:
    is_classic = member.classic is not None
    kind = IllegalGenerationError if is_classic else StaleMemberEpochError
    name = "generation id" if is_classic else "member epoch"

    def check(partition: CommittedPartition) -> None:
        assigned = member.assignment_epoch(partition.topic_id, partition.partition)
        where = f"{partition.topic}-{partition.partition}"
        if assigned is None:
            raise kind(f"Partition {where} is not assigned or pending revocation for member.")
        if epoch < assigned:
            raise kind(
                f"Received {name} {epoch} is older than assignment epoch {assigned} for partition "
                f"{where}."
            )

    return check
