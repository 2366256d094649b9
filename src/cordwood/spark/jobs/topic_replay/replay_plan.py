"""Plan of a replay: its splits and its progress, kept in a state file.

    state   the options, the splits, the end of each target partition before the first record was
            sent, and the facts of the source (`replay_source`)

Only this replay writes to the target. So the records in the target after that end are its progress;
`sent_offsets` has their offsets in the source.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from types import NoneType, UnionType
from typing import Final, NamedTuple, NotRequired, TypedDict

from cordwood.client.blocking import Admin, Consumer
from cordwood.client.settings import shared_options
from cordwood.core.errors import LogDirectoryError, SettingError, UnknownTopicOrPartitionError
from cordwood.core.ports import Files
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.jobs.topic_replay.replay_source import (
    NO_FACTS,
    SourceFacts,
    check_source,
    read_leader_epochs,
)
from cordwood.spark.sink.sink_options import SinkOptions, parse_sink_options
from cordwood.spark.source.coverage import (
    BrokerSource,
    OffsetRange,
    PartitionDirectory,
    RecordSource,
)
from cordwood.spark.source.local_paths import parse_local_options
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.source.split_planning import plan_read
from cordwood.spark.source.splits import Split
from cordwood.storage.files.atomic_write import exists, read_whole, write_atomically


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """The parsed options of a replay; `given` are the original texts, for the state file."""

    source: SourceOptions
    sink: SinkOptions
    topic: str
    given: Mapping[str, Mapping[str, str]]
    rate: int | None = None
    state: str | None = None


class ReplayTask(NamedTuple):
    """The splits of one partition, in order, and the target partition.

    The target ended at `base` before the replay, and now has `done` of the records.
    """

    splits: tuple[Split, ...]
    target: TopicPartition
    base: int
    done: int

    @property
    def size(self) -> int:
        return sum(split.size for split in self.splits)


def parse_replay_options(
    options: Mapping[str, str],
    to: Mapping[str, str],
    *,
    rate: int | None = None,
    state: str | None = None,
) -> ReplayOptions:
    """Parse the options of source and sink; raise SettingError for an unusable option."""
    sink = parse_sink_options(to)
    if sink.topic is None:
        raise SettingError("topic: no target topic is given", key="topic", remedy="set it in `to`")
    if state is not None and sink.producer.get("enable.idempotence", "").lower() == "false":
        raise SettingError(
            "kafka.enable.idempotence: a replay with a state sends each record exactly once, which "
            "needs an idempotent producer",
            key="kafka.enable.idempotence",
            remedy="remove the option, or the state",
        )
    return ReplayOptions(
        source=parse_local_options({"isolation.level": "read_committed", **options}),
        sink=sink,
        topic=sink.topic,
        given={"from": dict(options), "to": dict(to)},
        rate=rate,
        state=state,
    )


def plan_tasks(options: ReplayOptions, files: Files) -> list[ReplayTask]:
    """Return the task of each partition, with its progress."""
    state = None if options.state is None else _read_state(files, options.state, options)
    if state is None:
        state = _planned(options)
        if options.state is not None:
            write_atomically(files, options.state, data=json.dumps(state).encode())
        ends = dict(state["bases"])
        splits = _splits_of(state)
    else:
        splits = _splits_of(state)
        planned = {split.range.partition: split.range.end for split in splits}
        facts = state.get("source", NO_FACTS)
        check_source(options.source, facts, ends=planned, state=str(options.state))
        ends = _ends(options, _numbers(splits))
    tasks, bases = [], dict(state["bases"])
    for partition, own in groupby(splits, key=lambda split: split.range.partition):
        number = partition.partition
        target = TopicPartition(TopicName(options.topic), number)
        done = ends[number] - bases[number]
        if done < 0:
            raise LogDirectoryError(
                f"{target} was truncated or created again (end in the state {bases[number]}, "
                f"now {ends[number]})",
                path=str(options.state),
                remedy="start the replay again with another state file",
            )
        tasks.append(ReplayTask(tuple(own), target, bases[number], done))
    return tasks


def _planned(options: ReplayOptions) -> "_ReplayState":
    """Return the plan of a new replay, with the facts of its source and target."""
    epochs = [] if options.state is None else read_leader_epochs(options.source)
    plan = plan_read(options.source)
    _check_one_topic(plan.splits)
    given = {name: dict(texts) for name, texts in options.given.items()}
    entries = [
        _SplitEntry(*partition, start, end, size, _path_of(source))
        for (partition, start, end), size, source in plan.splits
    ]
    return _ReplayState(
        told=given,
        splits=entries,
        bases=list(_ends(options, _numbers(plan.splits)).items()),
        source=SourceFacts(topic_ids=dict(plan.topic_ids), leader_epochs=epochs),
    )


@contextmanager
def open_target(sink: SinkOptions) -> Iterator[Consumer[bytes, bytes]]:
    """Yield a consumer of the target."""
    with Consumer[bytes, bytes].from_config(shared_options(sink.producer)) as consumer:
        yield consumer


def _ends(options: ReplayOptions, numbers: list[PartitionId]) -> dict[int, int]:
    """Return the ends of target partitions; reject a target that lacks one of them."""
    with Admin.from_config(shared_options(options.sink.producer)) as admin:
        has_topic = options.topic in admin.list_topics(with_internal=True)
        existing = admin.describe_topics([options.topic])[0].partitions if has_topic else ()
    if len(existing) <= max(numbers, default=0):
        raise UnknownTopicOrPartitionError(
            f"{options.topic}: the target has fewer partitions ({len(existing)}) than the source; "
            f"create it with at least {max(numbers, default=0) + 1}"
        )
    targets = [TopicPartition(TopicName(options.topic), number) for number in numbers]
    with open_target(options.sink) as consumer:
        return {each.partition: end for each, end in consumer.end_offsets(targets).items()}


def _check_one_topic(splits: list[Split]) -> None:
    topics = sorted({split.range.partition.topic for split in splits})
    if len(topics) > 1:
        raise SettingError(
            f"subscribe: {len(topics)} topics would be merged ({', '.join(topics)})",
            key="subscribe",
            remedy="replay one topic at a time",
        )


# -- the state file


class _SplitEntry(NamedTuple):
    """A split as JSON; a path of null stands for brokers."""

    topic: str
    partition: int
    start: int
    end: int
    size: int
    path: str | None


_SPLIT_KINDS: Final = (str, int, int, int, int, str | NoneType)


class _ReplayState(TypedDict):
    """The state file as JSON; its keys are a stable format."""

    told: dict[str, dict[str, str]]
    splits: list[_SplitEntry]
    bases: list[tuple[int, int]]
    source: NotRequired[SourceFacts]


def _read_state(files: Files, path: str, options: ReplayOptions) -> _ReplayState | None:
    """Return the state; None for a new replay. Reject the state of another replay."""
    if not exists(files, path):
        return None
    state = _parsed_state(read_whole(files, path))
    if state is None:
        raise LogDirectoryError(
            "not the state of a replay, or damaged",
            path=path,
            remedy="use another file, which sends the records of the target again",
        )
    if state["told"] != options.given:
        raise LogDirectoryError(
            "the state of a replay with other options",
            path=path,
            remedy="use the original options, or another file",
        )
    return state


def _parsed_state(data: bytes) -> _ReplayState | None:
    """Parse a state file; return None if it is not one."""
    try:
        state: _ReplayState = json.loads(data)
        is_state = (
            state.keys() >= _ReplayState.__required_keys__
            and all(_has_kinds(each, _SPLIT_KINDS) for each in state["splits"])
            and all(_has_kinds(each, (int, int)) for each in state["bases"])
        )
    except (ValueError, AttributeError, TypeError):
        return None
    return state if is_state else None


def _has_kinds(values: Sequence[object], kinds: Sequence[type | UnionType]) -> bool:
    """Return whether these are as many values, of these types."""
    return len(values) == len(kinds) and all(map(isinstance, values, kinds))


def _splits_of(state: _ReplayState) -> list[Split]:
    return list(map(_split_of, state["splits"]))


def _numbers(splits: list[Split]) -> list[PartitionId]:
    return sorted({split.range.partition.partition for split in splits})


def _split_of(entry: _SplitEntry) -> Split:
    topic, number, start, end, size, path = entry
    partition = TopicPartition(TopicName(topic), PartitionId(number))
    source = BrokerSource() if path is None else PartitionDirectory(path)
    return Split(OffsetRange(partition, start, end), size, source)


def _path_of(source: RecordSource) -> str | None:
    """Return the path of a source, for JSON; None stands for brokers."""
    return source.path if isinstance(source, PartitionDirectory) else None
