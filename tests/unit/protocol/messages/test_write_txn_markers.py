"""WriteTxnMarkers: golden bytes."""

from cordwood.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopic,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_2() -> None:
    message = WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=1,
                producer_epoch=2,
                transaction_result=True,
                topics=[WritableTxnMarkerTopic(name="n", partition_indexes=[3, 4])],
                coordinator_epoch=5,
                transaction_version=6,
            )
        ]
    )
    wire = "02 0000000000000001 0002 01 02 026e 03 00000003 00000004 00 00000005 06 00 00"

    assert_wire(message, wire, version=2)


def test_response_is_kafkas_in_version_2() -> None:
    message = WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=1,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name="n",
                        partitions=[
                            WritableTxnMarkerPartitionResult(partition_index=2, error_code=3)
                        ],
                    )
                ],
            )
        ]
    )
    wire = "02 0000000000000001 02 026e 02 00000002 0003 00 00 00 00"

    assert_wire(message, wire, version=2)
