"""Changes of topics and of group configs in a running Kafka, which its coordinator has seen.

A broker publishes an image to its parts one after the other, and its answers may be ahead of its
coordinator. A probe, a new group, is assigned what the coordinator sees. A config has arrived once
a later one is described: images are published in order.
"""

import time
from collections.abc import Callable, Mapping
from itertools import count
from typing import Final

from cordwood.coordination.topic_view import TopicFacts
from cordwood.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from cordwood.protocol.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from cordwood.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from cordwood.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from cordwood.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from tests.interop.kafka_harness.ordered_kafka import OrderedKafka, bucket_of
from tests.interop.kafka_harness.patience import PATIENCE_S

GROUP_RESOURCE: Final = 32
LIVE: Final = "groups-live"

_SET: Final = 0
_DELETE: Final = 1
_TIMEOUT_MS: Final = 30_000
_LATER: Final = "later"
_LATER_CONFIG: Final = "consumer.assignment.interval.ms"
_numbers = count(1)


class LiveTopic:
    """The topic `LIVE`, which changes while groups are subscribed to it."""

    def __init__(self, kafka: OrderedKafka) -> None:
        self._kafka = kafka
        self.facts: TopicFacts | None = None

    @property
    def topics(self) -> list[TopicFacts]:
        """All topics that the coordinator sees."""
        return [*self._kafka.topics, *([] if self.facts is None else [self.facts])]

    def create(self, partitions: int) -> None:
        """Create the topic, in a bucket of its own."""
        used = {bucket_of(each.topic_id) for each in self._kafka.topics}
        while self.facts is None or bucket_of(self.facts.topic_id) in used:
            if self.facts is not None:
                self.delete()
            topic = CreatableTopic(
                name=LIVE,
                num_partitions=partitions,
                replication_factor=1,
                assignments=[],
                configs=[],
            )
            request = CreateTopicsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS)
            (created,) = self._kafka.ask(request, 7, answer=CreateTopicsResponse).topics
            assert not created.error_code, created
            self.facts = TopicFacts(LIVE, created.topic_id, partitions)
            self._kafka.wait_for_topics([self.facts])

    def grow(self, added: int) -> None:
        """Add partitions."""
        assert self.facts is not None, "the topic exists"
        self.facts = self.facts._replace(partitions=self.facts.partitions + added)
        topic = CreatePartitionsTopic(name=LIVE, count=self.facts.partitions, assignments=None)
        request = CreatePartitionsRequest(
            topics=[topic], timeout_ms=_TIMEOUT_MS, validate_only=False
        )
        (grown,) = self._kafka.ask(request, 3, answer=CreatePartitionsResponse).results
        assert not grown.error_code, grown
        self._kafka.wait_for_topics([self.facts])

    def close(self) -> None:
        """Delete the topic at the end."""
        self.delete()

    def delete(self) -> None:
        """Delete the topic, if it exists."""
        if self.facts is None:
            return
        request = DeleteTopicsRequest(topic_names=[LIVE], timeout_ms=_TIMEOUT_MS)
        (deleted,) = self._kafka.ask(request, 5, answer=DeleteTopicsResponse).responses
        assert not deleted.error_code, deleted
        gone, self.facts = self.facts, None
        self._kafka.wait_for_topics([gone._replace(partitions=0)])


def set_group_config(kafka: OrderedKafka, group_id: str, values: Mapping[str, int | None]) -> None:
    """Set the configs of a group, or remove them with None; wait until its coordinator has them."""
    _alter(kafka, group_id, values)
    _alter(kafka, _LATER, {_LATER_CONFIG: next(_numbers) % 15_000})


def alter_configs(
    kafka: OrderedKafka, resource: tuple[int, str], values: Mapping[str, int | None]
) -> None:
    """Set the configs of a resource, a type and a name, or remove them with None."""
    configs = [
        AlterableConfig(
            name=name,
            config_operation=_DELETE if value is None else _SET,
            value=None if value is None else str(value),
        )
        for name, value in values.items()
    ]
    kind, named = resource
    changed = AlterConfigsResource(resource_type=kind, resource_name=named, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[changed], validate_only=False)
    (altered,) = kafka.ask(request, 1, answer=IncrementalAlterConfigsResponse).responses
    assert not altered.error_code, altered


def _alter(kafka: OrderedKafka, group_id: str, values: Mapping[str, int | None]) -> None:
    alter_configs(kafka, (GROUP_RESOURCE, group_id), values)
    described = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=GROUP_RESOURCE, resource_name=group_id, configuration_keys=[*values]
            )
        ]
    )

    def is_seen() -> bool:
        (found,) = kafka.ask(described, 4, answer=DescribeConfigsResponse).results
        seen = {each.name: each for each in found.configs}
        return all(
            seen[name].config_source != GROUP_SOURCE
            if value is None
            else seen[name].value == str(value)
            for name, value in values.items()
        )

    wait_until(is_seen)


#: The source of a config that the group has itself.
GROUP_SOURCE: Final = 8


def wait_until(is_done: Callable[[], bool]) -> None:
    """Look until something holds."""
    end = time.monotonic() + PATIENCE_S
    while not is_done():
        assert time.monotonic() < end, "a change of Kafka's did not arrive"
        time.sleep(0.002)
