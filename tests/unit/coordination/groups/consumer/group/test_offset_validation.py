"""Commits and fetches are checked against the member's epoch (Kafka: `ConsumerGroupTest`)."""

from dataclasses import replace

import pytest

from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    ClassicProtocolMember,
    ConsumerGroupMember,
)
from cordwood.coordination.groups.consumer.group.offset_validation import (
    validate_committer,
    validate_fetcher,
)
from cordwood.coordination.groups.group import CommittedPartition, OffsetCommitter
from cordwood.core.errors import (
    IllegalGenerationError,
    KafkaError,
    StaleMemberEpochError,
    UnknownMemberIdError,
    UnsupportedVersionError,
)
from tests.unit.coordination.groups.consumer.assignors.assignor_samples import topic_id
from tests.unit.coordination.groups.consumer.member_samples import member

#: In epoch 10, with partition 0 since epoch 7, and partition 1 that it is giving up.
OWNER = member(assigned="1:0@7", pending="1:1@7")
CLASSIC = replace(OWNER, classic=ClassicProtocolMember(6_000, ()))


def committer(epoch: int, *, version: int = 9, is_transactional: bool = False) -> OffsetCommitter:
    return OffsetCommitter("m", None, epoch, is_transactional, version)


def commit(epoch: int, partition: int, owner: ConsumerGroupMember = OWNER) -> None:
    check = validate_committer(committer(epoch), owner, group_id="g")
    if check is not None:
        check(CommittedPartition("t", topic_id(1), partition))


@pytest.mark.parametrize(("epoch", "partition"), ((10, 0), (10, 9), (7, 0), (8, 1)))
def test_commit_is_accepted_since_the_epoch_of_the_assignment(epoch: int, partition: int) -> None:
    commit(epoch, partition)


@pytest.mark.parametrize(("epoch", "partition"), ((11, 0), (6, 0), (9, 2)))
@pytest.mark.parametrize(
    ("owner", "error"), ((OWNER, StaleMemberEpochError), (CLASSIC, IllegalGenerationError))
)
def test_commit_is_rejected_in_other_epochs(
    epoch: int, partition: int, owner: ConsumerGroupMember, error: type[KafkaError]
) -> None:
    with pytest.raises(error):
        commit(epoch, partition, owner)


def test_commit_of_an_unknown_member_is_rejected() -> None:
    with pytest.raises(UnknownMemberIdError):
        validate_committer(committer(10), None, group_id="g")


def test_old_version_is_rejected_for_the_consumer_protocol() -> None:
    with pytest.raises(UnsupportedVersionError):
        validate_committer(committer(10, version=8), OWNER, group_id="g")

    assert validate_committer(committer(10, version=8), CLASSIC, group_id="g") is None


def test_transactional_commit_is_accepted_in_every_version() -> None:
    transactional = committer(10, version=0, is_transactional=True)

    assert validate_committer(transactional, OWNER, group_id="g") is None


def test_transactional_commit_without_a_member_is_accepted() -> None:
    anonymous = OffsetCommitter("", None, -1, is_transactional=True, api_version=3)

    assert validate_committer(anonymous, None, group_id="g") is None


def test_fetch_needs_the_epoch_of_its_member() -> None:
    validate_fetcher(OWNER, 10)

    with pytest.raises(StaleMemberEpochError):
        validate_fetcher(OWNER, 9)
    with pytest.raises(IllegalGenerationError):
        validate_fetcher(CLASSIC, 11)
