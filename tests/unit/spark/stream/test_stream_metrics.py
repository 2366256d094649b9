"""Metrics of streams."""

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.observability.exposition import expose
from cordwood.observability.metrics import Metrics
from cordwood.spark.stream.batch_progress import BatchProgress, PartitionProgress
from cordwood.spark.stream.stream_metrics import STREAM_CATALOGUE, count_batch, forget_lag

P0, P1 = (TopicPartition(TopicName("t"), PartitionId(each)) for each in range(2))
PARTITIONS = {P0: PartitionProgress(5, 4), P1: PartitionProgress(0, 3, gap_offsets=2)}
DONE = BatchProgress("orders", 7, 3000, 360_000, 400, 7, 3100, 2, 1, PARTITIONS)


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


def test_batches_have_rates_of_records_and_bytes() -> None:
    text = "".join(expose(counted(1)))

    assert 'cordwood_stream_records_per_second{query="orders"} 7500' in text
    assert 'cordwood_stream_bytes_per_second{query="orders"} 900000' in text


def test_partitions_have_their_positions_lags_and_gaps() -> None:
    text = "".join(expose(counted(2)))

    labels = '{query="orders",topic="t",partition="1"}'
    assert f"cordwood_stream_partition_position{labels} 0" in text
    assert f"cordwood_stream_partition_behind_records{labels} 3" in text
    assert f"cordwood_stream_partition_gap_offsets_total{labels} 4" in text


def test_partition_that_no_source_has_now_loses_its_lag() -> None:
    metrics = counted(1)

    count_batch(metrics, DONE._replace(partitions={P0: PartitionProgress(9, 0)}))

    lags = [
        line
        for line in "".join(expose(metrics)).splitlines()
        if "partition_behind_records{" in line
    ]
    assert lags == [
        'cordwood_stream_partition_behind_records{query="orders",topic="t",partition="0"} 0'
    ]


def test_lag_of_an_ended_query_is_forgotten() -> None:
    metrics = counted(1)

    forget_lag(metrics, "orders")

    assert "behind" not in "".join(expose(metrics))


def test_every_metric_of_the_catalogue_is_set() -> None:
    assert {metric.name for metric, _ in counted(1).collect()} == set(STREAM_CATALOGUE)
