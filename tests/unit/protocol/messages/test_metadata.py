"""Metadata: golden bytes."""

from cordwood.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_8() -> None:
    message = MetadataRequest(
        topics=None,
        allow_auto_topic_creation=True,
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    wire = "ffffffff 01 01 01"

    assert_wire(message, wire, version=8)


def test_request_is_kafkas_in_version_13() -> None:
    message = MetadataRequest(
        topics=[MetadataRequestTopic(topic_id=ID, name="n")],
        allow_auto_topic_creation=True,
        include_topic_authorized_operations=True,
    )
    wire = "02 000102030405060708090a0b0c0d0e0f 026e 00 01 01 00"

    assert_wire(message, wire, version=13)


def test_response_is_kafkas_in_version_8() -> None:
    message = MetadataResponse(
        throttle_time_ms=1,
        brokers=[MetadataResponseBroker(node_id=2, host="h", port=3)],
        controller_id=4,
        topics=[
            MetadataResponseTopic(
                error_code=5,
                name="n",
                is_internal=True,
                partitions=[
                    MetadataResponsePartition(
                        error_code=6,
                        partition_index=7,
                        leader_id=8,
                        leader_epoch=9,
                        replica_nodes=[10, 11],
                        isr_nodes=[12, 13],
                        offline_replicas=[14, 15],
                    )
                ],
                topic_authorized_operations=16,
            )
        ],
        cluster_authorized_operations=17,
    )
    wire = (
        "00000001 00000001 00000002 000168 00000003 ffff ffff 00000004 00000001 0005 00016e "
        "01 00000001 0006 00000007 00000008 00000009 00000002 0000000a 0000000b 00000002 "
        "0000000c 0000000d 00000002 0000000e 0000000f 00000010 00000011"
    )

    assert_wire(message, wire, version=8)


def test_response_is_kafkas_in_version_13() -> None:
    message = MetadataResponse(
        throttle_time_ms=1,
        brokers=[MetadataResponseBroker(node_id=2, host="h", port=3, rack="r")],
        cluster_id="C",
        controller_id=4,
        topics=[
            MetadataResponseTopic(
                error_code=5,
                name="n",
                topic_id=ID,
                is_internal=True,
                partitions=[
                    MetadataResponsePartition(
                        error_code=6,
                        partition_index=7,
                        leader_id=8,
                        leader_epoch=9,
                        replica_nodes=[10, 11],
                        isr_nodes=[12, 13],
                        offline_replicas=[14, 15],
                    )
                ],
                topic_authorized_operations=16,
            )
        ],
        error_code=17,
    )
    wire = (
        "00000001 02 00000002 0268 00000003 0272 00 0243 00000004 02 0005 026e "
        "000102030405060708090a0b0c0d0e0f 01 02 0006 00000007 00000008 00000009 03 0000000a "
        "0000000b 03 0000000c 0000000d 03 0000000e 0000000f 00 00000010 00 0011 00"
    )

    assert_wire(message, wire, version=13)
