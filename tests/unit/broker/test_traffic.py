"""Figures of a topic count what happened, once, and go with it."""

from cordwood.broker.traffic import TopicTraffic
from cordwood.core.errors import MessageTooLargeError
from cordwood.observability.metrics import Counter, Metrics
from cordwood.storage.appending import AppendResult
from cordwood.storage.record_errors import InvalidRecordsError, RecordError


def figures(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Return what is counted, by the labels behind the topic and the metric's name."""
    return {
        (metric.name, *labels): counter.value
        for metric, values in metrics.found()
        for labels, counter in values.items()
        if isinstance(counter, Counter) and counter.value
    }


def test_records_and_bytes_are_counted_once() -> None:
    metrics = Metrics()
    traffic = TopicTraffic(metrics, "t")

    traffic.took(AppendResult(5, 7), 300)
    traffic.took(AppendResult(5, 7, is_duplicate=True), 300)
    traffic.handed_out(40)

    assert figures(metrics) == {
        ("cordwood_produced_records_total", "t"): 3,
        ("cordwood_produced_bytes_total", "t"): 300,
        ("cordwood_fetched_bytes_total", "t"): 40,
    }


def test_refusals_are_counted_by_the_name_of_their_code() -> None:
    metrics = Metrics()
    traffic = TopicTraffic(metrics, "t")

    for error in (MessageTooLargeError(), InvalidRecordsError(RecordError(0, "no"))) * 2:
        traffic.refused(error)

    assert figures(metrics) == {
        ("cordwood_produce_refused_total", "t", "MessageTooLargeError"): 2,
        ("cordwood_produce_refused_total", "t", "InvalidRecordError"): 2,
    }


def test_figures_of_a_topic_go_with_it_and_others_stay() -> None:
    metrics = Metrics()
    traffic, other = TopicTraffic(metrics, "t"), TopicTraffic(metrics, "u")
    for each in (traffic, other):
        each.took(AppendResult(0, 0), 1)
        each.refused(MessageTooLargeError())

    traffic.forget()

    assert {labels[1] for labels in figures(metrics)} == {"u"}
