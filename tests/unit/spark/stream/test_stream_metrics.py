"""Metrics of streams."""

from cordwood.observability.exposition import expose
from cordwood.observability.metrics import Metrics
from cordwood.spark.stream.batch_progress import BatchProgress
from cordwood.spark.stream.stream_metrics import STREAM_CATALOGUE, count_batch, forget_lag

DONE = BatchProgress("orders", 7, 3000, 360_000, 420, 7, 3100, 2, 1)


def counted(batches: int) -> Metrics:
    metrics = Metrics(STREAM_CATALOGUE)
    for _ in range(batches):
        count_batch(metrics, DONE)
    return metrics


def test_batches_are_counted_by_query() -> None:
    text = "".join(expose(counted(2)))

    assert 'cordwood_stream_batches_total{query="orders"} 2' in text
    assert 'cordwood_stream_records_total{query="orders"} 6000' in text
    assert 'cordwood_stream_bytes_total{query="orders"} 720000' in text
    assert 'cordwood_stream_gap_offsets_total{query="orders"} 4' in text
    assert 'cordwood_stream_behind_seconds{query="orders"} 3.1' in text
    assert 'cordwood_stream_batch_seconds_count{query="orders"} 2' in text


def test_lag_of_an_ended_query_is_forgotten() -> None:
    metrics = counted(1)

    forget_lag(metrics, "orders")

    assert "behind" not in "".join(expose(metrics))


def test_every_metric_of_the_catalogue_is_set() -> None:
    assert {metric.name for metric, _ in counted(1).collect()} == set(STREAM_CATALOGUE)
