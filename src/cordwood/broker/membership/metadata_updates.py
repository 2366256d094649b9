"""Updates of the cluster image by the controller (Kafka: `ZkMetadataCache.updateMetadata`).

    brokers and controller    replaced by those of the request
    partitions                changed one by one; others stay as they are
    a topic with another id   replaces the former topic of its name
    leader -2                 the partition is being deleted, and leaves the image

A partition that is missing among others of its topic has no replicas and no leader: the controller
has not elected its first leader yet. A request adds at most MOST_UNKNOWN of them.

InvalidRequestError, and no next image, for a request that no controller sends: without a live
broker, or with an invalid topic name, partition number, broker id or port. Kafka publishes it.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from cordwood.broker.config.listeners import ListenerEndpoint
from cordwood.broker.metadata.metadata_image import (
    NO_LEADER,
    BrokerImage,
    ClusterImage,
    PartitionImage,
    TopicImage,
)
from cordwood.cluster.controller.context.leadership import LEADER_DURING_DELETE
from cordwood.core.errors import InvalidRequestError, InvalidTopicError
from cordwood.core.types import NO_LEADER_EPOCH
from cordwood.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from cordwood.storage.files.file_names import ensure_topic_name

#: The partitions without a state that one request may add to an image, of all its topics.
MOST_UNKNOWN: Final = 50_000
_LARGEST_PORT: Final = 65_535
#: A partition whose first leader is not known yet.
UNKNOWN_PARTITION: Final = PartitionImage((), (), NO_LEADER, NO_LEADER_EPOCH)


def updated(image: ClusterImage, request: UpdateMetadataRequest) -> ClusterImage:
    """Return the next image."""
    _ensure_valid(image, request)
    changed, removed = list[TopicImage](), list[str]()
    for state in request.topic_states:
        topic = _updated_topic(image.topics.get(state.topic_name), state)
        if topic.partitions:
            changed.append(topic)
        else:
            removed.append(topic.name)
    following = image
    if removed:
        following = following.without_topic(*removed)
    if changed:
        following = following.with_topic(*changed)
    brokers = {each.id: _broker(each) for each in request.live_brokers}
    return replace(
        following,
        brokers=image.brokers if brokers == image.brokers else MappingProxyType(brokers),
        controller_id=request.controller_id,
        epoch=image.epoch + 1,
    )


def _ensure_valid(image: ClusterImage, request: UpdateMetadataRequest) -> None:
    if not request.live_brokers:
        raise InvalidRequestError("the update of the metadata has no live broker")
    for broker in request.live_brokers:
        if broker.id < 0:
            raise InvalidRequestError(f"broker id {broker.id} is negative")
        for each in broker.endpoints:
            if not 0 <= each.port <= _LARGEST_PORT:
                raise InvalidRequestError(
                    f"broker {broker.id}: port {each.port} of listener {each.listener} is not "
                    f"between 0 and {_LARGEST_PORT}"
                )
    unknown = 0
    for topic in request.topic_states:
        _ensure_topic(topic)
        known = image.topics.get(topic.topic_name)
        count = 0 if known is None or known.topic_id != topic.topic_id else len(known.partitions)
        numbers = {each.partition_index for each in topic.partition_states}
        unknown += max(max(numbers, default=-1) + 1 - count - len(numbers), 0)
    if unknown > MOST_UNKNOWN:
        raise InvalidRequestError(
            f"the update of the metadata leaves {unknown} partitions without a state (at most "
            f"{MOST_UNKNOWN})"
        )


def _ensure_topic(topic: UpdateMetadataTopicState) -> None:
    try:
        ensure_topic_name(topic.topic_name)
    except InvalidTopicError as error:
        raise InvalidRequestError(str(error)) from error
    least = min((each.partition_index for each in topic.partition_states), default=0)
    if least < 0:
        raise InvalidRequestError(f"{topic.topic_name}: partition number {least} is negative")


def _updated_topic(topic: TopicImage | None, state: UpdateMetadataTopicState) -> TopicImage:
    topic_id = state.topic_id
    if topic is None or topic.topic_id != topic_id:
        topic = TopicImage(state.topic_name, topic_id, ())
    partitions = dict(enumerate(topic.partitions))
    for each in state.partition_states:
        if each.leader == LEADER_DURING_DELETE:
            partitions.pop(each.partition_index, None)
        else:
            partitions[each.partition_index] = _partition(each)
    return replace(topic, partitions=_numbered(partitions))


def _numbered(partitions: Mapping[int, PartitionImage]) -> tuple[PartitionImage, ...]:
    """Return partitions by number; those that are missing in between are unknown."""
    known = [number for number, each in partitions.items() if each is not UNKNOWN_PARTITION]
    return tuple(
        partitions.get(each, UNKNOWN_PARTITION) for each in range(max(known, default=-1) + 1)
    )


def _partition(state: UpdateMetadataPartitionState) -> PartitionImage:
    return PartitionImage(
        replicas=tuple(state.replicas),
        isr=tuple(state.isr),
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.zk_version,
        lost=tuple(state.offline_replicas),
    )


def _broker(broker: UpdateMetadataBroker) -> BrokerImage:
    endpoints = {
        each.listener: ListenerEndpoint(each.listener, each.host, each.port)
        for each in broker.endpoints
    }
    return BrokerImage(broker.id, MappingProxyType(endpoints), broker.rack or None)
