"""DeleteRecords: golden bytes."""

from cordwood.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
    DeleteRecordsTopicResult,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_1() -> None:
    message = DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(
                name="n", partitions=[DeleteRecordsPartition(partition_index=1, offset=2)]
            )
        ],
        timeout_ms=3,
    )
    wire = "00000001 00016e 00000001 00000001 0000000000000002 00000003"

    assert_wire(message, wire, version=1)


def test_response_is_kafkas_in_version_2() -> None:
    message = DeleteRecordsResponse(
        throttle_time_ms=1,
        topics=[
            DeleteRecordsTopicResult(
                name="n",
                partitions=[
                    DeleteRecordsPartitionResult(partition_index=2, low_watermark=3, error_code=4)
                ],
            )
        ],
    )
    wire = "00000001 02 026e 02 00000002 0000000000000003 0004 00 00 00"

    assert_wire(message, wire, version=2)
