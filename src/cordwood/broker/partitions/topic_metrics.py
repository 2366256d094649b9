"""Produce and fetch metrics of one topic, removed with it (Kafka: `BrokerTopicMetrics`)."""

from cordwood.core.errors import KafkaError, error_for_code
from cordwood.observability.metrics import Counter, Metrics
from cordwood.storage.log.log_append import AppendResult


class TopicMetrics:
    """The metrics of a topic, shared by all of its partitions."""

    __slots__ = ("_bytes_in", "_bytes_out", "_metrics", "_records_in", "_rejections", "_topic")

    def __init__(self, metrics: Metrics, topic: str) -> None:
        self._metrics = metrics
        self._topic = topic
        self._records_in = metrics.counter("cordwood_produced_records_total", topic)
        self._bytes_in = metrics.counter("cordwood_produced_bytes_total", topic)
        self._bytes_out = metrics.counter("cordwood_fetched_bytes_total", topic)
        self._rejections: dict[str, Counter] = {}

    def record_append(self, result: AppendResult, size: int) -> None:
        """Count an appended record set; a duplicate has been counted before."""
        if not result.is_duplicate:
            self._records_in.add(result.last_offset - result.first_offset + 1)
            self._bytes_in.add(size)

    def record_rejection(self, error: KafkaError) -> None:
        """Count a rejected record set under the name of its error code."""
        name = error_for_code(error.code).__name__
        if name not in self._rejections:
            self._rejections[name] = self._metrics.counter(
                "cordwood_produce_refused_total", self._topic, name
            )
        self._rejections[name].add()

    def record_fetch(self, size: int) -> None:
        """Count bytes of batches that go into a fetch response."""
        self._bytes_out.add(size)

    def remove(self) -> None:
        """Remove the topic from all metrics."""
        for name in (
            "cordwood_produced_records_total",
            "cordwood_produced_bytes_total",
            "cordwood_fetched_bytes_total",
        ):
            self._metrics.forget(name, self._topic)
        for error in self._rejections:
            self._metrics.forget("cordwood_produce_refused_total", self._topic, error)
