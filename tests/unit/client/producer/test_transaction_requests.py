"""Requests of a transactional producer, and the errors of their responses."""

from cordwood.client.group_offset import GroupMetadata, GroupOffset
from cordwood.client.producer.partition_queue import ProducerIdentity
from cordwood.client.producer.transaction_requests import (
    add_partitions_errors,
    add_partitions_request,
    coordinator_error,
    offset_commit_errors,
    offset_commit_request,
)
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import ProducerFencedError
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from cordwood.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

ME = ProducerIdentity(7, 3)


def test_old_epoch_means_that_the_producer_is_fenced() -> None:
    error = coordinator_error(47, "transactional id 'etl'")

    assert isinstance(error, ProducerFencedError)
    assert "close this producer" in str(error)


def test_partitions_are_grouped_by_topic() -> None:
    wanted = partitions_of([("t", 0), ("u", 1), ("t", 2)])

    request = add_partitions_request("etl", ME, partitions=wanted)

    assert [(each.name, each.partitions) for each in request.topics] == [("t", [0, 2]), ("u", [1])]
    assert (request.transactional_id, request.producer_epoch) == ("etl", 3)


def test_each_added_partition_has_its_code() -> None:
    results = [
        AddPartitionsToTxnPartitionResult(partition_index=2, partition_error_code=48),
    ]
    topic = AddPartitionsToTxnTopicResult(name="t", results_by_partition=results)

    found = add_partitions_errors(AddPartitionsToTxnResponse(results_by_topic=[topic]))

    assert list(found) == [("t-2", 48)]


def test_commit_carries_the_member() -> None:
    (partition,) = partitions_of([("t", 0)])
    group = GroupMetadata("g", 4, "m", "i")

    request = offset_commit_request("etl", ME, group=group, offsets={partition: GroupOffset(9)})

    assert (request.generation_id, request.member_id, request.group_instance_id) == (4, "m", "i")
    assert request.topics[0].partitions[0].committed_offset == 9


def test_each_committed_partition_has_its_code() -> None:
    partition = TxnOffsetCommitResponsePartition(partition_index=1, error_code=0)
    topic = TxnOffsetCommitResponseTopic(name="t", partitions=[partition])

    assert list(offset_commit_errors(TxnOffsetCommitResponse(topics=[topic]))) == [("t-1", 0)]
