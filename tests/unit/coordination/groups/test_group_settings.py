"""The defaults of group settings are those that the broker declares."""

from cordwood.broker.settings.groups import GROUPS
from cordwood.coordination.groups.group_settings import GroupSettings

KEYS = {
    "min_session_timeout_ms": "group.min.session.timeout.ms",
    "max_session_timeout_ms": "group.max.session.timeout.ms",
    "initial_rebalance_delay_ms": "group.initial.rebalance.delay.ms",
    "max_size": "group.max.size",
    "consumer_session_timeout_ms": "group.consumer.session.timeout.ms",
    "consumer_min_session_timeout_ms": "group.consumer.min.session.timeout.ms",
    "consumer_max_session_timeout_ms": "group.consumer.max.session.timeout.ms",
    "consumer_heartbeat_interval_ms": "group.consumer.heartbeat.interval.ms",
    "consumer_min_heartbeat_interval_ms": "group.consumer.min.heartbeat.interval.ms",
    "consumer_max_heartbeat_interval_ms": "group.consumer.max.heartbeat.interval.ms",
    "consumer_assignment_interval_ms": "group.consumer.assignment.interval.ms",
    "consumer_min_assignment_interval_ms": "group.consumer.min.assignment.interval.ms",
    "consumer_max_assignment_interval_ms": "group.consumer.max.assignment.interval.ms",
    "consumer_max_size": "group.consumer.max.size",
    "consumer_assignors": "group.consumer.assignors",
    "consumer_migration_policy": "group.consumer.migration.policy",
    "offset_metadata_max_bytes": "offset.metadata.max.bytes",
}


def test_defaults_are_those_of_the_broker_settings() -> None:
    settings = GroupSettings()

    declared = {name: GROUPS[key].default for name, key in KEYS.items()}

    assert {name: getattr(settings, name) for name in KEYS} == declared


def test_retention_of_offsets_is_the_default_in_minutes() -> None:
    minutes = GROUPS["offsets.retention.minutes"].default

    assert isinstance(minutes, int)
    assert GroupSettings().offsets_retention_ms == minutes * 60_000
