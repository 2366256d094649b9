"""Topic settings: Kafka 4.3 defaults, inheritance from the broker, and rejected values.

The expected values for brokers and topics come from Kafka 4.3.
"""

from collections.abc import Mapping

import pytest

from cordwood.core.errors import SettingError
from cordwood.core.settings import ResolvedSetting, SettingScope, SettingSource
from cordwood.records.record import TimestampType
from cordwood.storage.log_config import LogConfig
from cordwood.storage.topic_settings import (
    INTERNAL_SEGMENT_BYTES,
    RETIRED_SETTINGS,
    TOPIC_SETTINGS,
    broker_source,
    config_from,
    ensure_consistent_settings,
)

HOUR_MS = 3_600_000


def resolved(
    topic: Mapping[str, str] | None = None, broker: Mapping[str, str] | None = None
) -> dict[str, ResolvedSetting]:
    sources = [
        SettingSource("topic t", topic or {}),
        broker_source("server.properties", broker or {}),
    ]
    return TOPIC_SETTINGS.resolve(sources) | RETIRED_SETTINGS.resolve(sources)


def topic_config(**texts: str) -> LogConfig:
    return config_from(resolved({key.replace("_", "."): text for key, text in texts.items()}))


def broker_config(**texts: str) -> LogConfig:
    return config_from(resolved({}, {key.replace("_", "."): text for key, text in texts.items()}))


def test_defaults_are_those_of_a_log() -> None:
    assert config_from(TOPIC_SETTINGS.resolve([])) == LogConfig()


def test_every_setting_is_of_topics_and_has_a_description() -> None:
    for setting in (*TOPIC_SETTINGS, *RETIRED_SETTINGS):
        assert setting.scope is SettingScope.TOPIC
        assert setting.doc.endswith(".")


def test_table_has_the_settings_of_kafka_4_3() -> None:
    shown = {setting.name for setting in TOPIC_SETTINGS} - {INTERNAL_SEGMENT_BYTES}

    assert len(shown) == 33


def test_every_value_reaches_the_log() -> None:
    config = config_from(
        resolved(
            {
                "cleanup.policy": " compact , delete ",
                "compression.type": "gzip",
                "compression.gzip.level": "9",
                "min.cleanable.dirty.ratio": "1e-1",
                "message.timestamp.type": "LogAppendTime",
                "message.timestamp.before.max.ms": "1",
                "message.timestamp.after.max.ms": "2",
                "preallocate": "TRUE",
                "unclean.leader.election.enable": "true",
            }
        )
    )

    assert config == LogConfig(
        cleanup_policy=frozenset({"compact", "delete"}),
        compression_type="gzip",
        compression_gzip_level=9,
        min_cleanable_dirty_ratio=0.1,
        message_timestamp_type=TimestampType.LOG_APPEND_TIME,
        message_timestamp_before_max_ms=1,
        message_timestamp_after_max_ms=2,
        preallocate=True,
        unclean_leader_election_enable=True,
    )


@pytest.mark.parametrize(
    ("broker", "retention_ms"),
    (
        ({}, 168 * HOUR_MS),
        ({"log.retention.hours": "2"}, 2 * HOUR_MS),
        ({"log.retention.hours": "2", "log.retention.minutes": "5"}, 300_000),
        ({"log.retention.minutes": "5", "log.retention.ms": "1"}, 1),
        ({"log.retention.ms": "1", "log.retention.hours": "0"}, 1),
        ({"log.retention.hours": "-1"}, -1),
        ({"log.retention.hours": "-2"}, -1),
        ({"log.retention.ms": "-7"}, -1),
        ({"log.retention.hours": "2147483647"}, 7_730_941_129_200_000),
        ({"retention.ms": "5"}, 168 * HOUR_MS),
    ),
)
def test_retention_time_is_inherited_from_the_broker(
    broker: dict[str, str], retention_ms: int
) -> None:
    assert config_from(resolved({}, broker)).retention_ms == retention_ms


@pytest.mark.parametrize("key", ("log.retention.ms", "log.retention.minutes"))
def test_retention_time_of_0_is_rejected_from_a_broker(key: str) -> None:
    with pytest.raises(SettingError, match=f"setting {key}: the value '0'.*only a topic may"):
        broker_source("server.properties", {key: "0"})


