"""CreateTopics: golden bytes."""

from cordwood.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_4() -> None:
    message = CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name="n",
                num_partitions=1,
                replication_factor=2,
                assignments=[CreatableReplicaAssignment(partition_index=3, broker_ids=[4, 5])],
                configs=[CreatableTopicConfig(name="n", value=None)],
            )
        ],
        timeout_ms=6,
        validate_only=True,
    )
    wire = (
        "00000001 00016e 00000001 0002 00000001 00000003 00000002 00000004 00000005 00000001 "
        "00016e ffff 00000006 01"
    )

    assert_wire(message, wire, version=4)


def test_request_is_kafkas_in_version_7() -> None:
    message = CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name="n",
                num_partitions=1,
                replication_factor=2,
                assignments=[CreatableReplicaAssignment(partition_index=3, broker_ids=[4, 5])],
                configs=[CreatableTopicConfig(name="n", value="v")],
            )
        ],
        timeout_ms=6,
        validate_only=True,
    )
    wire = (
        "02 026e 00000001 0002 02 00000003 03 00000004 00000005 00 02 026e 0276 00 00 "
        "00000006 01 00"
    )

    assert_wire(message, wire, version=7)


def test_response_is_kafkas_in_version_4() -> None:
    message = CreateTopicsResponse(
        throttle_time_ms=1,
        topics=[CreatableTopicResult(name="n", error_code=2, error_message=None)],
    )
    wire = "00000001 00000001 00016e 0002 ffff"

    assert_wire(message, wire, version=4)


def test_response_is_kafkas_in_version_7() -> None:
    message = CreateTopicsResponse(
        throttle_time_ms=1,
        topics=[
            CreatableTopicResult(
                name="n",
                topic_id=ID,
                error_code=2,
                error_message="no",
                topic_config_error_code=3,
                num_partitions=4,
                replication_factor=5,
                configs=[
                    CreatableTopicConfigs(
                        name="n", value="v", read_only=True, config_source=6, is_sensitive=True
                    )
                ],
            )
        ],
    )
    wire = (
        "00000001 02 026e 000102030405060708090a0b0c0d0e0f 0002 036e6f 00000004 0005 02 026e "
        "0276 01 06 01 00 01 0002 0003 00"
    )

    assert_wire(message, wire, version=7)
