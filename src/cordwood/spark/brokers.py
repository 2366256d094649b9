"""What the driver finds out from brokers: which partitions there are, and from where to where.

Every question is asked once, of each leader for all that it leads. A broker that does not answer is
named by the error; how long it may take is `kafka.request.timeout.ms`, and with all retries
`kafka.default.api.timeout.ms`. What can be read ends at the high watermark, under read_committed at
the last stable offset.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from cordwood.client.blocking import Admin, Consumer
from cordwood.client.described import TopicDescription
from cordwood.client.settings import shared_options
from cordwood.core.ids import NO_UUID, format_uuid
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.holdings import NO_IDS, Holding, TopicOf
from cordwood.spark.options import SourceOptions, TopicChoice

#: What a task fetches at a time of its partition, unless the user says something else.
FETCH_BYTES: Final = 8 << 20

#: What brokers say that know no ids.
_NO_ID: Final = format_uuid(NO_UUID)


class Brokers:
    """The brokers as a place; the consumer is open as long as it is asked."""

    def __init__(
        self,
        consumer: Consumer[bytes, bytes],
        topics: Collection[str],
        partitions: Sequence[TopicPartition],
        *,
        topic_ids: Mapping[str, str] = NO_IDS,
    ) -> None:
        self._consumer = consumer
        self._topics = topics
        self._topic_ids = topic_ids
        self._partitions = partitions

    def topics(self) -> Collection[str]:
        return self._topics

    def partitions(self) -> Collection[TopicPartition]:
        return self._partitions

    def held(
        self, wanted: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Sequence[Holding]]:
        here = [each for each in self._partitions if each in wanted]
        starts = self._consumer.beginning_offsets(here)
        ends = self._consumer.end_offsets(here)
        return {each: [Holding(starts[each], max(starts[each], ends[each]), None)] for each in here}

    def topic_ids(self) -> Mapping[TopicPartition, TopicOf]:
        return {
            each: TopicOf(self._topic_ids[each.topic], "the brokers")
            for each in self._partitions
            if each.topic in self._topic_ids
        }

    def at_times(self, wanted: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int | None]:
        here: dict[tuple[str, int], int] = {
            each: time for each, time in wanted.items() if each in self._partitions
        }
        found = self._consumer.offsets_for_times(here)
        return {each: None if place is None else place.offset for each, place in found.items()}


@contextmanager
def asked_brokers(options: SourceOptions) -> Iterator[Brokers]:
    """Give the brokers with the partitions that are wanted."""
    told = {**shared_options(options.client), "bootstrap.servers": options.servers}
    with Admin.from_config(told) as admin:
        topics = admin.list_topics(with_internal=True)
        described = admin.describe_topics(filter(options.topics.may_have, topics))
    partitions = chosen_partitions(described, options.topics)
    ids = {topic.name: topic.topic_id for topic in described if topic.topic_id != _NO_ID}
    with connected(options) as consumer:
        yield Brokers(consumer, topics, partitions, topic_ids=ids)


def chosen_partitions(
    topics: Iterable[TopicDescription], choice: TopicChoice
) -> list[TopicPartition]:
    """Return the partitions of topics that are chosen, in order."""
    found = [
        TopicPartition(TopicName(topic.name), PartitionId(each.partition))
        for topic in topics
        for each in topic.partitions
    ]
    return sorted(filter(choice.has, found))


@contextmanager
def connected(options: SourceOptions) -> Iterator[Consumer[bytes, bytes]]:
    """Give a consumer that reads what is asked for, and nothing else where that is gone."""
    config = {
        "client.id": "cordwood-spark",
        "max.partition.fetch.bytes": str(FETCH_BYTES),
        **options.client,
        "bootstrap.servers": options.servers,
        "isolation.level": "read_committed" if options.is_committed else "read_uncommitted",
        "auto.offset.reset": "none",
    }
    with Consumer[bytes, bytes].from_config(config) as consumer:
        yield consumer