def test_retention_time_of_0_is_accepted_from_a_topic() -> None:
    assert topic_config(retention_ms="0").retention_ms == 0


def test_retention_time_that_is_not_a_number_is_rejected() -> None:
    with pytest.raises(
        SettingError, match=r"log.retention.hours has the value 'x', .*of type long"
    ):
        broker_config(log_retention_hours="x")


def test_topic_wins_over_its_broker_and_the_source_is_reported() -> None:
    found = resolved({"retention.ms": "5"}, {"log.retention.ms": "7", "log.roll.hours": "1"})

    assert found["retention.ms"] == ResolvedSetting(5, "retention.ms", "topic t")
    assert found["segment.ms"] == ResolvedSetting(HOUR_MS, "log.roll.hours", "server.properties")
    assert found["flush.ms"].source == "default"


def test_other_times_are_inherited_in_kafka_s_order() -> None:
    config = broker_config(
        log_roll_hours="2",
        log_roll_jitter_hours="3",
        log_roll_jitter_ms="4",
        log_flush_scheduler_interval_ms="7",
    )

    assert config.segment_ms == 2 * HOUR_MS
    assert config.segment_jitter_ms == 4
    assert config.flush_ms == 7


def test_same_names_are_inherited_and_other_keys_of_a_broker_are_ignored() -> None:
    source = broker_source(
        "b", {"min.insync.replicas": "2", "segment.bytes": "1", "node.id": "1", "log.dirs": "/a"}
    )

    assert dict(source.texts) == {"min.insync.replicas": "2"}


@pytest.mark.parametrize(
    ("name", "text"),
    (
        ("cleanup.policy", "Delete"),
        ("cleanup.policy", ","),
        ("compression.type", "none"),
        ("compression.gzip.level", "0"),
        ("compression.gzip.level", "10"),
        ("compression.lz4.level", "18"),
        ("compression.zstd.level", "23"),
        ("leader.replication.throttled.replicas", "1:2,*"),
        ("message.timestamp.type", "createtime"),
        ("min.cleanable.dirty.ratio", "1.5"),
        ("retention.ms", "-2"),
        ("segment.bytes", "1048575"),
        ("segment.ms", "0"),
        ("min.insync.replicas", "0"),
        ("local.retention.ms", "-3"),
    ),
)
def test_value_is_rejected_as_by_kafka(name: str, text: str) -> None:
    with pytest.raises(SettingError, match=f"setting {name} has the value"):
        TOPIC_SETTINGS[name].parse(text)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    (
        ("cleanup.policy", "", ()),
        ("compression.gzip.level", "-1", -1),
        ("leader.replication.throttled.replicas", "*", ("*",)),
        ("follower.replication.throttled.replicas", "1:2,3:4", ("1:2", "3:4")),
        ("follower.replication.throttled.replicas", "", ()),
        ("retention.bytes", "-7", -7),
        (INTERNAL_SEGMENT_BYTES, "100", 100),
    ),
)
def test_value_is_accepted_as_by_kafka(name: str, text: str, value: object) -> None:
    assert TOPIC_SETTINGS[name].parse(text) == value


def test_segments_may_be_tiny_for_tests() -> None:
    assert topic_config(internal_segment_bytes="100").segment_bytes == 100


def test_log_without_a_policy_keeps_everything() -> None:
    assert topic_config(cleanup_policy="").cleanup_policy == frozenset()


@pytest.mark.parametrize(
    ("topic", "bounds"),
    (
        ({}, (2**63 - 1, HOUR_MS)),
        ({"message.timestamp.difference.max.ms": "9"}, (9, 9)),
        (
            {
                "message.timestamp.difference.max.ms": "9",
                "message.timestamp.after.max.ms": "7",
            },
            (9, 7),
        ),
    ),
)
def test_bound_of_an_old_topic_is_the_default_of_both_bounds(
    topic: dict[str, str], bounds: tuple[int, int]
) -> None:
    config = config_from(resolved(topic))

    assert (
        config.message_timestamp_before_max_ms,
        config.message_timestamp_after_max_ms,
    ) == bounds


def test_lags_are_rejected_when_the_shortest_is_above_the_longest() -> None:
    lags = {"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "4"}

    ensure_consistent_settings(resolved())
    with pytest.raises(SettingError, match=r"min.compaction.lag.ms .5. is above .* .4."):
        ensure_consistent_settings(resolved(lags))
