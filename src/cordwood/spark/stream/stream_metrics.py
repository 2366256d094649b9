"""Metrics of streams, in the style of the broker's catalogue (`observability.catalogue`).

Counters count what one program has seen; the label is the name of the query, or its id.
"""

from collections.abc import Collection
from typing import Final

from cordwood.core.types import TopicPartition
from cordwood.observability.catalogue import Metric, MetricKind
from cordwood.observability.metrics import Metrics
from cordwood.spark.stream.batch_progress import BatchProgress

_QUERY: Final = ("query",)
_PARTITION: Final = ("query", "topic", "partition")
_SECONDS: Final = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 600)
_MS: Final = 1000
_BEHIND_RECORDS: Final = "cordwood_stream_behind_records"
_BEHIND_SECONDS: Final = "cordwood_stream_behind_seconds"
_RECORDS_PER_SECOND: Final = "cordwood_stream_records_per_second"
_BYTES_PER_SECOND: Final = "cordwood_stream_bytes_per_second"
#: Gauges of a partition; a partition of an ended query has none.
_POSITION: Final = "cordwood_stream_partition_position"
_PARTITION_BEHIND: Final = "cordwood_stream_partition_behind_records"
_PARTITION_GAPS: Final = "cordwood_stream_partition_gap_offsets_total"
_OF_PARTITIONS: Final = (_POSITION, _PARTITION_BEHIND)
_OF_QUERIES: Final = (_BEHIND_RECORDS, _BEHIND_SECONDS, _RECORDS_PER_SECOND, _BYTES_PER_SECOND)
_C, _G, _H = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.HISTOGRAM

# fmt: off
_ALL: Final = (
    Metric("cordwood_stream_batches_total", _C, "Finished batches.", _QUERY),
    Metric("cordwood_stream_records_total", _C, "Records of finished batches.", _QUERY),
    Metric("cordwood_stream_bytes_total", _C, "Bytes of batches; assumed on brokers.", _QUERY),
    Metric("cordwood_stream_gap_offsets_total", _C, "Recorded offsets without a source.", _QUERY),
    Metric("cordwood_stream_failed_commits", _G, "Failed commits to the group.", _QUERY),
    Metric(_BEHIND_RECORDS, _G, "Offsets after the last batch.", _QUERY),
    Metric(_BEHIND_SECONDS, _G, "Age of the oldest record after the last batch.", _QUERY),
    Metric(_RECORDS_PER_SECOND, _G, "Records of the last batch, by its time.", _QUERY),
    Metric(_BYTES_PER_SECOND, _G, "Bytes of the last batch, by its time.", _QUERY),
    Metric("cordwood_stream_batch_seconds", _H, "Seconds that batches took.", _QUERY, _SECONDS),
    Metric(_POSITION, _G, "Next offset of a partition.", _PARTITION),
    Metric(_PARTITION_BEHIND, _G, "Offsets of a partition after the last batch.", _PARTITION),
    Metric(_PARTITION_GAPS, _C, "Offsets of a partition without a source.", _PARTITION),
)
# fmt: on
STREAM_CATALOGUE: Final = {metric.name: metric for metric in _ALL}


def count_batch(metrics: Metrics, done: BatchProgress) -> None:
    """Add a finished batch."""
    query = done.query
    metrics.counter("cordwood_stream_batches_total", query).add()
    metrics.counter("cordwood_stream_records_total", query).add(done.records)
    metrics.counter("cordwood_stream_bytes_total", query).add(done.size)
    metrics.counter("cordwood_stream_gap_offsets_total", query).add(done.gap_offsets)
    metrics.gauge("cordwood_stream_failed_commits", query).set(done.failed_commits)
    metrics.gauge(_BEHIND_RECORDS, query).set(done.behind)
    metrics.gauge(_BEHIND_SECONDS, query).set(done.behind_ms / _MS)
    seconds = done.duration_ms / _MS
    metrics.histogram("cordwood_stream_batch_seconds", query).observe(seconds)
    for name, amount in ((_RECORDS_PER_SECOND, done.records), (_BYTES_PER_SECOND, done.size)):
        metrics.gauge(name, query).set(amount / seconds if seconds else amount)
    forget_partitions(metrics, query, kept=done.partitions)
    for (topic, partition), each in done.partitions.items():
        labels = query, topic, str(partition)
        metrics.gauge(_POSITION, *labels).set(each.position)
        metrics.gauge(_PARTITION_BEHIND, *labels).set(each.behind)
        metrics.counter(_PARTITION_GAPS, *labels).add(each.gap_offsets)


def forget_lag(metrics: Metrics, query: str) -> None:
    """Remove the lag and the rates of a query that ended: no later batch would update them."""
    for name in _OF_QUERIES:
        metrics.forget(name, query)
    forget_partitions(metrics, query, kept=())


def forget_partitions(metrics: Metrics, query: str, *, kept: Collection[TopicPartition]) -> None:
    """Remove the gauges of the partitions of a query, except for `kept`."""
    names = {(topic, str(partition)) for topic, partition in kept}
    for name in _OF_PARTITIONS:
        for labels in metrics.labels_of(name):
            if labels[0] == query and labels[1:] not in names:
                metrics.forget(name, *labels)
