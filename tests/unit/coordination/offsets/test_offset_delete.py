"""OffsetDelete: topics with subscribers keep their offsets."""

import pytest

from cordwood.core.errors import GroupIdNotFoundError, InvalidGroupIdError, NonEmptyGroupError
from tests.unit.coordination.offset_samples import (
    OffsetsUnderTest,
    codes_of,
    commit_request,
    consumers,
    txn_request,
)


def test_offset_is_deleted() -> None:
    offsets = OffsetsUnderTest()
    offsets.commit(commit_request(("orders", 0, 5), ("orders", 1, 6)))

    outcome = offsets.delete(("orders", 0))

    assert codes_of(outcome) == [0]
    assert offsets.fetch() == {("orders", 1): (6, 0)}


def test_partition_without_an_offset_is_a_success_without_a_record() -> None:
    offsets = OffsetsUnderTest()
    offsets.commit(commit_request(("orders", 0, 5)))

    outcome = offsets.delete(("orders", 1))

    assert codes_of(outcome) == [0]
    assert not outcome.records


def test_pending_offset_is_deleted() -> None:
    offsets = OffsetsUnderTest()
    offsets.commit_transactional(txn_request(("orders", 0, 5)))

    assert len(offsets.delete(("orders", 0)).records) == 1

    offsets.end(7, is_commit=True)
    assert offsets.fetch() == {}


def test_topic_or_partition_that_does_not_exist_is_an_error_of_its_own() -> None:
    offsets = OffsetsUnderTest()
    offsets.commit(commit_request(("orders", 0, 5)))

    outcome = offsets.delete(("missing", 0), ("payments", 2), ("orders", 0))

    assert codes_of(outcome) == [3, 3, 0]


def test_topic_that_is_given_twice_counts_once() -> None:
    offsets = OffsetsUnderTest()
    offsets.commit(commit_request(("orders", 0, 5)))

    assert len(offsets.delete(("orders", 0), ("orders", 0)).records) == 1


def test_subscribed_topic_keeps_its_offsets() -> None:
    offsets = OffsetsUnderTest()
    offsets.groups.put(consumers("g", "orders"))
    offsets.commit(commit_request(("orders", 0, 5), ("payments", 0, 6), epoch=1, member_id="m"))

    outcome = offsets.delete(("orders", 0), ("payments", 0))

    assert codes_of(outcome) == [86, 0]
    assert offsets.fetch() == {("orders", 0): (5, 0)}


def test_other_protocol_with_members_keeps_all_offsets() -> None:
    offsets = OffsetsUnderTest()
    group = consumers()
    group.protocol_type = "connect"
    offsets.groups.put(group)

    with pytest.raises(NonEmptyGroupError):
        offsets.delete(("orders", 0))


def test_missing_group_is_not_found() -> None:
    with pytest.raises(GroupIdNotFoundError):
        OffsetsUnderTest().delete(("missing", 0))


def test_group_id_is_not_empty() -> None:
    with pytest.raises(InvalidGroupIdError):
        OffsetsUnderTest().delete(("orders", 0), group_id="")
