"""Topic settings: names, types, defaults and inheritance from the broker (Kafka: `LogConfig`).

    topic's own value       retention.ms
    else its broker's       log.retention.ms, else log.retention.minutes, else log.retention.hours
    else the default        604800000

Names, types, defaults and bounds are Kafka 4.3's. `broker_source` gives the broker's values to
`resolve`: a broker has its own names for these settings. It also has its own rules for retention
time: any negative number means no limit, and 0 is rejected.

Kafka 3.x had three more settings, which 4.0 removed. `RETIRED_SETTINGS` reads the configuration of
old topics; only `message.timestamp.difference.max.ms` still has an effect.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final, TypeVar

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import SettingError
from cordwood.core.settings import (
    DEFAULT_SOURCE,
    ResolvedSetting,
    Setting,
    SettingScope,
    SettingSource,
    SettingSynonym,
    SettingTable,
    SettingType,
    SettingValue,
)
from cordwood.records.record import TimestampType
from cordwood.storage.log_config import COMPACT, DELETE, PRODUCER, LogConfig

T = TypeVar("T")

# Not shown to users: for tests, it overrides segment.bytes without its lower bound.
INTERNAL_SEGMENT_BYTES: Final = "internal.segment.bytes"

_HOUR_MS: Final = 3_600_000
_MINUTE_MS: Final = 60_000
_DAY_MS: Final = 24 * _HOUR_MS
_WEEK_MS: Final = 7 * _DAY_MS
_MIB: Final = 1 << 20

_TIMESTAMP_TYPES: Final[Mapping[str, TimestampType]] = MappingProxyType(
    {
        "CreateTime": TimestampType.CREATE_TIME,
        "LogAppendTime": TimestampType.LOG_APPEND_TIME,
    }
)
_THROTTLED = re.compile(r"([0-9]+:[0-9]+)?")
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,20}")

# The broker's defaults of these have the same name; those of all others are their synonyms.
SAME_AT_THE_BROKER: Final = frozenset(
    {
        "compression.type",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.zstd.level",
        "min.insync.replicas",
        "unclean.leader.election.enable",
    }
)


def _problem_of_gzip_level(value: SettingValue) -> str:
    is_level = isinstance(value, int) and (value == -1 or 1 <= value <= 9)
    return "" if is_level else "is neither -1 nor 1 to 9"


def _problem_of_throttled(value: SettingValue) -> str:
    pairs = value if isinstance(value, tuple) else ()
    is_list = all(_THROTTLED.fullmatch(pair) for pair in pairs)
    return "" if is_list or "".join(pairs) == "*" else "is neither * nor partition:broker pairs"


_DECLARED = (
    Setting(
        name="cleanup.policy",
        type=SettingType.LIST,
        default=(DELETE,),
        doc="Delete old segments (delete), or keep the last record of each key (compact).",
        one_of=(COMPACT, DELETE),
        synonyms=(SettingSynonym("log.cleanup.policy"),),
    ),
    Setting(
        name="compression.type",
        type=SettingType.STRING,
        default=PRODUCER,
        doc="The codec of batches on disk; producer keeps the producer's codec.",
        one_of=("uncompressed", "zstd", "lz4", "snappy", "gzip", PRODUCER),
    ),
    Setting(
        name="compression.gzip.level",
        type=SettingType.INT,
        default=-1,
        doc="The compression level of gzip: 1 is fastest, 9 smallest, -1 gzip's default.",
        check=_problem_of_gzip_level,
    ),
    Setting(
        name="compression.lz4.level",
        type=SettingType.INT,
        default=9,
        doc="The compression level of lz4: 1 is fastest, 17 smallest.",
        at_least=1,
        at_most=17,
    ),
    Setting(
        name="compression.zstd.level",
        type=SettingType.INT,
        default=3,
        doc="The compression level of zstd: lower levels are faster.",
        at_least=-131072,
        at_most=22,
    ),
    Setting(
        name="delete.retention.ms",
        type=SettingType.LONG,
        default=_DAY_MS,
        doc="The time for which compaction keeps tombstones, so that consumers can read them.",
        at_least=0,
        synonyms=(SettingSynonym("log.cleaner.delete.retention.ms"),),
    ),
    Setting(
        name="file.delete.delay.ms",
        type=SettingType.LONG,
        default=_MINUTE_MS,
        doc="The delay before a deleted file is removed from the disk.",
        at_least=0,
        synonyms=(SettingSynonym("log.segment.delete.delay.ms"),),
    ),
    Setting(
        name="flush.messages",
        type=SettingType.LONG,
        default=INT64_MAX,
        doc="The number of records after which the log is flushed to disk (fsync).",
        at_least=1,
        synonyms=(SettingSynonym("log.flush.interval.messages"),),
    ),
    Setting(
        name="flush.ms",
        type=SettingType.LONG,
        default=INT64_MAX,
        doc="The time after which records are flushed to disk (fsync).",
        at_least=0,
        synonyms=(
            SettingSynonym("log.flush.interval.ms"),
            SettingSynonym("log.flush.scheduler.interval.ms"),
        ),
    ),
    Setting(
        name="follower.replication.throttled.replicas",
        type=SettingType.LIST,
        default=(),
        doc="The throttled replicas on the follower side: partition:broker pairs, or *.",
        check=_problem_of_throttled,
    ),
    Setting(
        name="index.interval.bytes",
        type=SettingType.INT,
        default=4096,
        doc="The number of bytes between two index entries.",
        at_least=0,
        synonyms=(SettingSynonym("log.index.interval.bytes"),),
    ),
    Setting(
        name=INTERNAL_SEGMENT_BYTES,
        type=SettingType.INT,
        default=None,
        doc="Override segment.bytes without its lower bound, for tests.",
    ),
    Setting(
        name="leader.replication.throttled.replicas",
        type=SettingType.LIST,
        default=(),
        doc="The throttled replicas on the leader side: partition:broker pairs, or *.",
        check=_problem_of_throttled,
    ),
    Setting(
        name="local.retention.bytes",
        type=SettingType.LONG,
        default=-2,
        doc="The size up to which segments stay on local disks; -2 means retention.bytes.",
        at_least=-2,
        synonyms=(SettingSynonym("log.local.retention.bytes"),),
    ),
    Setting(
        name="local.retention.ms",
        type=SettingType.LONG,
        default=-2,
        doc="The time for which a segment stays on local disks; -2 means retention.ms.",
        at_least=-2,
        synonyms=(SettingSynonym("log.local.retention.ms"),),
    ),
    Setting(
        name="max.compaction.lag.ms",
        type=SettingType.LONG,
        default=INT64_MAX,
        doc="The longest time before a record becomes eligible for compaction.",
        at_least=1,
        synonyms=(SettingSynonym("log.cleaner.max.compaction.lag.ms"),),
    ),
    Setting(
        name="max.message.bytes",
        type=SettingType.INT,
        default=_MIB + 12,
        doc="The largest size of a batch in bytes, after compression.",
        at_least=0,
        synonyms=(SettingSynonym("message.max.bytes"),),
    ),
    Setting(
        name="message.timestamp.after.max.ms",
        type=SettingType.LONG,
        default=_HOUR_MS,
        doc="The largest time by which a producer's timestamp may be ahead of the broker's clock.",
        at_least=0,
        synonyms=(SettingSynonym("log.message.timestamp.after.max.ms"),),
    ),
    Setting(
        name="message.timestamp.before.max.ms",
        type=SettingType.LONG,
        default=INT64_MAX,
        doc="The largest time by which a producer's timestamp may be behind the broker's clock.",
        at_least=0,
        synonyms=(SettingSynonym("log.message.timestamp.before.max.ms"),),
    ),
    Setting(
        name="message.timestamp.type",
        type=SettingType.STRING,
        default="CreateTime",
        doc="Keep the producer's timestamps (CreateTime) or set the append time (LogAppendTime).",
        one_of=tuple(_TIMESTAMP_TYPES),
        synonyms=(SettingSynonym("log.message.timestamp.type"),),
    ),
    Setting(
        name="min.cleanable.dirty.ratio",
        type=SettingType.DOUBLE,
        default=0.5,
        doc="Compact a log when this share of its bytes is not compacted yet.",
        at_least=0,
        at_most=1,
        synonyms=(SettingSynonym("log.cleaner.min.cleanable.ratio"),),
    ),
    Setting(
        name="min.compaction.lag.ms",
        type=SettingType.LONG,
        default=0,
        doc="The shortest time before a record may be compacted.",
        at_least=0,
        synonyms=(SettingSynonym("log.cleaner.min.compaction.lag.ms"),),
    ),
    Setting(
        name="min.insync.replicas",
        type=SettingType.INT,
        default=1,
        doc="The number of in-sync replicas that an append with acks=all needs.",
        at_least=1,
    ),
    Setting(
        name="preallocate",
        type=SettingType.BOOLEAN,
        default=False,
        doc="Allocate the whole size of a new segment on disk at once.",
        synonyms=(SettingSynonym("log.preallocate"),),
    ),
    Setting(
        name="remote.log.copy.disable",
        type=SettingType.BOOLEAN,
        default=False,
        doc="Stop copying segments to remote storage; existing ones stay readable.",
    ),
    Setting(
        name="remote.log.delete.on.disable",
        type=SettingType.BOOLEAN,
        default=False,
        doc="Delete the remote segments when remote storage is disabled.",
    ),
    Setting(
        name="remote.storage.enable",
        type=SettingType.BOOLEAN,
        default=False,
        doc="Copy inactive segments to remote storage.",
    ),
    Setting(
        name="retention.bytes",
        type=SettingType.LONG,
        default=-1,
        doc="Delete old segments while the partition is larger than this; -1 means no limit.",
        synonyms=(SettingSynonym("log.retention.bytes"),),
    ),
    Setting(
        name="retention.ms",
        type=SettingType.LONG,
        default=_WEEK_MS,
        doc="Delete a segment when its latest record is older than this; -1 means no limit.",
        at_least=-1,
        synonyms=(
            SettingSynonym("log.retention.ms"),
            SettingSynonym("log.retention.minutes", _MINUTE_MS),
            SettingSynonym("log.retention.hours", _HOUR_MS),
        ),
    ),
    Setting(
        name="segment.bytes",
        type=SettingType.INT,
        default=1 << 30,
        doc="The largest size of a segment.",
        at_least=_MIB,
        synonyms=(SettingSynonym("log.segment.bytes"),),
    ),
    Setting(
        name="segment.index.bytes",
        type=SettingType.INT,
        default=10 * _MIB,
        doc="The size of a preallocated index; its segment is rolled when it is full.",
        at_least=4,
        synonyms=(SettingSynonym("log.index.size.max.bytes"),),
    ),
    Setting(
        name="segment.jitter.ms",
        type=SettingType.LONG,
        default=0,
        doc="The largest random time subtracted from segment.ms, to spread rolls.",
        at_least=0,
        synonyms=(
            SettingSynonym("log.roll.jitter.ms"),
            SettingSynonym("log.roll.jitter.hours", _HOUR_MS),
        ),
    ),
    Setting(
        name="segment.ms",
        type=SettingType.LONG,
        default=_WEEK_MS,
        doc="The time after which a segment is rolled even if it is not full.",
        at_least=1,
        synonyms=(
            SettingSynonym("log.roll.ms"),
            SettingSynonym("log.roll.hours", _HOUR_MS),
        ),
    ),
    Setting(
        name="unclean.leader.election.enable",
        type=SettingType.BOOLEAN,
        default=False,
        doc="Allow a replica that is not in sync to become leader; records may be lost.",
    ),
)

_RETIRED = (
    Setting(
        name="message.downconversion.enable",
        type=SettingType.BOOLEAN,
        default=True,
        doc="No effect: convert batches for consumers of old formats.",
        synonyms=(SettingSynonym("log.message.downconversion.enable"),),
    ),
    Setting(
        name="message.format.version",
        type=SettingType.STRING,
        default="3.0-IV1",
        doc="No effect: the release that defines the format of batches.",
        synonyms=(SettingSynonym("log.message.format.version"),),
    ),
    Setting(
        name="message.timestamp.difference.max.ms",
        type=SettingType.LONG,
        default=INT64_MAX,
        doc="The default of both timestamp bounds, before and after.",
        at_least=0,
        synonyms=(SettingSynonym("log.message.timestamp.difference.max.ms"),),
    ),
)

TOPIC_SETTINGS: Final = SettingTable(replace(each, scope=SettingScope.TOPIC) for each in _DECLARED)
RETIRED_SETTINGS: Final = SettingTable(replace(each, scope=SettingScope.TOPIC) for each in _RETIRED)

_BROKER_NAMES: Final = SAME_AT_THE_BROKER.union(
    other.name for each in (*_DECLARED, *_RETIRED) for other in each.synonyms
)


def broker_source(name: str, texts: Mapping[str, str]) -> SettingSource:
    """Return a broker's properties for its topics, as a source for `resolve`.

    Keys that are not broker settings, such as topic names of settings, are ignored.
    """
    given = {key: text for key, text in texts.items() if key in _BROKER_NAMES}
    retention = TOPIC_SETTINGS["retention.ms"]
    first_key = next((key for key in retention.names() if key in given), None)
    if first_key is not None:
        given[first_key] = _retention_text(first_key, given[first_key])
    return SettingSource(name, MappingProxyType(given))


def ensure_consistent_settings(resolved: Mapping[str, ResolvedSetting]) -> None:
    """Raise SettingError for values that contradict each other."""
    shortest = _value(resolved, "min.compaction.lag.ms", kind=int)
    longest = _value(resolved, "max.compaction.lag.ms", kind=int)
    if shortest > longest:
        raise SettingError(
            f"min.compaction.lag.ms ({shortest}) is above max.compaction.lag.ms ({longest})",
            key="min.compaction.lag.ms",
            remedy="lower the first or raise the second",
            kafka_message="conflict topic config setting"
            f" min.compaction.lag.ms ({shortest}) > max.compaction.lag.ms ({longest})",
        )


def config_from(resolved: Mapping[str, ResolvedSetting]) -> LogConfig:
    """Return the configuration of a log.

    `resolved` comes from `TOPIC_SETTINGS`; for an old topic, from `RETIRED_SETTINGS` too.
    """
    number = partial(_value, resolved, kind=int)
    switch = partial(_value, resolved, kind=bool)
    text = partial(_value, resolved, kind=str)
    return LogConfig(
        segment_bytes=_segment_bytes(resolved),
        segment_ms=number("segment.ms"),
        segment_jitter_ms=number("segment.jitter.ms"),
        segment_index_bytes=number("segment.index.bytes"),
        index_interval_bytes=number("index.interval.bytes"),
        preallocate=switch("preallocate"),
        flush_messages=number("flush.messages"),
        flush_ms=number("flush.ms"),
        retention_bytes=number("retention.bytes"),
        retention_ms=number("retention.ms"),
        file_delete_delay_ms=number("file.delete.delay.ms"),
        cleanup_policy=frozenset(_value(resolved, "cleanup.policy", kind=tuple)),
        delete_retention_ms=number("delete.retention.ms"),
        min_compaction_lag_ms=number("min.compaction.lag.ms"),
        max_compaction_lag_ms=number("max.compaction.lag.ms"),
        min_cleanable_dirty_ratio=_value(resolved, "min.cleanable.dirty.ratio", kind=float),
        max_message_bytes=number("max.message.bytes"),
        compression_type=text("compression.type"),
        compression_gzip_level=number("compression.gzip.level"),
        compression_lz4_level=number("compression.lz4.level"),
        compression_zstd_level=number("compression.zstd.level"),
        message_timestamp_type=_TIMESTAMP_TYPES[text("message.timestamp.type")],
        message_timestamp_before_max_ms=_timestamp_bound(resolved, "before"),
        message_timestamp_after_max_ms=_timestamp_bound(resolved, "after"),
        min_insync_replicas=number("min.insync.replicas"),
        unclean_leader_election_enable=switch("unclean.leader.election.enable"),
    )


def _retention_text(key: str, text: str) -> str:
    if _WHOLE_NUMBER.fullmatch(text.strip()) is None:
        return text
    if int(text) == 0:
        raise SettingError(
            f"setting {key}: the value {text!r} would delete all records at once",
            key=key,
            remedy="set a time above 0, or -1 for no limit; only a topic may have 0",
        )
    return "-1" if int(text) < 0 else text


def _segment_bytes(resolved: Mapping[str, ResolvedSetting]) -> int:
    if resolved[INTERNAL_SEGMENT_BYTES].value is None:
        return _value(resolved, "segment.bytes", kind=int)
    return _value(resolved, INTERNAL_SEGMENT_BYTES, kind=int)


def _timestamp_bound(resolved: Mapping[str, ResolvedSetting], side: str) -> int:
    name = f"message.timestamp.{side}.max.ms"
    old_name = "message.timestamp.difference.max.ms"
    is_given = resolved[name].source != DEFAULT_SOURCE
    if is_given or old_name not in resolved or resolved[old_name].source == DEFAULT_SOURCE:
        return _value(resolved, name, kind=int)
    return _value(resolved, old_name, kind=int)


def _value(resolved: Mapping[str, ResolvedSetting], name: str, *, kind: type[T]) -> T:
    value = resolved[name].value
    assert isinstance(value, kind), f"{name} has been parsed as another type than {kind.__name__}"
    return value
