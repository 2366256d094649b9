"""Catalogue of all metrics: name, kind, help text and labels, in Prometheus's naming style.

A counter only grows, a gauge is a current value, and a histogram counts values by upper bounds.
Durations are in seconds and sizes in bytes, as their names end.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class MetricKind(Enum):
    """The kinds of metrics, as Prometheus names them."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; `bounds` are the rising upper bounds of a histogram."""

    name: str
    kind: MetricKind
    help: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()


_SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_LONG: Final = (0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10_800)
_C, _G, _H = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.HISTOGRAM

# fmt: off
_ALL: Final = (
    Metric("cordwood_info", _G,
           "Always 1; the labels identify the broker.", ("version", "cluster_id", "node_id")),
    Metric("cordwood_start_time_seconds", _G, "Time of the start, in seconds since 1970."),
    Metric("cordwood_connections", _G, "Open connections.", ("listener",)),
    Metric("cordwood_connections_opened_total", _C, "Accepted connections.", ("listener",)),
    Metric("cordwood_connections_refused_total", _C, "Rejected connections.", ("reason",)),
    Metric("cordwood_connections_ended_total", _C, "Closed connections.", ("reason",)),
    Metric("cordwood_tls_failures_total", _C, "Failed TLS handshakes.", ("reason",)),
    Metric("cordwood_requests_total", _C, "Handled requests.", ("api", "version")),
    Metric("cordwood_requests_refused_total", _C,
           "Requests with one error as a whole.", ("api", "error")),
    Metric("cordwood_request_seconds", _H, "Seconds from request to response.", ("api",), _SECONDS),
    Metric("cordwood_request_memory_bytes", _G, "Memory allocated to request frames."),
    Metric("cordwood_response_memory_bytes", _G, "Memory of responses that are being sent."),
    Metric("cordwood_received_bytes_total", _C, "Bytes of requests.", ("listener",)),
    Metric("cordwood_sent_bytes_total", _C, "Bytes of responses.", ("listener",)),
    Metric("cordwood_produced_records_total", _C, "Appended records.", ("topic",)),
    Metric("cordwood_produced_bytes_total", _C, "Bytes of appended batches.", ("topic",)),
    Metric("cordwood_produce_refused_total", _C, "Rejected batches.", ("topic", "error")),
    Metric("cordwood_fetched_bytes_total", _C, "Bytes of fetched batches.", ("topic",)),
    Metric("cordwood_fetch_sessions", _G, "Incremental fetch sessions."),
    Metric("cordwood_groups", _G, "Groups.", ("protocol", "state")),
    Metric("cordwood_group_offsets", _G, "Committed offsets of groups."),
    Metric("cordwood_group_offsets_committed_total", _C, "Commits of the offset of a partition."),
    Metric("cordwood_group_offsets_deleted_total", _C, "Deleted offsets of groups.", ("reason",)),
    Metric("cordwood_group_rebalances_total", _C,
           "Completed generations, and new epochs of consumer groups.", ("protocol",)),
    Metric("cordwood_transactional_ids", _G,
           "Transactional ids, by the state of their latest transaction.", ("state",)),
    Metric("cordwood_transactions_total", _C, "Decided transactions.", ("result",)),
    Metric("cordwood_coordinator_partitions", _G,
           "Coordinated partitions of internal topics.", ("topic", "state")),
    Metric("cordwood_coordinator_load_seconds", _H,
           "Seconds that loads of such a partition took.", ("topic",), _SECONDS),
    Metric("cordwood_topics", _G, "Topics."),
    Metric("cordwood_partitions", _G, "Partitions with a log on this broker."),
    Metric("cordwood_partitions_offline", _G, "Partitions in failed log directories."),
    Metric("cordwood_log_bytes", _G, "Bytes of logs on disk.", ("topic",)),
    Metric("cordwood_log_directory_usable_bytes", _G,
           "Free bytes of the file system, at the scrape before.", ("directory",)),
    Metric("cordwood_log_directory_total_bytes", _G,
           "Size of the file system, at the scrape before.", ("directory",)),
    Metric("cordwood_deleted_segments_total", _C,
           "Segments deleted by retention, or with their topic.", ("reason",)),
    Metric("cordwood_deleted_bytes_total", _C,
           "Bytes of logs deleted by retention, or with their topic.", ("reason",)),
    Metric("cordwood_transient_disk_errors_total", _C,
           "Requests rejected for want of disk space or descriptors.", ("directory", "reason")),
    Metric("cordwood_cleaner_passes_total", _C, "Cleaning passes.", ("outcome",)),
    Metric("cordwood_cleaner_read_bytes_total", _C, "Bytes of logs before cleaning."),
    Metric("cordwood_cleaner_kept_bytes_total", _C, "Bytes of logs after cleaning."),
    Metric("cordwood_cleaner_recopy_ratio", _G, "Bytes kept per byte read by the last pass."),
    Metric("cordwood_cleaner_pass_seconds", _H, "Seconds that passes took.", (), _LONG),
    Metric("cordwood_cleaner_longest_pass_seconds", _G, "Seconds of the longest pass."),
    Metric("cordwood_cleaner_idle_seconds", _G, "Seconds since the last check for dirty logs."),
    Metric("cordwood_cleaner_max_dirty_ratio", _G, "Dirty ratio of the dirtiest log."),
    Metric("cordwood_cleaner_max_delay_seconds", _G,
           "Seconds by which the most overdue log exceeds max.compaction.lag.ms."),
    Metric("cordwood_cleaner_failing_partitions", _G,
           "Logs whose last pass failed.", ("directory",)),
    Metric("cordwood_cleaner_failing_bytes", _G,
           "Bytes of logs whose last pass failed.", ("directory",)),
    Metric("cordwood_flush_seconds", _H, "Seconds that fsyncs of logs took.", (), _SECONDS),
    Metric("cordwood_log_task_failures_total", _C, "Failed periodic tasks of single logs."),
    Metric("cordwood_log_lines_lost_total", _C, "Log lines that could not be written."),
    Metric("cordwood_slow_calls_total", _C, "Calls that blocked the event loop."),
)
# fmt: on
CATALOGUE: Final = {metric.name: metric for metric in _ALL}
