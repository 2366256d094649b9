"""Tests of metrics in Prometheus's text format."""

from cordwood.observability.exposition import expose
from cordwood.observability.metrics import Metrics


def test_counter_has_help_type_and_a_line_for_its_labels() -> None:
    metrics = Metrics()
    metrics.counter("cordwood_sent_bytes_total", "b").add(7)
    metrics.counter("cordwood_sent_bytes_total", "a").add()

    assert [*expose(metrics)] == [
        "# HELP cordwood_sent_bytes_total Bytes of responses.\n",
        "# TYPE cordwood_sent_bytes_total counter\n",
        'cordwood_sent_bytes_total{listener="b"} 7\n',
        'cordwood_sent_bytes_total{listener="a"} 1\n',
    ]


def test_label_is_escaped() -> None:
    metrics = Metrics()
    metrics.read("cordwood_log_bytes", lambda: {('a"b\\c\nd',): 1.5})

    assert [*expose(metrics)][-1] == 'cordwood_log_bytes{topic="a\\"b\\\\c\\nd"} 1.5\n'


def test_histogram_counts_everything_below_each_bound() -> None:
    metrics = Metrics()
    for seconds in (0.0001, 0.004, 100):
        metrics.histogram("cordwood_flush_seconds").observe(seconds)

    lines = "".join(expose(metrics)).splitlines()

    assert 'cordwood_flush_seconds_bucket{le="0.0005"} 1' in lines
    assert 'cordwood_flush_seconds_bucket{le="10"} 2' in lines
    assert lines[-3:] == [
        'cordwood_flush_seconds_bucket{le="+Inf"} 3',
        "cordwood_flush_seconds_sum 100.0041",
        "cordwood_flush_seconds_count 3",
    ]


def test_metrics_without_values_are_left_out() -> None:
    assert [*expose(Metrics())] == []
