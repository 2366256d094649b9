"""OffsetCommit and TxnOffsetCommit: who may commit, and which records are written."""

import pytest

from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.offsets.offset_commit import utf16_length
from cordwood.coordination.outcome import TransactionalProducer
from cordwood.core.uuids import NO_UUID
from cordwood.protocol.messages.internal import OffsetCommitValue
from tests.unit.coordination.offset_samples import (
    ORDERS_ID,
    OffsetsUnderTest,
    codes_of,
    commit_request,
    consumers,
    txn_request,
)


def test_commit_without_a_group_creates_a_simple_one() -> None:
    offsets = OffsetsUnderTest()

    outcome = offsets.commit(commit_request(("orders", 0, 5)))

    assert codes_of(outcome) == [0]
    assert offsets.groups.get("g").protocol_type == ""
    assert offsets.fetch() == {("orders", 0): (5, 0)}


def test_record_has_topic_id_and_commit_time() -> None:
    offsets = OffsetsUnderTest()
    offsets.now_ms = 17

    (record,) = offsets.commit(commit_request(("orders", 0, 5)), version=2).records

    assert record.version == 4
    assert record.value == OffsetCommitValue(
        offset=5, metadata="", commit_timestamp=17, topic_id=ORDERS_ID
    )


def test_retention_of_the_request_is_an_expire_time() -> None:
    offsets = OffsetsUnderTest()
    offsets.now_ms = 17

    (record,) = offsets.commit(commit_request(("orders", 0, 5), retention_ms=100), 4).records

    assert isinstance(record.value, OffsetCommitValue)
    assert (record.version, record.value.expire_timestamp) == (1, 117)


@pytest.mark.parametrize(("version", "code"), ((8, 22), (9, 69), (10, 69)))
def test_generation_of_a_missing_group_is_an_error_of_the_version(version: int, code: int) -> None:
    outcome = OffsetsUnderTest().commit(commit_request(("orders", 0, 5), epoch=1), version)

    assert codes_of(outcome) == [code]
    assert not outcome.records


def test_error_of_the_group_is_that_of_all_existing_partitions() -> None:
    offsets = OffsetsUnderTest()
    offsets.groups.put(consumers())
    request = commit_request(("orders", 0, 5), ("orders", 9, 5), ("payments", 0, 5), epoch=2)
    request.member_id = "m"

    outcome = offsets.commit(request, 9)

    assert codes_of(outcome) == [3, 22, 22]
    assert not outcome.records


def test_member_of_the_generation_commits() -> None:
    offsets = OffsetsUnderTest()
    offsets.groups.put(consumers())

    outcome = offsets.commit(commit_request(("orders", 0, 5), epoch=1, member_id="m"), 8)

    assert codes_of(outcome) == [0]


def test_request_without_existing_partitions_does_not_reach_the_group() -> None:
    outcome = OffsetsUnderTest().commit(commit_request(("missing", 0, 5), epoch=1))

    assert codes_of(outcome) == [100]


def test_large_metadata_fail_their_partition_alone() -> None:
    offsets = OffsetsUnderTest(GroupSettings(offset_metadata_max_bytes=3))
    request = commit_request(("orders", 0, 5), ("orders", 1, 5), metadata="abc")
    request.topics[0].partitions[0].committed_metadata = "abcd"

    outcome = offsets.commit(request)

    assert codes_of(outcome) == [12, 0]
    assert len(outcome.records) == 1


@pytest.mark.parametrize(("text", "length"), (("", 0), ("abc", 3), ("é", 1), ("😀", 2)))
def test_metadata_are_measured_in_utf16_units(text: str, length: int) -> None:
    assert utf16_length(text) == length


def test_transactional_commit_is_written_for_its_producer_without_topic_id() -> None:
    outcome = OffsetsUnderTest().commit_transactional(txn_request(("orders", 0, 5)))

    assert codes_of(outcome) == [0]
    assert outcome.producer == TransactionalProducer(7, 0)
    assert isinstance(outcome.records[0].value, OffsetCommitValue)
    assert outcome.records[0].value.topic_id == NO_UUID


def test_transactional_commit_of_a_generation_needs_the_group() -> None:
    outcome = OffsetsUnderTest().commit_transactional(txn_request(("orders", 0, 5), epoch=1))

    assert codes_of(outcome) == [22]


def test_transactional_commit_without_a_group_id_is_invalid() -> None:
    request = txn_request(("orders", 0, 5), ("missing", 0, 5), group_id="")

    assert codes_of(OffsetsUnderTest().commit_transactional(request)) == [3, 24]


def test_transactional_commit_without_a_member_is_accepted_while_the_group_has_members() -> None:
    offsets = OffsetsUnderTest()
    offsets.groups.put(consumers())

    assert codes_of(offsets.commit_transactional(txn_request(("orders", 0, 5)))) == [0]
    assert codes_of(offsets.commit(commit_request(("orders", 0, 5)))) == [25]
