"""What goes into one topic and out of it, in figures that go when the topic does."""

from cordwood.core.errors import KafkaError, error_for_code
from cordwood.observability.metrics import Counter, Metrics
from cordwood.storage.appending import AppendResult


class TopicTraffic:
    """The figures of a topic, which all its partitions share."""

    __slots__ = ("_bytes_in", "_bytes_out", "_metrics", "_records_in", "_refused", "_topic")

    def __init__(self, metrics: Metrics, topic: str) -> None:
        self._metrics = metrics
        self._topic = topic
        self._records_in = metrics.counter("cordwood_produced_records_total", topic)
        self._bytes_in = metrics.counter("cordwood_produced_bytes_total", topic)
        self._bytes_out = metrics.counter("cordwood_fetched_bytes_total", topic)
        self._refused: dict[str, Counter] = {}

    def took(self, result: AppendResult, size: int) -> None:
        """A record set has been written, unless it was there already."""
        if not result.is_duplicate:
            self._records_in.add(result.last_offset - result.first_offset + 1)
            self._bytes_in.add(size)

    def refused(self, error: KafkaError) -> None:
        """A record set has not been taken; the error goes by the name of its wire code."""
        name = error_for_code(error.code).__name__
        if name not in self._refused:
            self._refused[name] = self._metrics.counter(
                "cordwood_produce_refused_total", self._topic, name
            )
        self._refused[name].add()

    def handed_out(self, size: int) -> None:
        """So many bytes of batches have been read, to be sent."""
        self._bytes_out.add(size)

    def forget(self) -> None:
        """Show nothing of the topic any more."""
        for name in (
            "cordwood_produced_records_total",
            "cordwood_produced_bytes_total",
            "cordwood_fetched_bytes_total",
        ):
            self._metrics.forget(name, self._topic)
        for error in self._refused:
            self._metrics.forget("cordwood_produce_refused_total", self._topic, error)
