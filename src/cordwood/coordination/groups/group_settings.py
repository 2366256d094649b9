"""Settings of groups and of their offsets (Kafka: `GroupCoordinatorConfig`)."""

from dataclasses import dataclass
from typing import Final

from cordwood.core.binary import INT32_MAX

#: A new member gets no session timeout before its first generation, but this one.
NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 300_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """Broker settings of groups; the defaults are those of Kafka 4.3."""

    # Classic groups.
    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = INT32_MAX
    new_member_join_timeout_ms: int = NEW_MEMBER_JOIN_TIMEOUT_MS

    # Groups of the consumer protocol. A group's own configuration is clamped to the bounds.
    consumer_session_timeout_ms: int = 45_000
    consumer_min_session_timeout_ms: int = 45_000
    consumer_max_session_timeout_ms: int = 60_000
    consumer_heartbeat_interval_ms: int = 5_000
    consumer_min_heartbeat_interval_ms: int = 5_000
    consumer_max_heartbeat_interval_ms: int = 15_000
    consumer_assignment_interval_ms: int = 1_000
    consumer_min_assignment_interval_ms: int = 0
    consumer_max_assignment_interval_ms: int = 15_000
    consumer_max_size: int = INT32_MAX
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    consumer_migration_policy: str = "bidirectional"
    consumer_regex_refresh_interval_ms: int = 600_000

    # Committed offsets.
    offsets_retention_ms: int = 604_800_000
    offsets_retention_check_interval_ms: int = 600_000
    offset_metadata_max_bytes: int = 4_096
