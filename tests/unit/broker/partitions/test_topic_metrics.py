"""Tests of the metrics of one topic."""

from cordwood.broker.partitions.topic_metrics import TopicMetrics
from cordwood.core.errors import MessageTooLargeError
from cordwood.observability.metrics import Counter, Metrics
from cordwood.storage.log.log_append import AppendResult
from cordwood.storage.validation.record_rules import InvalidRecordsError, RecordError


def figures(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Return the counters that are not 0, by the metric's name and its labels."""
    return {
        (metric.name, *labels): counter.value
        for metric, values in metrics.collect()
        for labels, counter in values.items()
        if isinstance(counter, Counter) and counter.value
    }


def test_records_and_bytes_are_counted_once() -> None:
    metrics = Metrics()
    topic = TopicMetrics(metrics, "t")

    topic.record_append(AppendResult(5, 7), 300)
    topic.record_append(AppendResult(5, 7, is_duplicate=True), 300)
    topic.record_fetch(40)

    assert figures(metrics) == {
        ("cordwood_produced_records_total", "t"): 3,
        ("cordwood_produced_bytes_total", "t"): 300,
        ("cordwood_fetched_bytes_total", "t"): 40,
    }


def test_rejections_are_counted_by_the_name_of_their_code() -> None:
    metrics = Metrics()
    topic = TopicMetrics(metrics, "t")

    for error in (MessageTooLargeError(), InvalidRecordsError(RecordError(0, "no"))) * 2:
        topic.record_rejection(error)

    assert figures(metrics) == {
        ("cordwood_produce_refused_total", "t", "MessageTooLargeError"): 2,
        ("cordwood_produce_refused_total", "t", "InvalidRecordError"): 2,
    }


def test_removal_keeps_the_metrics_of_other_topics() -> None:
    metrics = Metrics()
    topic, other = TopicMetrics(metrics, "t"), TopicMetrics(metrics, "u")
    for each in (topic, other):
        each.record_append(AppendResult(0, 0), 1)
        each.record_rejection(MessageTooLargeError())

    topic.remove()

    assert {labels[1] for labels in figures(metrics)} == {"u"}
