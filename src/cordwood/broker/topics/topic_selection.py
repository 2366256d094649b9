"""Topics selected by name or by id in one request (Kafka: `ControllerApis.deleteTopics`).

A topic that is referenced twice, in either way, is rejected.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cordwood.broker.metadata.metadata_image import ClusterImage, TopicImage
from cordwood.core.errors import (
    InvalidRequestError,
    KafkaError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.uuids import NO_UUID, Uuid


class TopicReference(NamedTuple):
    """A topic in a request: a name or an id, never both."""

    name: str | None
    topic_id: Uuid = NO_UUID


class TopicSelection(NamedTuple):
    """The resolved topics (name to id), and the rejected references with their errors."""

    topic_ids: Mapping[str, Uuid]
    rejected: Sequence[tuple[TopicReference, KafkaError]]

    def rejecting_all(self, error: KafkaError) -> "TopicSelection":
        """Return the selection with the resolved topics rejected too."""
        resolved = [(TopicReference(*each), error) for each in self.topic_ids.items()]
        return TopicSelection({}, [*resolved, *self.rejected])


def duplicate_name() -> InvalidRequestError:
    """Return the error for a name that occurs twice."""
    return InvalidRequestError("Duplicate topic name.")


def select(references: Sequence[TopicReference], image: ClusterImage) -> TopicSelection:
    """Resolve references to topics of the image."""
    topic_ids: dict[str, Uuid] = {}
    rejected: list[tuple[TopicReference, KafkaError]] = []
    ids = {each.topic_id for each in references}
    # Ids come first, so that a name finds its topic selected by id already.
    for each, count in sorted(Counter(references).items(), key=_is_by_name):
        try:
            topic = _resolve(each, count, image)
        except KafkaError as error:
            rejected.append((each, error.with_traceback(None)))  # its frame refers to the list
            continue
        if each.name is not None and topic.topic_id in ids:
            topic_ids.pop(topic.name, None)
            rejected.append((TopicReference(topic.name, topic.topic_id), _also_by_id()))
        else:
            topic_ids[topic.name] = topic.topic_id
    return TopicSelection(topic_ids, rejected)


def _is_by_name(counted: tuple[TopicReference, int]) -> bool:
    return counted[0].name is not None


def _resolve(reference: TopicReference, count: int, image: ClusterImage) -> TopicImage:
    if reference.name is None and reference.topic_id == NO_UUID:
        raise InvalidRequestError("Neither topic name nor id were specified.")
    if reference.name is not None and reference.topic_id != NO_UUID:
        raise InvalidRequestError("You may not specify both topic name and topic id.")
    if count > 1:
        raise duplicate_name() if reference.name is not None else _duplicate_id()
    if reference.name is None:
        if reference.topic_id not in image.topics_by_id:
            raise UnknownTopicIdError("This server does not host this topic ID.")
        return image.topics_by_id[reference.topic_id]
    if reference.name not in image.topics:
        raise UnknownTopicOrPartitionError("This server does not host this topic-partition.")
    return image.topics[reference.name]


def _duplicate_id() -> InvalidRequestError:
    return InvalidRequestError("Duplicate topic id.")


def _also_by_id() -> InvalidRequestError:
    return InvalidRequestError("The provided topic name maps to an ID that was already supplied.")
