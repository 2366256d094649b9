"""AddPartitionsToTxn: golden bytes."""

from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_2() -> None:
    message = AddPartitionsToTxnRequest(
        transactional_id="x",
        producer_id=1,
        producer_epoch=2,
        topics=[AddPartitionsToTxnTopic(name="n", partitions=[3, 4])],
    )
    wire = "000178 0000000000000001 0002 00000001 00016e 00000002 00000003 00000004"

    assert_wire(message, wire, version=2)


def test_request_is_kafkas_in_version_5() -> None:
    message = AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                transactional_id="x",
                producer_id=1,
                producer_epoch=2,
                verify_only=True,
                topics=[AddPartitionsToTxnTopic(name="n", partitions=[3, 4])],
            )
        ]
    )
    wire = "02 0278 0000000000000001 0002 01 02 026e 03 00000003 00000004 00 00 00"

    assert_wire(message, wire, version=5)


def test_response_is_kafkas_in_version_2() -> None:
    message = AddPartitionsToTxnResponse(
        throttle_time_ms=1,
        results_by_topic=[
            AddPartitionsToTxnTopicResult(
                name="n",
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(partition_index=2, partition_error_code=3)
                ],
            )
        ],
    )
    wire = "00000001 00000001 00016e 00000001 00000002 0003"

    assert_wire(message, wire, version=2)


def test_response_is_kafkas_in_version_5() -> None:
    message = AddPartitionsToTxnResponse(
        throttle_time_ms=1,
        error_code=2,
        results_by_transaction=[
            AddPartitionsToTxnResult(
                transactional_id="x",
                topic_results=[
                    AddPartitionsToTxnTopicResult(
                        name="n",
                        results_by_partition=[
                            AddPartitionsToTxnPartitionResult(
                                partition_index=3, partition_error_code=4
                            )
                        ],
                    )
                ],
            )
        ],
    )
    wire = "00000001 0002 02 0278 02 026e 02 00000003 0004 00 00 00 00"

    assert_wire(message, wire, version=5)
