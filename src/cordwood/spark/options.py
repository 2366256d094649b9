"""The options of the source, by spark-sql-kafka's names, read into one value.

Spark hands options over with their names in small letters, so case means nothing. An option that is
unknown is refused with the nearest known one, and so are two that contradict each other: which of
them counts is never guessed.

    where      path (log directories, or partitions'), kafka.bootstrap.servers, or both
    what       subscribe, subscribePattern or assign; a path alone means all topics in it
    from, to   …Offsets, …OffsetsByTimestamp or …Timestamp, of starting and of ending
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
from cordwood.spark.narrowing import EVERYTHING, Narrowing

EARLIEST: Final = -2
LATEST: Final = -1

ISOLATIONS: Final = ("read_uncommitted", "read_committed")
GAPS: Final = ("fail", "record", "refill")

_CLIENT: Final = "kafka."
_SERVERS: Final = "kafka.bootstrap.servers"
_OWN_ISOLATION: Final = f"{_CLIENT}isolation.level"

#: Every option, with its spelling.
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
#: What other uses of the source take, and this one has no use for.
STREAMING: Final = (
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "groupId",
    "groupIdPrefix",
)
#: What spark-sql-kafka takes beside, and what says the same here.
_INSTEAD: Final = {
    "fetchoffset.numretries": "kafka.default.api.timeout.ms",
    "fetchoffset.retryintervalms": "kafka.retry.backoff.ms",
    "kafka.auto.offset.reset": "startingOffsets",
    "kafkaconsumer.polltimeoutms": "kafka.default.api.timeout.ms",
}
_SPELLING: Final = {name.lower(): name for name in NAMES}

#: Topics that brokers keep for themselves: a choice by pattern is not meant for them.
INTERNAL_TOPICS: Final = frozenset(
    {"__cluster_metadata", "__consumer_offsets", "__share_group_state", "__transaction_state"}
)

#: Bytes that one task reads, if nothing else is said.
SPLIT_BYTES: Final = 64 << 20

#: What options in JSON have to be, and how.
_SHAPES: Final[Mapping[type, tuple[str, str]]] = {
    dict: ("object", 'name topics: {"orders": ...}'),
    list: ("array", 'as ["kafka-logs", "archive"]'),
}

T = TypeVar("T")

Offsets: TypeAlias = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicChoice:
    """Which partitions are read: of one of the three, or all but internal topics' without any."""

    names: frozenset[str] | None = None
    pattern: str | None = None
    assigned: frozenset[TopicPartition] | None = None

    def has(self, partition: TopicPartition) -> bool:
        """Whether a partition that there is is one of them."""
        if self.assigned is not None:
            return partition in self.assigned
        return self.may_have(partition.topic)

    def may_have(self, topic: str) -> bool:
        """Whether partitions of a topic that there is may be among them."""
        if self.assigned is not None:
            return any(topic == each.topic for each in self.assigned)
        if self.names is not None:
            return topic in self.names
        is_matching = self.pattern is None or re.fullmatch(self.pattern, topic) is not None
        return is_matching and topic not in INTERNAL_TOPICS


class Bound(NamedTuple):
    """Where a reading begins or ends: offsets, or times in milliseconds that stand for offsets.

    What is given of a partition beats `default`, which holds for all.
    """

    is_time: bool
    default: int
    given: Offsets = MappingProxyType({})

    def of(self, partition: TopicPartition) -> int:
        """Return what was said of a partition."""
        return self.given.get(partition, self.default)


