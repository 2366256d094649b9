"""Tests of counters, gauges and histograms."""

import pytest

from cordwood.observability.metrics import Histogram, Metrics


def test_counter_is_the_same_for_the_same_labels() -> None:
    metrics = Metrics()

    metrics.counter("cordwood_requests_total", "Fetch", "17").add()
    metrics.counter("cordwood_requests_total", "Fetch", "17").add(2)

    assert metrics.counter("cordwood_requests_total", "Fetch", "17").value == 3
    assert metrics.counter("cordwood_requests_total", "Fetch", "16").value == 0


def test_gauge_can_be_set_and_changed() -> None:
    gauge = Metrics().gauge("cordwood_topics")

    gauge.set(5)
    gauge.add(-2)

    assert gauge.value == 3


def test_histogram_counts_values_up_to_a_bound() -> None:
    histogram = Histogram((1, 2))

    for value in (0.5, 1, 1.5, 3):
        histogram.observe(value)

    assert (histogram.counts, histogram.sum) == ([2, 1, 1], 6)


def test_callback_of_a_gauge_is_called_at_each_collection() -> None:
    metrics, partitions = Metrics(), dict[tuple[str, ...], float]({(): 1})
    metrics.read("cordwood_partitions", lambda: partitions)

    partitions[()] = 2

    assert [(metric.name, values) for metric, values in metrics.collect()] == [
        ("cordwood_partitions", {(): 2})
    ]


def test_removed_labels_are_not_collected() -> None:
    metrics = Metrics()
    metrics.counter("cordwood_produced_bytes_total", "orders").add()

    metrics.forget("cordwood_produced_bytes_total", "orders")
    metrics.forget("cordwood_produced_bytes_total", "never")

    assert [*metrics.collect()] == []


def test_labels_of_a_metric_are_listed() -> None:
    metrics = Metrics()
    metrics.counter("cordwood_produced_bytes_total", "orders").add()

    assert metrics.labels_of("cordwood_produced_bytes_total") == [("orders",)]
    assert metrics.labels_of("cordwood_topics") == []


def test_metric_of_another_kind_or_with_other_labels_is_rejected() -> None:
    metrics = Metrics()

    with pytest.raises(AssertionError, match="is a gauge"):
        metrics.counter("cordwood_topics")
    with pytest.raises(AssertionError, match="has the labels"):
        metrics.histogram("cordwood_request_seconds")
