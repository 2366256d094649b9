"""DescribeTransactions: golden bytes."""

from cordwood.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_0() -> None:
    message = DescribeTransactionsRequest(transactional_ids=["t"])
    wire = "02 0274 00"

    assert_wire(message, wire, version=0)


def test_response_is_kafkas_in_version_0() -> None:
    message = DescribeTransactionsResponse(
        throttle_time_ms=1,
        transaction_states=[
            TransactionState(
                error_code=2,
                transactional_id="x",
                transaction_state="t",
                transaction_timeout_ms=3,
                transaction_start_time_ms=4,
                producer_id=5,
                producer_epoch=6,
                topics=[TopicData(topic="t", partitions=[7, 8])],
            )
        ],
    )
    wire = (
        "00000001 02 0002 0278 0274 00000003 0000000000000004 0000000000000005 0006 02 0274 "
        "03 00000007 00000008 00 00 00"
    )

    assert_wire(message, wire, version=0)
