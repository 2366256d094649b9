"""The settings of a topic: what each is called, what it takes, and which of a broker's it inherits.

    topic's own value       retention.ms
    else its broker's       log.retention.ms, else log.retention.minutes, else log.retention.hours
    else the default        604800000

Names, types, defaults and bounds are Kafka 4.3's. What the broker says reaches `resolve` through
`broker_source`: a broker has its own names for these settings, and its own rules for retention
time, of which any negative number means no limit and 0 is refused.

Kafka 3.x knew three more, which 4.0 removed: `RETIRED_SETTINGS` reads the configuration of old
topics, and none but `message.timestamp.difference.max.ms` still has an effect.
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
    Resolved,
    Scope,
    Setting,
    SettingTable,
    SettingType,
    SettingValue,
    Source,
    Synonym,
)
from cordwood.records.record import TimestampType
from cordwood.storage.log_config import COMPACT, DELETE, PRODUCER, LogConfig

T = TypeVar("T")

# Not shown to users; it overrides segment.bytes without its lower bound, for tests.
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

# Of these a broker has the default under the same name; of all others, under their synonyms.
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
        doc="Old segments go (delete), or all but each key's last record (compact).",
        one_of=(COMPACT, DELETE),
        synonyms=(Synonym("log.cleanup.policy"),),
    ),
    Setting(
        name="compression.type",
        type=SettingType.STRING,
        default=PRODUCER,
        doc="The codec of batches on disk; producer keeps the one each batch arrives with.",
        one_of=("uncompressed", "zstd", "lz4", "snappy", "gzip", PRODUCER),
    ),
    Setting(
        name="compression.gzip.level",
        type=SettingType.INT,
        default=-1,
        doc="The level where the codec is gzip: 1 fastest, 9 smallest, -1 gzip's own.",
        check=_problem_of_gzip_level,
    ),
    Setting(
        name="compression.lz4.level",
        type=SettingType.INT,
        default=9,
        doc="The level where the codec is lz4: 1 is fastest, 17 smallest.",
        at_least=1,
        at_most=17,
    ),
    Setting(
        name="compression.zstd.level",
        type=SettingType.INT,
        default=3,
        doc="The level where the codec is zstd: the lower, the faster.",
        at_least=-131072,
        at_most=22,
    ),
    Setting(
        name="delete.retention.ms",
        type=SettingType.LONG,
        default=_DAY_MS,
        doc="How long compaction keeps tombstones, for readers on their way.",
        at_least=0,
        synonyms=(Synonym("log.cleaner.delete.retention.ms"),),
    ),
    Setting(
        name="file.delete.delay.ms",
        type=SettingType.LONG,
        default=_MINUTE_MS,
        doc="How long a file that is no longer part of the log stays on disk.",
        at_least=0,
        synonyms=(Synonym("log.segment.delete.delay.ms"),),
    ),
    Setting(
        name="flush.messages",
        type=SettingType.LONG,
        default=INT64_MAX,
        doc="After how many records the log is synced to disk.",
        at_least=1,
        synonyms=(Synonym("log.flush.interval.messages"),),
    ),
    Setting(
        name="flush.ms",
        type=SettingType.LONG,
        default=INT64_MAX,
        doc="After what time unsynced records are synced to disk.",
        at_least=0,
        synonyms=(
            Synonym("log.flush.interval.ms"),
            Synonym("log.flush.scheduler.interval.ms"),
        ),
    ),
    Setting(
        name="follower.replication.throttled.replicas",
        type=SettingType.LIST,
        default=(),
        doc="Which replicas fetch with a throttle: partition:broker pairs, or *.",
        check=_problem_of_throttled,
    ),
    Setting(
        name="index.interval.bytes",
        type=SettingType.INT,
        default=4096,
        doc="How many bytes of batches lie between two entries of an index.",
        at_least=0,
        synonyms=(Synonym("log.index.interval.bytes"),),
    ),
    Setting(
        name=INTERNAL_SEGMENT_BYTES,
        type=SettingType.INT,
        default=None,
        doc="Overrides segment.bytes, however small; for tests.",
    ),
    Setting(
        name="leader.replication.throttled.replicas",
        type=SettingType.LIST,
        default=(),
        doc="Which replicas are served with a throttle: partition:broker pairs, or *.",
        check=_problem_of_throttled,
    ),
    Setting(
        name="local.retention.bytes",
        type=SettingType.LONG,
        default=-2,
        doc="How many bytes stay out of remote storage; -2 is retention.bytes.",
        at_least=-2,
        synonyms=(Synonym("log.local.retention.bytes"),),
    ),
    Setting(
        name="local.retention.ms",
        type=SettingType.LONG,
        default=-2,
        doc="How long a segment stays out of remote storage; -2 is retention.ms.",
        at_least=-2,
        synonyms=(Synonym("log.local.retention.ms"),),
    ),
    Setting(
        name="max.compaction.lag.ms",
        type=SettingType.LONG,
        default=INT64_MAX,
        doc="After what time at the latest a record becomes due for compaction.",
        at_least=1,
        synonyms=(Synonym("log.cleaner.max.compaction.lag.ms"),),
    ),
    Setting(
        name="max.message.bytes",
        type=SettingType.INT,
        default=_MIB + 12,
        doc="The largest batch that is taken, in bytes as it lies on disk.",
        at_least=0,
        synonyms=(Synonym("message.max.bytes"),),
    ),
    Setting(
        name="message.timestamp.after.max.ms",
        type=SettingType.LONG,
        default=_HOUR_MS,
        doc="How far a producer's timestamp may lie in the future of the broker's clock.",
        at_least=0,
        synonyms=(Synonym("log.message.timestamp.after.max.ms"),),
    ),
    Setting(
        name="message.timestamp.before.max.ms",
        type=SettingType.LONG,
        default=INT64_MAX,
        doc="How far a producer's timestamp may lie in the past of the broker's clock.",
        at_least=0,
        synonyms=(Synonym("log.message.timestamp.before.max.ms"),),
    ),
    Setting(
        name="message.timestamp.type",
        type=SettingType.STRING,
        default="CreateTime",
        doc="Whether timestamps are the producer's or the time of the append.",
        one_of=tuple(_TIMESTAMP_TYPES),
        synonyms=(Synonym("log.message.timestamp.type"),),
    ),
    Setting(
        name="min.cleanable.dirty.ratio",
        type=SettingType.DOUBLE,
        default=0.5,
        doc="The share of a log that has to be uncompacted before compaction begins.",
        at_least=0,
        at_most=1,
        synonyms=(Synonym("log.cleaner.min.cleanable.ratio"),),
    ),
    Setting(
        name="min.compaction.lag.ms",
        type=SettingType.LONG,
        default=0,
        doc="For how long a record is safe from compaction.",
        at_least=0,
        synonyms=(Synonym("log.cleaner.min.compaction.lag.ms"),),
    ),
    Setting(
        name="min.insync.replicas",
        type=SettingType.INT,
        default=1,
        doc="How many replicas have to be in sync for a producer with acks=all to be served.",
        at_least=1,
    ),
    Setting(
        name="preallocate",
        type=SettingType.BOOLEAN,
        default=False,
        doc="Whether a new segment takes its whole size on disk at once.",
        synonyms=(Synonym("log.preallocate"),),
    ),
    Setting(
        name="remote.log.copy.disable",
        type=SettingType.BOOLEAN,
        default=False,
        doc="Whether what remote storage holds is only read, and nothing more is copied there.",
    ),
    Setting(
        name="remote.log.delete.on.disable",
        type=SettingType.BOOLEAN,
        default=False,
        doc="Whether switching remote storage off deletes what it holds.",
    ),
    Setting(
        name="remote.storage.enable",
        type=SettingType.BOOLEAN,
        default=False,
        doc="Whether closed segments are copied to remote storage.",
    ),
    Setting(
        name="retention.bytes",
        type=SettingType.LONG,
        default=-1,
        doc="How large a partition may be before old segments go; -1 is no limit.",
        synonyms=(Synonym("log.retention.bytes"),),
    ),
    Setting(
        name="retention.ms",
        type=SettingType.LONG,
        default=_WEEK_MS,
        doc="How old a segment's latest record may be before it goes; -1 is no limit.",
        at_least=-1,
        synonyms=(
            Synonym("log.retention.ms"),
            Synonym("log.retention.minutes", _MINUTE_MS),
            Synonym("log.retention.hours", _HOUR_MS),
        ),
    ),
    Setting(
        name="segment.bytes",
        type=SettingType.INT,
        default=1 << 30,
        doc="At what size a log goes on in a new segment.",
        at_least=_MIB,
        synonyms=(Synonym("log.segment.bytes"),),
    ),
    Setting(
        name="segment.index.bytes",
        type=SettingType.INT,
        default=10 * _MIB,
        doc="The size an index is made with, and at which its segment is closed.",
        at_least=4,
        synonyms=(Synonym("log.index.size.max.bytes"),),
    ),
    Setting(
        name="segment.jitter.ms",
        type=SettingType.LONG,
        default=0,
        doc="By how much chance may shorten segment.ms, so that not all roll at once.",
        at_least=0,
        synonyms=(
            Synonym("log.roll.jitter.ms"),
            Synonym("log.roll.jitter.hours", _HOUR_MS),
        ),
    ),
    Setting(
        name="segment.ms",
        type=SettingType.LONG,
        default=_WEEK_MS,
        doc="After what time a log goes on in a new segment, be the present one full or not.",
        at_least=1,
        synonyms=(
            Synonym("log.roll.ms"),
            Synonym("log.roll.hours", _HOUR_MS),
        ),
    ),
    Setting(
        name="unclean.leader.election.enable",
        type=SettingType.BOOLEAN,
        default=False,
        doc="Whether a replica that has missed records may lead rather than nobody.",
    ),
)

_RETIRED = (
    Setting(
        name="message.downconversion.enable",
        type=SettingType.BOOLEAN,
        default=True,
        doc="Without effect: whether batches are rewritten for consumers of old formats.",
        synonyms=(Synonym("log.message.downconversion.enable"),),
    ),
    Setting(
        name="message.format.version",
        type=SettingType.STRING,
        default="3.0-IV1",
        doc="Without effect: the release whose format batches are written in.",
        synonyms=(Synonym("log.message.format.version"),),
    ),
    Setting(
        name="message.timestamp.difference.max.ms",
        type=SettingType.LONG,
        default=INT64_MAX,
        doc="Stands in for the bounds before and after, where these are not given.",
        at_least=0,
        synonyms=(Synonym("log.message.timestamp.difference.max.ms"),),
    ),
)

TOPIC_SETTINGS: Final = SettingTable(replace(each, scope=Scope.TOPIC) for each in _DECLARED)
RETIRED_SETTINGS: Final = SettingTable(replace(each, scope=Scope.TOPIC) for each in _RETIRED)

_BROKER_NAMES: Final = SAME_AT_THE_BROKER.union(
    other.name for each in (*_DECLARED, *_RETIRED) for other in each.synonyms
)


def broker_source(name: str, texts: Mapping[str, str]) -> Source:
    """Return what a broker's properties say for its topics, as a source for `resolve`.

    Keys that are no broker's are passed over, a topic's own names among them.
    """
    given = {key: text for key, text in texts.items() if key in _BROKER_NAMES}
    retention = TOPIC_SETTINGS["retention.ms"]
    winner = next((key for key in retention.names() if key in given), None)
    if winner is not None:
        given[winner] = _retention_text(winner, given[winner])
    return Source(name, MappingProxyType(given))


def refuse_contradictions(resolved: Mapping[str, Resolved]) -> None:
    """Raise for values that are good alone and make no sense together."""
    shortest = _value(resolved, "min.compaction.lag.ms", kind=int)
    longest = _value(resolved, "max.compaction.lag.ms", kind=int)
    if shortest > longest:
        raise SettingError(
            f"min.compaction.lag.ms is {shortest}, above max.compaction.lag.ms, {longest}",
            key="min.compaction.lag.ms",
            remedy="lower the first or raise the second",
            told="conflict topic config setting"
            f" min.compaction.lag.ms ({shortest}) > max.compaction.lag.ms ({longest})",
        )


def config_from(resolved: Mapping[str, Resolved]) -> LogConfig:
    """Return the values that a log lives by.

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
            f"setting {key} has the value {text!r}, which would keep nothing",
            key=key,
            remedy="give a time above 0, or -1 for no limit; only a topic may have 0",
        )
    return "-1" if int(text) < 0 else text


def _segment_bytes(resolved: Mapping[str, Resolved]) -> int:
    if resolved[INTERNAL_SEGMENT_BYTES].value is None:
        return _value(resolved, "segment.bytes", kind=int)
    return _value(resolved, INTERNAL_SEGMENT_BYTES, kind=int)


def _timestamp_bound(resolved: Mapping[str, Resolved], side: str) -> int:
    name = f"message.timestamp.{side}.max.ms"
    stand_in = "message.timestamp.difference.max.ms"
    is_given = resolved[name].source != DEFAULT_SOURCE
    if is_given or stand_in not in resolved or resolved[stand_in].source == DEFAULT_SOURCE:
        return _value(resolved, name, kind=int)
    return _value(resolved, stand_in, kind=int)


def _value(resolved: Mapping[str, Resolved], name: str, *, kind: type[T]) -> T:
    value = resolved[name].value
    assert isinstance(value, kind), f"{name} has been parsed as another type than {kind.__name__}"
    return value
