"""TxnOffsetCommit: golden bytes."""

from cordwood.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_2() -> None:
    message = TxnOffsetCommitRequest(
        transactional_id="x",
        group_id="g",
        producer_id=1,
        producer_epoch=2,
        topics=[
            TxnOffsetCommitRequestTopic(
                name="n",
                partitions=[
                    TxnOffsetCommitRequestPartition(
                        partition_index=3,
                        committed_offset=4,
                        committed_leader_epoch=5,
                        committed_metadata=None,
                    )
                ],
            )
        ],
    )
    wire = (
        "000178 000167 0000000000000001 0002 00000001 00016e 00000001 00000003 "
        "0000000000000004 00000005 ffff"
    )

    assert_wire(message, wire, version=2)


def test_response_is_kafkas_in_version_5() -> None:
    message = TxnOffsetCommitResponse(
        throttle_time_ms=1,
        topics=[
            TxnOffsetCommitResponseTopic(
                name="n",
                partitions=[TxnOffsetCommitResponsePartition(partition_index=2, error_code=3)],
            )
        ],
    )
    wire = "00000001 02 026e 02 00000002 0003 00 00 00"

    assert_wire(message, wire, version=5)