FROM_EARLIEST: Final = Bound(is_time=False, default=EARLIEST)
TO_LATEST: Final = Bound(is_time=False, default=LATEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """What is to be read, from where, and how; and which rows of it, as filters narrow it."""

    paths: tuple[str, ...] = ()
    servers: str = ""
    client: Mapping[str, str] = field(default_factory=dict)
    topics: TopicChoice = field(default_factory=TopicChoice)
    starting: Bound = FROM_EARLIEST
    ending: Bound = TO_LATEST
    is_late_start_empty: bool = False
    is_committed: bool = False
    has_headers: bool = False
    columns: tuple[str, ...] | None = None
    gap: str = "fail"
    gap_table: str | None = None
    refill_path: str | None = None
    min_partitions: int | None = None
    max_records: int | None = None
    split_bytes: int = SPLIT_BYTES
    takes_filters: bool = False
    narrowing: Narrowing = EVERYTHING


def parse_options(given: Mapping[str, str]) -> SourceOptions:
    """Return the value of Spark's options; SettingError names what cannot be used."""
    texts = {name.lower(): text for name, text in given.items()}
    _refuse_unknown(texts)
    paths, servers = _paths(texts), texts.get(_SERVERS, "")
    if not servers:
        _refuse_client_options(texts)
    if not paths and not servers:
        raise _wrong("path", "nothing is given to read from", "give path, kafka.bootstrap.servers")
    return SourceOptions(
        paths=paths,
        servers=servers,
        client=_client_options(texts),
        topics=_topics(texts, needs_choice=bool(servers)),
        starting=_bound(texts, "starting", default=EARLIEST),
        ending=_bound(texts, "ending", default=LATEST),
        is_late_start_empty=_late_start(texts) == "latest",
        is_committed=_isolation(texts) == "read_committed",
        has_headers=_flag(texts, "includeHeaders", default=False),
        columns=_columns(texts),
        gap=_gap(texts),
        gap_table=texts.get("gaptable"),
        refill_path=texts.get("refillpath"),
        min_partitions=_count(texts, "minPartitions"),
        max_records=_count(texts, "maxRecordsPerPartition"),
        split_bytes=_count(texts, "splitBytes") or SPLIT_BYTES,
        takes_filters=_flag(texts, "pushFilters", default=False),
    )


# -- names


def _refuse_unknown(texts: Mapping[str, str]) -> None:
    for name in texts:
        if name in _SPELLING:
            continue
        if name in {each.lower() for each in STREAMING}:
            raise _wrong(name, f"option {name} is for streams", "leave it out of a batch reading")
        if name in _INSTEAD:
            raise _wrong(name, f"option {name} is not known here", f"use {_INSTEAD[name]}")
        if name.startswith(_CLIENT) and name != _CLIENT:
            continue
        near = get_close_matches(name, _SPELLING, n=1)
        remedy = f"did you mean {_SPELLING[near[0]]}?" if near else f"known are {', '.join(NAMES)}"
        raise _wrong(name, f"option {name} is unknown", remedy)


def _refuse_client_options(texts: Mapping[str, str]) -> None:
    """Refuse what is for brokers where none are asked: one that is misspelt would be left out."""
    for name in sorted(name for name in texts if name.startswith(_CLIENT)):
        if name == _OWN_ISOLATION:
            continue
        is_near = get_close_matches(name, [_SERVERS], n=1, cutoff=0.8)
        remedy = f"did you mean {_SERVERS}?" if is_near else f"give {_SERVERS}, or leave it out"
        raise _wrong(name, f"option {name} is for brokers, and none are named", remedy)


def _wrong(key: str, problem: str, remedy: str) -> SettingError:
    return SettingError(problem, key=key, remedy=remedy)


def _one_of(texts: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """Return the one of these options that is given; two of them contradict each other."""
    given = [name for name in names if name.lower() in texts]
    if len(given) > 1:
        raise _wrong(given[1], f"{' and '.join(given)} contradict each other", "keep one of them")
    return given[0] if given else None


# -- where, and what


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
                raise _wrong(given, "subscribe names no topic", "name topics with commas between")
            return TopicChoice(names=names)
        case "subscribePattern":
            return TopicChoice(pattern=_pattern(texts["subscribepattern"]))
        case "assign":
            return TopicChoice(assigned=_assigned(texts))
        case _ if needs_choice:
            raise _wrong(
                "subscribe", "no topic is given", "give subscribe, subscribePattern or assign"
            )
        case _:
            return TopicChoice()


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise _wrong(
            "subscribePattern", f"{text!r} is no pattern: {error}", "write a regular expression"
        ) from error
    return text


def _assigned(texts: Mapping[str, str]) -> frozenset[TopicPartition]:
    parsed = _json(texts, "assign", dict)
    if not all(isinstance(numbers, list) for numbers in parsed.values()):
        raise _wrong("assign", "assign is no list of partitions a topic", 'as {"orders": [0, 1]}')
    assigned = frozenset(
        _partition("assign", topic, number)
        for topic, numbers in parsed.items()
        for number in numbers
    )
    if not assigned:
        raise _wrong("assign", "assign names no partition", 'as {"orders": [0, 1]}')
    return assigned


# -- from, and to


def _bound(texts: Mapping[str, str], side: str, *, default: int) -> Bound:
    names = (f"{side}Offsets", f"{side}OffsetsByTimestamp", f"{side}Timestamp")
    given = _one_of(texts, names)
    if given is None:
        return Bound(is_time=False, default=default)
    text = texts[given.lower()].strip()
    if given.endswith("OffsetsByTimestamp"):
        return Bound(is_time=True, default=default, given=_by_partition(texts, given))
    if given.endswith("Timestamp"):
        return Bound(is_time=True, default=_whole(given, text, least=0))
    return _offsets_bound(texts, given, text=text, default=default)


def _offsets_bound(texts: Mapping[str, str], given: str, *, text: str, default: int) -> Bound:
    word = text.lower()
    forbidden = "latest" if default == EARLIEST else "earliest"
    if word == forbidden:
        raise _wrong(given, f"{given} = {word} leaves nothing to read", "leave it out, or use JSON")
    if word in ("earliest", "latest"):
        return Bound(is_time=False, default=default)
    offsets = _by_partition(texts, given)
    odd = LATEST if default == EARLIEST else EARLIEST
    for partition, offset in offsets.items():
        if offset == odd or offset < EARLIEST:
            raise _wrong(
                given,
                f"{given} has {offset} for {partition}",
                "use offsets, -2 earliest, -1 latest",
            )
    return Bound(is_time=False, default=default, given=offsets)


def _by_partition(texts: Mapping[str, str], name: str) -> dict[TopicPartition, int]:
    parsed = _json(texts, name, dict)
    found: dict[TopicPartition, int] = {}
    for topic, numbers in parsed.items():
        if not isinstance(numbers, dict):
            raise _wrong(name, f"{name} has no partitions for {topic}", 'as {"orders": {"0": 23}}')
        for number, value in numbers.items():
            found[_partition(name, topic, number)] = _whole(name, str(value), least=EARLIEST)
    return found


def _partition(name: str, topic: str, number: object) -> TopicPartition:
    parsed = _whole(name, str(number), least=0)
    return TopicPartition(TopicName(topic), PartitionId(parsed))


# -- the rest


def _late_start(texts: Mapping[str, str]) -> str:
    strategy = texts.get("startingoffsetsbytimestampstrategy", "error").lower()
    if strategy not in ("error", "latest"):
        raise _wrong(
            "startingOffsetsByTimestampStrategy", f"there is no {strategy!r}", "use error or latest"
        )
    return strategy


def _isolation(texts: Mapping[str, str]) -> str:
    name = _one_of(texts, ("isolation.level", _OWN_ISOLATION))
    level = texts[name.lower()] if name is not None else "read_uncommitted"
    if level not in ISOLATIONS:
        raise _wrong(
            "isolation.level", f"there is no isolation {level!r}", f"use {' or '.join(ISOLATIONS)}"
        )
    return level


def _gap(texts: Mapping[str, str]) -> str:
    is_failing = _flag(texts, "failOnDataLoss", default=True)
    implied = "fail" if is_failing else "record"
    gap = texts.get("gap", "refill" if "refillpath" in texts and is_failing else implied)
    if gap not in GAPS:
        raise _wrong("gap", f"gap = {gap!r} is no policy", f"use one of {', '.join(GAPS)}")
    if gap == "fail" and not is_failing:
        raise _wrong(
            "gap", "gap = fail and failOnDataLoss = false contradict each other", "keep one of them"
        )
    if gap == "fail" and "refillpath" in texts:
        raise _wrong("gap", "gap = fail and refillPath contradict each other", "keep one of them")
    if gap == "refill" and "refillpath" not in texts:
        raise _wrong(
            "refillPath", "gap = refill, and nobody says from where", "give log directories"
        )
    if gap != "record" and "gaptable" in texts:
        raise _wrong(
            "gapTable", f"gapTable is for gap = record, not {gap}", "leave it out, or record"
        )
    if gap == "record" and "gaptable" not in texts:
        raise _wrong(
            "gapTable",
            "missing records are to be told of, and nobody says where",
            "give gapTable, a folder for Parquet files, or let gap be fail",
        )
    return gap


def _columns(texts: Mapping[str, str]) -> tuple[str, ...] | None:
    if "columns" not in texts:
        return None
    columns = tuple(filter(None, map(str.strip, texts["columns"].split(","))))
    if not columns:
        raise _wrong("columns", "columns names no column", "name columns with commas between")
    return columns


def _flag(texts: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = texts.get(name.lower(), str(default)).strip().lower()
    if text not in ("true", "false"):
        raise _wrong(name, f"{name} = {text!r} is neither true nor false", "use one of the two")
    return text == "true"


def _count(texts: Mapping[str, str], name: str) -> int | None:
    text = texts.get(name.lower())
    return None if text is None else _whole(name, text, least=1)


def _whole(name: str, text: str, *, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if not least <= number <= INT64_MAX:
        remedy = f"use a whole number, at least {least} and at most {INT64_MAX}"
        raise _wrong(name, f"{name} has {text!r}", remedy)
    return number


def _json(texts: Mapping[str, str], name: str, kind: type[T]) -> T:
    """Return an option's JSON, of this kind."""
    try:
        parsed = json.loads(texts[name.lower()])
    except json.JSONDecodeError as error:
        raise _wrong(name, f"{name} is no JSON: {error}", "write it as a JSON object") from error
    if not isinstance(parsed, kind):
        what, remedy = _SHAPES[kind]
        raise _wrong(name, f"{name} is no JSON {what}", remedy)
    return parsed
