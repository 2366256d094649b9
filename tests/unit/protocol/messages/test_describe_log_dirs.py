"""DescribeLogDirs: golden bytes."""

from cordwood.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_1() -> None:
    message = DescribeLogDirsRequest(topics=None)
    wire = "ffffffff"

    assert_wire(message, wire, version=1)


def test_response_is_kafkas_in_version_5() -> None:
    message = DescribeLogDirsResponse(
        throttle_time_ms=1,
        error_code=2,
        results=[
            DescribeLogDirsResult(
                error_code=3,
                log_dir="/d",
                topics=[
                    DescribeLogDirsTopic(
                        name="n",
                        partitions=[
                            DescribeLogDirsPartition(
                                partition_index=4,
                                partition_size=5,
                                offset_lag=6,
                                is_future_key=True,
                            )
                        ],
                    )
                ],
                total_bytes=7,
                usable_bytes=8,
                is_cordoned=True,
            )
        ],
    )
    wire = (
        "00000001 0002 02 0003 032f64 02 026e 02 00000004 0000000000000005 0000000000000006 "
        "01 00 00 0000000000000007 0000000000000008 01 00 00"
    )

    assert_wire(message, wire, version=5)
