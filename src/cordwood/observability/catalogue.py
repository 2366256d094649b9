"""Every metric there is: name, kind, labels, and what it says. Names are Prometheus's in style.

A counter only grows, a gauge is what holds now, a histogram counts what fell below each bound.
Times are in seconds and sizes in bytes, as the names say.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Kind(Enum):
    """Prometheus's words."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """One line of the catalogue. `bounds` are a histogram's, rising."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()


_SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_LONG: Final = (0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10_800)
_C, _G, _H = Kind.COUNTER, Kind.GAUGE, Kind.HISTOGRAM

# fmt: off
_ALL: Final = (
    Metric("cordwood_info", _G, "1, with who this is.", ("version", "cluster_id", "node_id")),
    Metric("cordwood_start_time_seconds", _G, "When the broker was ready, since 1970."),
    Metric("cordwood_connections", _G, "Connections that are open.", ("listener",)),
    Metric("cordwood_connections_opened_total", _C, "Connections taken.", ("listener",)),
    Metric("cordwood_connections_refused_total", _C, "Connections not taken.", ("reason",)),
    Metric("cordwood_connections_ended_total", _C, "Connections ended here.", ("reason",)),
    Metric("cordwood_requests_total", _C, "Requests answered.", ("api", "version")),
    Metric("cordwood_requests_refused_total", _C, "Refused as a whole.", ("api", "error")),
    Metric("cordwood_request_seconds", _H, "From request to answer.", ("api",), _SECONDS),
    Metric("cordwood_request_memory_bytes", _G, "Memory of requests in work."),
    Metric("cordwood_received_bytes_total", _C, "Bytes of requests.", ("listener",)),
    Metric("cordwood_sent_bytes_total", _C, "Bytes of answers.", ("listener",)),
    Metric("cordwood_produced_records_total", _C, "Records taken.", ("topic",)),
    Metric("cordwood_produced_bytes_total", _C, "Bytes of batches taken.", ("topic",)),
    Metric("cordwood_produce_refused_total", _C, "Batches refused.", ("topic", "error")),
    Metric("cordwood_fetched_bytes_total", _C, "Bytes of batches handed out.", ("topic",)),
    Metric("cordwood_fetch_sessions", _G, "Fetch sessions that are kept."),
    Metric("cordwood_topics", _G, "Topics there are."),
    Metric("cordwood_partitions", _G, "Partitions there are here."),
    Metric("cordwood_partitions_offline", _G, "Partitions whose directory failed."),
    Metric("cordwood_log_bytes", _G, "Bytes of logs on disk.", ("topic",)),
    Metric("cordwood_cleaner_passes_total", _C, "Passes of the cleaner.", ("outcome",)),
    Metric("cordwood_cleaner_read_bytes_total", _C, "Bytes of logs before passes."),
    Metric("cordwood_cleaner_kept_bytes_total", _C, "Bytes of logs that passes have left."),
    Metric("cordwood_cleaner_recopy_ratio", _G, "What the last pass left of what it read."),
    Metric("cordwood_cleaner_pass_seconds", _H, "How long passes took.", (), _LONG),
    Metric("cordwood_cleaner_longest_pass_seconds", _G, "How long the longest of them took."),
    Metric("cordwood_cleaner_idle_seconds", _G, "Time since logs were last looked at."),
    Metric("cordwood_cleaner_max_dirty_ratio", _G, "How dirty the dirtiest log is."),
    Metric("cordwood_cleaner_max_delay_seconds", _G, "Beyond max.compaction.lag.ms."),
    Metric("cordwood_cleaner_failing_partitions", _G, "Whose last pass failed.", ("directory",)),
    Metric("cordwood_cleaner_failing_bytes", _G, "Bytes of logs that fail.", ("directory",)),
    Metric("cordwood_flush_seconds", _H, "How long syncs of logs took.", (), _SECONDS),
    Metric("cordwood_slow_calls_total", _C, "Calls that held up the broker."),
)
# fmt: on
CATALOGUE: Final = {metric.name: metric for metric in _ALL}
