"""Which topics a request means that may name them or say their ids, and whom it contradicts.

What is said twice, in whichever way, is refused and not done once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cordwood.broker.image import ClusterImage, TopicImage
from cordwood.core.errors import (
    InvalidRequestError,
    KafkaError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.ids import NO_UUID, Uuid


class Said(NamedTuple):
    """A topic as a request says it: by name or by id, the other one is missing."""

    name: str | None
    topic_id: Uuid = NO_UUID


class Selection(NamedTuple):
    """The topics that are meant, by name with their ids; and what was said in vain, and why."""

    meant: Mapping[str, Uuid]
    refused: Sequence[tuple[Said, KafkaError]]


def duplicate_name() -> InvalidRequestError:
    """Return what is said to whoever names a topic twice."""
    return InvalidRequestError("Duplicate topic name.")


def select(said: Sequence[Said], image: ClusterImage) -> Selection:
    """Return which topics are meant."""
    meant: dict[str, Uuid] = {}
    refused: list[tuple[Said, KafkaError]] = []
    ids = {each.topic_id for each in said}
    for each, times in sorted(Counter(said).items(), key=_is_by_name):
        try:
            topic = _meant(each, times, image)
        except KafkaError as error:
            refused.append((each, error))
            continue
        if each.name is not None and topic.topic_id in ids:
            meant.pop(topic.name, None)
            refused.append((Said(topic.name, topic.topic_id), _also_by_id()))
        else:
            meant[topic.name] = topic.topic_id
    return Selection(meant, refused)


def _is_by_name(counted: tuple[Said, int]) -> bool:
    return counted[0].name is not None


def _meant(said: Said, times: int, image: ClusterImage) -> TopicImage:
    if said.name is None and said.topic_id == NO_UUID:
        raise InvalidRequestError("Neither topic name nor id were specified.")
    if said.name is not None and said.topic_id != NO_UUID:
        raise InvalidRequestError("You may not specify both topic name and topic id.")
    if times > 1:
        raise duplicate_name() if said.name is not None else _duplicate_id()
    if said.name is None:
        if said.topic_id not in image.topics_by_id:
            raise UnknownTopicIdError("This server does not host this topic ID.")
        return image.topics_by_id[said.topic_id]
    if said.name not in image.topics:
        raise UnknownTopicOrPartitionError("This server does not host this topic-partition.")
    return image.topics[said.name]


def _duplicate_id() -> InvalidRequestError:
    return InvalidRequestError("Duplicate topic id.")


def _also_by_id() -> InvalidRequestError:
    return InvalidRequestError("The provided topic name maps to an ID that was already supplied.")
