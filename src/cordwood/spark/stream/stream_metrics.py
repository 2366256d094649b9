"""Metrics of streams, in the style of the broker's catalogue (`observability.catalogue`).

Counters count what one program has seen; the label is the name of the query, or its id.
"""

from typing import Final

from cordwood.observability.catalogue import Metric, MetricKind
from cordwood.observability.metrics import Metrics
from cordwood.spark.stream.batch_progress import BatchProgress

_QUERY: Final = ("query",)
_SECONDS: Final = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 600)
_MS: Final = 1000
_BEHIND_RECORDS: Final = "cordwood_stream_behind_records"
_BEHIND_SECONDS: Final = "cordwood_stream_behind_seconds"
_C, _G, _H = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.HISTOGRAM

# fmt: off
_ALL: Final = (
    Metric("cordwood_stream_batches_total", _C, "Finished batches.", _QUERY),
    Metric("cordwood_stream_records_total", _C, "Records of finished batches.", _QUERY),
    Metric("cordwood_stream_bytes_total", _C, "Bytes of finished batches, as planned.", _QUERY),
    Metric("cordwood_stream_gap_offsets_total", _C, "Recorded offsets without a source.", _QUERY),
    Metric("cordwood_stream_failed_commits", _G, "Failed commits to the group.", _QUERY),
    Metric(_BEHIND_RECORDS, _G, "Offsets after the last batch.", _QUERY),
    Metric(_BEHIND_SECONDS, _G, "Age of the oldest record after the last batch.", _QUERY),
    Metric("cordwood_stream_batch_seconds", _H, "Seconds that batches took.", _QUERY, _SECONDS),
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
    metrics.histogram("cordwood_stream_batch_seconds", query).observe(done.duration_ms / _MS)


def forget_lag(metrics: Metrics, query: str) -> None:
    """Remove the lag of a query that ended, which would look current for ever."""
    metrics.forget(_BEHIND_RECORDS, query)
    metrics.forget(_BEHIND_SECONDS, query)
