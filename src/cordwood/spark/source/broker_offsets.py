"""Brokers as a source: their partitions and their offsets (`KafkaOffsetReaderAdmin`).

Each leader receives one request for all its partitions. If a broker does not answer, the error
names it; the timeouts are `kafka.request.timeout.ms`, and `kafka.default.api.timeout.ms` with all
retries. The end of a partition is the high watermark, or the last stable offset under
read_committed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from cordwood.client.admin.admin_types import TopicDescription
from cordwood.client.blocking import Admin, Consumer
from cordwood.client.settings import shared_options
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import NO_UUID, format_uuid
from cordwood.spark.source.coverage import (
    NO_IDS,
    AvailableRange,
    BrokerSource,
    KnownEnd,
    TopicIdentity,
)
from cordwood.spark.source.source_options import SourceOptions, TopicChoice

#: Default of `max.partition.fetch.bytes`: a task fetches from one partition.
FETCH_BYTES: Final = 8 << 20

#: The timestamp of ListOffsets for the end of a partition.
_END: Final = -1
#: The id that brokers without topic ids report.
_NO_ID: Final = format_uuid(NO_UUID)


class BrokerOffsetReader:
    """Answers `OffsetReader` from brokers, with a consumer that the caller keeps open."""

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

    def available(
        self, wanted: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Sequence[AvailableRange]]:
        here = [each for each in self._partitions if each in wanted]
        starts = self._consumer.beginning_offsets(here)
        ends = self._consumer.end_offsets(here)
        return {
            each: [AvailableRange(starts[each], max(starts[each], ends[each]), BrokerSource())]
            for each in here
        }

    def log_ends(self) -> Mapping[TopicPartition, int]:
        return {}

    def leader_epochs(self, wanted: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        # A leader returns its own epoch with the end, which no record has exceeded.
        here: dict[tuple[str, int], int] = {
            each: _END for each in self._partitions if each in wanted
        }
        found = self._consumer.offsets_for_times(here)
        return {
            each: place.leader_epoch
            for each, place in found.items()
            if place is not None and place.leader_epoch >= 0
        }

    def truncated_ends(
        self, known: Mapping[TopicPartition, KnownEnd]
    ) -> Mapping[TopicPartition, int]:
        here: dict[tuple[str, int], int] = {
            each: epoch
            for each in self._partitions
            if each in known and (epoch := known[each].leader_epoch) is not None
        }
        ends = self._consumer.ends_of_epochs(here)
        return {each: end for each, end in ends.items() if 0 <= end < known[each].end}

    def topic_ids(self) -> Mapping[TopicPartition, TopicIdentity]:
        return {
            each: TopicIdentity(self._topic_ids[each.topic], "the brokers")
            for each in self._partitions
            if each.topic in self._topic_ids
        }

    def offsets_for_times(
        self, wanted: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        here: dict[tuple[str, int], int] = {
            each: time for each, time in wanted.items() if each in self._partitions
        }
        found = self._consumer.offsets_for_times(here)
        return {each: None if record is None else record.offset for each, record in found.items()}


class Brokers(NamedTuple):
    """Open clients of the brokers, which a stream keeps from view to view."""

    admin: Admin
    consumer: Consumer[bytes, bytes]


@contextmanager
def open_brokers(options: SourceOptions) -> Iterator[Brokers]:
    """Yield clients of the brokers."""
    config = {**shared_options(options.client), "bootstrap.servers": options.servers}
    with Admin.from_config(config) as admin, open_consumer(options) as consumer:
        yield Brokers(admin, consumer)


def broker_offset_reader(brokers: Brokers, options: SourceOptions) -> BrokerOffsetReader:
    """Return the offset reader of the partitions that the options select now."""
    topics = brokers.admin.list_topics(with_internal=True)
    described = brokers.admin.describe_topics(filter(options.topics.may_include, topics))
    ids = {topic.name: topic.topic_id for topic in described if topic.topic_id != _NO_ID}
    partitions = select_partitions(described, options.topics)
    return BrokerOffsetReader(brokers.consumer, topics, partitions, topic_ids=ids)


def select_partitions(
    topics: Iterable[TopicDescription], choice: TopicChoice
) -> list[TopicPartition]:
    """Return the selected partitions of topics, in order."""
    found = [
        TopicPartition(TopicName(topic.name), PartitionId(each.partition))
        for topic in topics
        for each in topic.partitions
    ]
    return sorted(filter(choice.includes, found))


@contextmanager
def open_consumer(options: SourceOptions) -> Iterator[Consumer[bytes, bytes]]:
    """Yield a consumer; an offset out of range is an error, never a reset."""
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
