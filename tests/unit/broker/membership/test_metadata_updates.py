"""Tests of the controller's updates of the image."""

from collections.abc import Sequence

import pytest

from cordwood.broker.membership.metadata_updates import (
    MOST_UNKNOWN,
    UNKNOWN_PARTITION,
    updated,
)
from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import InvalidRequestError
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from tests.unit.broker.image_samples import cluster, topic, topic_id

BEFORE = cluster(topic("orders", 2), topic("payments"))


def state(index: int, leader: int = 2, *, lost: Sequence[int] = ()) -> UpdateMetadataPartitionState:
    return UpdateMetadataPartitionState(
        partition_index=index,
        controller_epoch=1,
        leader=leader,
        leader_epoch=5,
        isr=[2, 3],
        zk_version=7,
        replicas=[1, 2, 3],
        offline_replicas=[*lost],
    )


def request(
    *states: UpdateMetadataPartitionState, name: str = "orders", of: Uuid | None = None
) -> UpdateMetadataRequest:
    topics = UpdateMetadataTopicState(
        topic_name=name, topic_id=of or topic_id(name), partition_states=[*states]
    )
    return UpdateMetadataRequest(
        controller_id=2,
        controller_epoch=1,
        topic_states=[topics] if states else [],
        live_brokers=[
            UpdateMetadataBroker(
                id=3,
                endpoints=[
                    UpdateMetadataEndpoint(
                        port=9, host="three", listener="PLAINTEXT", security_protocol=0
                    )
                ],
                rack="east",
            )
        ],
    )


def test_partition_of_the_request_is_replaced_and_others_stay() -> None:
    after = updated(BEFORE, request(state(1, lost=[1])))

    changed = PartitionImage((1, 2, 3), (2, 3), 2, 5, 7, lost=(1,))
    assert after.topics["orders"].partitions == (BEFORE.topics["orders"].partitions[0], changed)
    assert changed.offline_replicas == (1,)
    assert after.topics["payments"] is BEFORE.topics["payments"]
    assert after.topics_by_id[topic_id("orders")] is after.topics["orders"]
    assert after.epoch == BEFORE.epoch + 1


def test_brokers_and_controller_are_those_of_the_request() -> None:
    after = updated(BEFORE, request())

    assert [*after.brokers] == [3]
    assert after.brokers[3].rack == "east"
    assert after.brokers[3].endpoints["PLAINTEXT"].port == 9
    assert after.controller_id == 2
    assert after.topics == BEFORE.topics
    assert after.epoch == BEFORE.epoch + 1


def test_deleted_topic_leaves_the_image_with_its_last_partition() -> None:
    half = updated(BEFORE, request(state(1, -2)))
    assert len(half.topics["orders"].partitions) == 1

    after = updated(half, request(state(0, -2)))

    assert [*after.topics] == ["payments"]
    assert topic_id("orders") not in after.topics_by_id


def test_topic_with_another_id_replaces_the_former_one() -> None:
    after = updated(BEFORE, request(state(0), of=topic_id("another")))

    assert after.topics["orders"].topic_id == topic_id("another")
    assert len(after.topics["orders"].partitions) == 1
    assert topic_id("orders") not in after.topics_by_id


def test_partition_that_is_missing_in_between_is_unknown() -> None:
    after = updated(BEFORE, request(state(3)))

    assert after.topics["orders"].partitions[2] is UNKNOWN_PARTITION
    assert not updated(BEFORE, request(state(2, -2), name="new")).topics.keys() - BEFORE.topics


def test_unchanged_brokers_are_the_same_object() -> None:
    after = updated(BEFORE, request())

    assert updated(after, request()).brokers is after.brokers


@pytest.mark.parametrize("index", (-1, MOST_UNKNOWN + 3, INT32_MAX))
def test_partition_number_that_no_topic_has_is_rejected(index: int) -> None:
    with pytest.raises(InvalidRequestError):
        updated(BEFORE, request(state(index)))


def test_partitions_without_a_state_are_limited_over_all_topics() -> None:
    first, second = (request(state(MOST_UNKNOWN - 1), name=each) for each in ("a", "b"))
    updated(BEFORE, first)
    first.topic_states += second.topic_states

    with pytest.raises(InvalidRequestError):
        updated(BEFORE, first)


@pytest.mark.parametrize("name", ("", "..", "../outside", "a/b"))
def test_topic_name_that_no_log_can_have_is_rejected(name: str) -> None:
    with pytest.raises(InvalidRequestError):
        updated(BEFORE, request(state(0), name=name, of=topic_id("other")))


def test_update_without_a_live_broker_is_rejected() -> None:
    without = request(state(0))
    without.live_brokers = []

    with pytest.raises(InvalidRequestError):
        updated(BEFORE, without)


@pytest.mark.parametrize("port", (-1, 70_000))
def test_address_that_no_client_can_use_is_rejected(port: int) -> None:
    invalid = request(state(0))
    invalid.live_brokers[0].endpoints[0].port = port

    with pytest.raises(InvalidRequestError):
        updated(BEFORE, invalid)


def test_negative_broker_id_is_rejected() -> None:
    invalid = request(state(0))
    invalid.live_brokers[0].id = -5

    with pytest.raises(InvalidRequestError):
        updated(BEFORE, invalid)
