"""UpdateMetadata: golden bytes."""

from cordwood.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
    UpdateMetadataTopicState,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_5() -> None:
    message = UpdateMetadataRequest(
        controller_id=1,
        controller_epoch=2,
        broker_epoch=3,
        topic_states=[
            UpdateMetadataTopicState(
                topic_name="t",
                partition_states=[
                    UpdateMetadataPartitionState(
                        partition_index=4,
                        controller_epoch=5,
                        leader=6,
                        leader_epoch=7,
                        isr=[8, 9],
                        zk_version=10,
                        replicas=[11, 12],
                        offline_replicas=[13, 14],
                    )
                ],
            )
        ],
        live_brokers=[
            UpdateMetadataBroker(
                id=15,
                endpoints=[
                    UpdateMetadataEndpoint(port=16, host="h", listener="l", security_protocol=17)
                ],
                rack=None,
            )
        ],
    )
    wire = (
        "00000001 00000002 0000000000000003 00000001 000174 00000001 00000004 00000005 "
        "00000006 00000007 00000002 00000008 00000009 0000000a 00000002 0000000b 0000000c "
        "00000002 0000000d 0000000e 00000001 0000000f 00000001 00000010 000168 00016c 0011 "
        "ffff"
    )

    assert_wire(message, wire, version=5)


def test_request_is_kafkas_in_version_8() -> None:
    message = UpdateMetadataRequest(
        controller_id=1,
        is_kraft_controller=True,
        type=2,
        controller_epoch=3,
        broker_epoch=4,
        topic_states=[
            UpdateMetadataTopicState(
                topic_name="t",
                topic_id=ID,
                partition_states=[
                    UpdateMetadataPartitionState(
                        partition_index=5,
                        controller_epoch=6,
                        leader=7,
                        leader_epoch=8,
                        isr=[9, 10],
                        zk_version=11,
                        replicas=[12, 13],
                        offline_replicas=[14, 15],
                    )
                ],
            )
        ],
        live_brokers=[
            UpdateMetadataBroker(
                id=16,
                endpoints=[
                    UpdateMetadataEndpoint(port=17, host="h", listener="l", security_protocol=18)
                ],
                rack="r",
            )
        ],
    )
    wire = (
        "00000001 01 00000003 0000000000000004 02 0274 000102030405060708090a0b0c0d0e0f 02 "
        "00000005 00000006 00000007 00000008 03 00000009 0000000a 0000000b 03 0000000c "
        "0000000d 03 0000000e 0000000f 00 00 02 00000010 02 00000011 0268 026c 0012 00 0272 "
        "00 01 0001 02"
    )

    assert_wire(message, wire, version=8)


def test_response_is_kafkas_in_version_5() -> None:
    message = UpdateMetadataResponse(error_code=1)
    wire = "0001"

    assert_wire(message, wire, version=5)


def test_response_is_kafkas_in_version_8() -> None:
    message = UpdateMetadataResponse(error_code=1)
    wire = "0001 00"

    assert_wire(message, wire, version=8)
