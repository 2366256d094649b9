"""Configuration values of one log (Kafka: `LogConfig`).

`topic_settings` declares, parses and inherits them; this module has plain values. Times are in
milliseconds. "No limit" is -1 or NEVER, as in Kafka's setting of that name.
"""

from dataclasses import dataclass, field
from typing import Final

from cordwood.core.binary import INT64_MAX
from cordwood.records.record import TimestampType

NEVER: Final = INT64_MAX
DELETE: Final = "delete"
COMPACT: Final = "compact"
PRODUCER: Final = "producer"

_WEEK_MS: Final = 7 * 24 * 3600 * 1000
_DAY_MS: Final = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """One topic's values, with the defaults of Kafka 4.3. A change replaces the whole object."""

    segment_bytes: int = 1 << 30
    segment_ms: int = _WEEK_MS
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 * 1024 * 1024
    index_interval_bytes: int = 4096
    preallocate: bool = False
    flush_messages: int = NEVER
    flush_ms: int = NEVER
    retention_bytes: int = -1
    retention_ms: int = _WEEK_MS
    file_delete_delay_ms: int = 60_000
    cleanup_policy: frozenset[str] = field(default_factory=lambda: frozenset({DELETE}))
    delete_retention_ms: int = _DAY_MS
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = NEVER
    min_cleanable_dirty_ratio: float = 0.5
    max_message_bytes: int = 1_048_588
    compression_type: str = PRODUCER
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    message_timestamp_type: TimestampType = TimestampType.CREATE_TIME
    message_timestamp_before_max_ms: int = NEVER
    message_timestamp_after_max_ms: int = 3_600_000
    min_insync_replicas: int = 1
    unclean_leader_election_enable: bool = False

    @property
    def is_compacted(self) -> bool:
        return COMPACT in self.cleanup_policy

    @property
    def is_deleted(self) -> bool:
        """Return whether retention deletes old segments by time and size."""
        return DELETE in self.cleanup_policy

    @property
    def roll_ms(self) -> int:
        """The age at which a segment is rolled, before jitter."""
        if self.is_compacted:
            return min(self.max_compaction_lag_ms, self.segment_ms)
        return self.segment_ms
