"""Tests of markers in requests to other brokers."""

import pytest

from cordwood.broker.coordinators.txn_markers_request import (
    MOST_PARTITIONS,
    MarkerRequest,
    errors_of,
    request_of,
)
from cordwood.coordination.ports import TransactionMarker
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)


def marker(producer_id: int, *numbers: int) -> TransactionMarker:
    names = (TopicPartition(TopicName("orders"), PartitionId(each)) for each in numbers)
    return TransactionMarker(
        producer_id, 3, 5, is_commit=True, partitions=frozenset(names), transaction_version=2
    )


def result(producer_id: int, **codes: int) -> WritableTxnMarkerResult:
    """Return a result with the codes of partitions `p0`, `p1`, ..."""
    partitions = [
        WritableTxnMarkerPartitionResult(partition_index=int(name[1:]), error_code=code)
        for name, code in codes.items()
    ]
    topic = WritableTxnMarkerTopicResult(name="orders", partitions=partitions)
    return WritableTxnMarkerResult(producer_id=producer_id, topics=[topic])


def errors(*results: WritableTxnMarkerResult) -> list[dict[str, int]]:
    """Return the codes of the errors of two markers."""
    found = errors_of(WriteTxnMarkersResponse(markers=[*results]), [marker(7, 0, 1), marker(8, 0)])
    return [{str(name): error.code for name, error in each.items()} for each in found]


@pytest.mark.parametrize(("version", "transaction_version"), ((1, 0), (2, 2)))
def test_marker_has_its_transaction_version_where_the_leader_knows_it(
    version: int, transaction_version: int
) -> None:
    request = request_of([marker(7, 0), marker(8, 1)])

    sent = decode(WriteTxnMarkersRequest, joined(encode(request, version)), version)

    assert [each.producer_id for each in sent.markers] == [7, 8]
    first = sent.markers[0]
    assert (first.producer_epoch, first.coordinator_epoch, first.transaction_result) == (3, 5, True)
    assert (first.topics[0].name, first.topics[0].partition_indexes) == ("orders", [0])
    assert first.transaction_version == transaction_version


def test_results_are_matched_by_producer_in_any_order() -> None:
    assert errors(result(8, p0=6), result(7, p0=0, p1=3)) == [{"orders-1": 3}, {"orders-0": 6}]


def test_partition_without_a_result_has_an_error() -> None:
    assert errors(result(7, p0=0)) == [{"orders-1": -1}, {"orders-0": -1}]


def test_partition_that_cannot_have_transactions_needs_no_marker() -> None:
    assert errors(result(7, p0=43, p1=35), result(8, p0=0)) == [{}, {}]


def test_request_has_a_limited_number_of_partitions() -> None:
    request = MarkerRequest(lambda: 1)
    full = marker(7, *range(MOST_PARTITIONS - 1))

    assert request.fits([full], marker(8, 0))
    assert not request.fits([full], marker(8, 0, 1))
