"""Options of the source, with spark-sql-kafka's names, parsed into one value.

Spark passes option names in lower case, so names are case-insensitive. An unknown option is
rejected with the nearest known name. Options that contradict each other are rejected; no option
takes precedence over another.

    sources       path (log or partition directories), kafka.bootstrap.servers, or both
    partitions    subscribe, subscribePattern or assign; a path alone means all topics in it
    range         startingOffsets, startingOffsetsByTimestamp or startingTimestamp,
                  and the same three for ending

A stream has the same options, but for `BATCH_ONLY`, and may start at the latest offsets; `stream`
parses the options that streams alone have.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, TypeVar

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import SettingError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.source.pushed_filters import NO_FILTERS, PushedFilters

EARLIEST: Final = -2
LATEST: Final = -1

_WORDS: Final = {EARLIEST: "earliest", LATEST: "latest"}

ISOLATIONS: Final = ("read_uncommitted", "read_committed")
GAPS: Final = ("fail", "record", "refill")
#: Where the records of a directory end; brokers always end at the high watermark.
ENDS: Final = ("high-watermark", "log-end")

_CLIENT: Final = "kafka."
_SERVERS: Final = "kafka.bootstrap.servers"
_OWN_ISOLATION: Final = f"{_CLIENT}isolation.level"

#: All options, as they are spelled in the documentation.
NAMES: Final = (
    "path",
    "paths",
    _SERVERS,
    "subscribe",
    "subscribePattern",
    "assign",
    "startingOffsets",
    "startingOffsetsByTimestamp",
    "startingTimestamp",
    "startingOffsetsByTimestampStrategy",
    "endingOffsets",
    "endingOffsetsByTimestamp",
    "endingTimestamp",
    "endAt",
    "isolation.level",
    "includeHeaders",
    "columns",
    "failOnDataLoss",
    "gap",
    "gapTable",
    "refillPath",
    "minPartitions",
    "maxRecordsPerPartition",
    "splitBytes",
    "pushFilters",
)
#: Options that apply to batch reads only: a stream has no end, and Spark pushes no filters into it.
BATCH_ONLY: Final = (
    "endingOffsets",
    "endingOffsetsByTimestamp",
    "endingTimestamp",
    "pushFilters",
)
#: Options that apply to streaming queries only.
STREAMING: Final = (
    "maxOffsetsPerTrigger",
    "maxBytesPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "groupId",
    "groupIdPrefix",
    "onRecreatedTopic",
)
#: Other options of spark-sql-kafka, and the option with the same effect here.
_INSTEAD: Final = {
    "fetchoffset.numretries": "kafka.default.api.timeout.ms",
    "fetchoffset.retryintervalms": "kafka.retry.backoff.ms",
    "kafka.auto.offset.reset": "startingOffsets",
    "kafkaconsumer.polltimeoutms": "kafka.default.api.timeout.ms",
}
#: Internal topics of Kafka; a pattern never matches them.
INTERNAL_TOPICS: Final = frozenset(
    {"__cluster_metadata", "__consumer_offsets", "__share_group_state", "__transaction_state"}
)

#: Default of `splitBytes`: the bytes that one task reads.
SPLIT_BYTES: Final = 64 << 20

#: JSON types of options, each with its name and an example for the error.
_SHAPES: Final[Mapping[type, tuple[str, str]]] = {
    dict: ("object", 'write topics as keys: {"orders": ...}'),
    list: ("array", 'write ["kafka-logs", "archive"]'),
}

T = TypeVar("T")

Offsets: TypeAlias = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicChoice:
    """The partitions to read, by one of three options; by default all but internal topics."""

    names: frozenset[str] | None = None
    pattern: str | None = None
    assigned: frozenset[TopicPartition] | None = None

    def includes(self, partition: TopicPartition) -> bool:
        """Return whether an existing partition is selected."""
        if self.assigned is not None:
            return partition in self.assigned
        return self.may_include(partition.topic)

    def may_include(self, topic: str) -> bool:
        """Return whether partitions of an existing topic may be selected."""
        if self.assigned is not None:
            return any(topic == each.topic for each in self.assigned)
        if self.names is not None:
            return topic in self.names
        is_matching = self.pattern is None or re.fullmatch(self.pattern, topic) is not None
        return is_matching and topic not in INTERNAL_TOPICS


class OffsetRangeLimit(NamedTuple):
    """The start or the end of a read (spark-sql-kafka: `KafkaOffsetRangeLimit`).

    Values are offsets, or timestamps in milliseconds that are resolved to offsets. A value in
    `by_partition` takes precedence over `default`.
    """

    is_time: bool
    default: int
    by_partition: Offsets = MappingProxyType({})

    def for_partition(self, partition: TopicPartition) -> int:
        """Return the value for a partition."""
        return self.by_partition.get(partition, self.default)


FROM_EARLIEST: Final = OffsetRangeLimit(is_time=False, default=EARLIEST)
TO_LATEST: Final = OffsetRangeLimit(is_time=False, default=LATEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """The parsed options of a read, and the filters that Spark has pushed down."""

    paths: tuple[str, ...] = ()
    servers: str = ""
    client: Mapping[str, str] = field(default_factory=dict)
    topics: TopicChoice = field(default_factory=TopicChoice)
    starting: OffsetRangeLimit = FROM_EARLIEST
    ending: OffsetRangeLimit = TO_LATEST
    is_late_start_empty: bool = False
    is_to_log_end: bool = False
    is_committed: bool = False
    has_headers: bool = False
    columns: tuple[str, ...] | None = None
    gap: str = "fail"
    gap_table: str | None = None
    refill_path: str | None = None
    min_partitions: int | None = None
    max_records: int | None = None
    split_bytes: int = SPLIT_BYTES
    is_pushing_filters: bool = False
    pushed_filters: PushedFilters = NO_FILTERS


def parse_options(given: Mapping[str, str], *, is_streaming: bool = False) -> SourceOptions:
    """Parse Spark's options; raise SettingError for an option that cannot be used.

    With `is_streaming` they are those of a stream. Its own options are accepted and not parsed.
    """
    texts = {name.lower(): text for name, text in given.items()}
    _refuse_unknown(texts, is_streaming=is_streaming)
    paths, servers = _paths(texts), texts.get(_SERVERS, "")
    if not servers:
        _refuse_client_options(texts)
    if not paths and not servers:
        raise _wrong("path", "no source is given", "set path or kafka.bootstrap.servers, or both")
    return SourceOptions(
        paths=paths,
        servers=servers,
        client=_client_options(texts),
        topics=_topics(texts, needs_choice=bool(servers)),
        starting=_bound(texts, "starting", default=LATEST, refused=None)
        if is_streaming
        else _bound(texts, "starting", default=EARLIEST, refused=LATEST),
        ending=_bound(texts, "ending", default=LATEST, refused=EARLIEST),
        is_late_start_empty=_late_start(texts) == "latest",
        is_to_log_end=_end_at(texts) == "log-end",
        is_committed=_isolation(texts) == "read_committed",
        has_headers=_flag(texts, "includeHeaders", default=False),
        columns=_columns(texts),
        gap=_gap(texts),
        gap_table=texts.get("gaptable"),
        refill_path=texts.get("refillpath"),
        min_partitions=count_option(texts, "minPartitions"),
        max_records=count_option(texts, "maxRecordsPerPartition"),
        split_bytes=count_option(texts, "splitBytes") or SPLIT_BYTES,
        is_pushing_filters=_flag(texts, "pushFilters", default=False),
    )


# -- names


def _refuse_unknown(texts: Mapping[str, str], *, is_streaming: bool) -> None:
    known, elsewhere = (*NAMES, *STREAMING), BATCH_ONLY if is_streaming else STREAMING
    spelling = {name.lower(): name for name in known if name not in elsewhere}
    others = {name.lower() for name in elsewhere}
    for name in texts:
        if name in spelling:
            continue
        if name in others and is_streaming:
            raise _wrong(name, f"{name} applies to batch reads only", "remove it from a stream")
        if name in others:
            raise _wrong(name, f"{name} applies to streaming only", "remove it from a batch read")
        if name in _INSTEAD:
            raise _wrong(name, f"{name} is not supported", f"use {_INSTEAD[name]}")
        if name.startswith(_CLIENT) and name != _CLIENT:
            continue
        near = get_close_matches(name, spelling, n=1)
        names = ", ".join(spelling.values())
        remedy = f"did you mean {spelling[near[0]]}?" if near else f"use one of {names}"
        raise _wrong(name, f"unknown option: {name}", remedy)


def _refuse_client_options(texts: Mapping[str, str]) -> None:
    """Reject client options without bootstrap servers, whose name may be misspelled."""
    for name in sorted(name for name in texts if name.startswith(_CLIENT)):
        if name == _OWN_ISOLATION:
            continue
        is_near = get_close_matches(name, [_SERVERS], n=1, cutoff=0.8)
        remedy = f"did you mean {_SERVERS}?" if is_near else f"set {_SERVERS}, or remove {name}"
        raise _wrong(name, f"{name} has no effect without {_SERVERS}", remedy)


def _wrong(key: str, problem: str, remedy: str) -> SettingError:
    return SettingError(problem, key=key, remedy=remedy)


def _one_of(texts: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """Return the given one of these options; reject two of them."""
    given = [name for name in names if name.lower() in texts]
    if len(given) > 1:
        raise _wrong(given[1], f"{' and '.join(given)} are mutually exclusive", "keep one of them")
    return given[0] if given else None


# -- sources and partitions


def _paths(texts: Mapping[str, str]) -> tuple[str, ...]:
    _one_of(texts, ("path", "paths"))
    if "paths" in texts:
        return tuple(str(path) for path in _json(texts, "paths", list))
    return (texts["path"],) if texts.get("path") else ()


def _client_options(texts: Mapping[str, str]) -> dict[str, str]:
    own = {_SERVERS, _OWN_ISOLATION}
    return {
        name.removeprefix(_CLIENT): text
        for name, text in texts.items()
        if name.startswith(_CLIENT) and name not in own
    }


def _topics(texts: Mapping[str, str], *, needs_choice: bool) -> TopicChoice:
    given = _one_of(texts, ("subscribe", "subscribePattern", "assign"))
    match given:
        case "subscribe":
            names = frozenset(filter(None, map(str.strip, texts["subscribe"].split(","))))
            if not names:
                raise _wrong(
                    given, "subscribe: no topic is given", "list topics, separated by commas"
                )
            return TopicChoice(names=names)
        case "subscribePattern":
            return TopicChoice(pattern=_pattern(texts["subscribepattern"]))
        case "assign":
            return TopicChoice(assigned=_assigned(texts))
        case _ if needs_choice:
            raise _wrong(
                "subscribe", "no topic is given", "set subscribe, subscribePattern or assign"
            )
        case _:
            return TopicChoice()


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise _wrong(
            "subscribePattern",
            f"subscribePattern: {text!r} is not a valid pattern ({error})",
            "use a regular expression of Python",
        ) from error
    return text


def _assigned(texts: Mapping[str, str]) -> frozenset[TopicPartition]:
    parsed = _json(texts, "assign", dict)
    if not all(isinstance(numbers, list) for numbers in parsed.values()):
        raise _wrong(
            "assign", "assign: not a JSON object of partition lists", 'write {"orders": [0, 1]}'
        )
    assigned = frozenset(
        _partition("assign", topic, number)
        for topic, numbers in parsed.items()
        for number in numbers
    )
    if not assigned:
        raise _wrong("assign", "assign: no partition is given", 'write {"orders": [0, 1]}')
    return assigned


# -- range


def _bound(
    texts: Mapping[str, str], side: str, *, default: int, refused: int | None
) -> OffsetRangeLimit:
    """Return one side of the range; `refused` is the word that would select no records.

    The start of a stream refuses no word, and lists every partition: it has no default for others.
    """
    names = (f"{side}Offsets", f"{side}OffsetsByTimestamp", f"{side}Timestamp")
    given = _one_of(texts, names)
    if given is None:
        return OffsetRangeLimit(is_time=False, default=default)
    text = texts[given.lower()].strip()
    if given.endswith("OffsetsByTimestamp"):
        return OffsetRangeLimit(
            is_time=True,
            default=default,
            by_partition=_by_partition(texts, given, least=0, may_be_empty=refused is not None),
        )
    if given.endswith("Timestamp"):
        return OffsetRangeLimit(is_time=True, default=_whole(given, text, least=0))
    named = {word: value for value, word in _WORDS.items()}.get(text.lower())
    if named is not None and named == refused:
        raise _wrong(given, f"{given}: {text} selects no records", "remove it, or use JSON")
    if named is not None:
        return OffsetRangeLimit(is_time=False, default=named)
    offsets = _by_partition(texts, given, may_be_empty=refused is not None)
    for partition, offset in offsets.items():
        if offset == refused:
            raise _wrong(
                given,
                f"{given}: invalid offset {offset} for {partition}",
                f"use an offset, or {default} for {_WORDS[default]}",
            )
    return OffsetRangeLimit(is_time=False, default=default, by_partition=offsets)


def _by_partition(
    texts: Mapping[str, str], name: str, *, least: int = EARLIEST, may_be_empty: bool = True
) -> dict[TopicPartition, int]:
    parsed = _json(texts, name, dict)
    if not may_be_empty and not any(parsed.values()):
        raise _wrong(name, f"{name}: no partition is given", 'write {"orders": {"0": 23}}')
    found: dict[TopicPartition, int] = {}
    for topic, numbers in parsed.items():
        if not isinstance(numbers, dict):
            raise _wrong(name, f"{name}: no partitions for {topic}", 'write {"orders": {"0": 23}}')
        for number, value in numbers.items():
            found[_partition(name, topic, number)] = _whole(name, str(value), least=least)
    return found


def _partition(name: str, topic: str, number: object) -> TopicPartition:
    parsed = _whole(name, str(number), least=0)
    return TopicPartition(TopicName(topic), PartitionId(parsed))


# -- other options


def _late_start(texts: Mapping[str, str]) -> str:
    strategy = texts.get("startingoffsetsbytimestampstrategy", "error").lower()
    if strategy not in ("error", "latest"):
        raise _wrong(
            "startingOffsetsByTimestampStrategy",
            f"startingOffsetsByTimestampStrategy: unknown strategy {strategy!r}",
            "use error or latest",
        )
    return strategy


def _end_at(texts: Mapping[str, str]) -> str:
    end = texts.get("endat", ENDS[0]).strip().lower()
    if end not in ENDS:
        raise _wrong("endAt", f"endAt: unknown end {end!r}", f"use {' or '.join(ENDS)}")
    return end


def _isolation(texts: Mapping[str, str]) -> str:
    name = _one_of(texts, ("isolation.level", _OWN_ISOLATION))
    level = texts[name.lower()] if name is not None else "read_uncommitted"
    if level not in ISOLATIONS:
        raise _wrong(
            "isolation.level",
            f"isolation.level: unknown level {level!r}",
            f"use {' or '.join(ISOLATIONS)}",
        )
    return level


def _gap(texts: Mapping[str, str]) -> str:
    is_failing = _flag(texts, "failOnDataLoss", default=True)
    implied = "fail" if is_failing else "record"
    gap = texts.get("gap", "refill" if "refillpath" in texts and is_failing else implied)
    if gap not in GAPS:
        raise _wrong("gap", f"gap: unknown policy {gap!r}", f"use one of {', '.join(GAPS)}")
    if gap == "fail" and not is_failing:
        raise _wrong(
            "gap", "gap=fail and failOnDataLoss=false contradict each other", "keep one of them"
        )
    if gap == "fail" and "refillpath" in texts:
        raise _wrong("gap", "gap=fail and refillPath contradict each other", "keep one of them")
    if gap == "refill" and "refillpath" not in texts:
        raise _wrong(
            "refillPath", "gap=refill needs refillPath", "set refillPath to log directories"
        )
    if gap != "record" and "gaptable" in texts:
        raise _wrong(
            "gapTable",
            f"gapTable applies to gap=record, not to gap={gap}",
            "remove gapTable, or set gap=record",
        )
    if gap == "record" and "gaptable" not in texts:
        raise _wrong(
            "gapTable",
            "gap=record needs gapTable",
            "set gapTable to a folder for Parquet files, or set gap=fail",
        )
    return gap


def _columns(texts: Mapping[str, str]) -> tuple[str, ...] | None:
    if "columns" not in texts:
        return None
    columns = tuple(filter(None, map(str.strip, texts["columns"].split(","))))
    if not columns:
        raise _wrong("columns", "columns: no column is given", "list columns, separated by commas")
    return columns


def _flag(texts: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = texts.get(name.lower(), str(default)).strip().lower()
    if text not in ("true", "false"):
        raise _wrong(name, f"{name}: {text!r} is not a boolean", "use true or false")
    return text == "true"


def count_option(texts: Mapping[str, str], name: str) -> int | None:
    """Return an option that is a positive number; the names of `texts` are in lower case."""
    text = texts.get(name.lower())
    return None if text is None else _whole(name, text, least=1)


def _whole(name: str, text: str, *, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if not least <= number <= INT64_MAX:
        remedy = f"use an integer from {least} to {INT64_MAX}"
        raise _wrong(name, f"{name}: invalid value {text!r}", remedy)
    return number


def _json(texts: Mapping[str, str], name: str, kind: type[T]) -> T:
    """Parse an option as JSON of a type."""
    try:
        parsed = json.loads(texts[name.lower()])
    except json.JSONDecodeError as error:
        raise _wrong(name, f"{name}: invalid JSON ({error})", "write a JSON value") from error
    if not isinstance(parsed, kind):
        what, remedy = _SHAPES[kind]
        raise _wrong(name, f"{name}: not a JSON {what}", remedy)
    return parsed
