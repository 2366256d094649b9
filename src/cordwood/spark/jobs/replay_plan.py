"""What a replay sends, and how far it has come: fixed once, kept in a file, asked of the target.

    state   what was asked for; what is read, as splits; where each partition of the target ended
            before the first record was sent

What the target has behind that end has come from this replay, as nobody else writes there: so many
records are done.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple, TypedDict

from cordwood.client.blocking import Admin, Consumer
from cordwood.client.settings import shared_options
from cordwood.core.errors import LogDirectoryError, SettingError, UnknownTopicOrPartitionError
from cordwood.core.ports import Files
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.holdings import Range
from cordwood.spark.options import SourceOptions, parse_options
from cordwood.spark.planning import plan
from cordwood.spark.sink_options import SinkOptions, parse_sink_options
from cordwood.spark.splits import Split
from cordwood.storage.atomic import exists, read_whole, write_atomically


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOrder:
    """What is asked for: from where, to where, how many records a second; `told` in words."""

    source: SourceOptions
    sink: SinkOptions
    topic: str
    told: Mapping[str, Mapping[str, str]]
    rate: int | None = None
    state: str | None = None


class ReplayTask(NamedTuple):
    """The splits of one partition, in order, and where in the target they go.

    The target's partition ended at `base` before, and has `done` of their records by now.
    """

    splits: tuple[Split, ...]
    target: TopicPartition
    base: int
    done: int

    @property
    def size(self) -> int:
        return sum(split.size for split in self.splits)


def parse_replay(
    options: Mapping[str, str],
    to: Mapping[str, str],
    *,
    rate: int | None = None,
    state: str | None = None,
) -> ReplayOrder:
    """Return what options of the source and of the sink say; SettingError if they cannot be."""
    sink = parse_sink_options(to)
    if sink.topic is None:
        raise SettingError("nobody says which topic it goes to", key="topic", remedy="give one")
    return ReplayOrder(
        source=parse_options({"isolation.level": "read_committed", **options}),
        sink=sink,
        topic=sink.topic,
        told={"from": dict(options), "to": dict(to)},
        rate=rate,
        state=state,
    )


def tasks_of(order: ReplayOrder, files: Files) -> list[ReplayTask]:
    """Return what each partition has to send, and how far it has come."""
    kept = None if order.state is None else _read_state(files, order.state, order)
    splits = plan(order.source) if kept is None else list(map(_split_in, kept["splits"]))
    _ensure_one_topic(splits)
    ends = _ends(order, sorted({split.range.partition.partition for split in splits}))
    bases = ends if kept is None else dict(kept["bases"])
    if order.state is not None and kept is None:
        _keep_state(files, order.state, order, splits=splits, bases=bases)
    tasks = []
    for partition, own in groupby(splits, key=lambda split: split.range.partition):
        number = partition.partition
        target = TopicPartition(TopicName(order.topic), number)
        done = ends[number] - bases[number]
        if done < 0:
            raise LogDirectoryError(
                f"says that {target} ended at {bases[number]} before, and it ends at "
                f"{ends[number]}: it was cut off or made anew",
                path=str(order.state),
                remedy="begin the replay again, with another file for its state",
            )
        tasks.append(ReplayTask(tuple(own), target, bases[number], done))
    return tasks


@contextmanager
def target_of(sink: SinkOptions) -> Iterator[Consumer[bytes, bytes]]:
    """Yield what reads the target."""
    with Consumer[bytes, bytes].from_config(shared_options(sink.producer)) as consumer:
        yield consumer


def _ends(order: ReplayOrder, numbers: list[PartitionId]) -> dict[int, int]:
    """Return where partitions of the target end now; refuse a target that lacks one of them."""
    with Admin.from_config(shared_options(order.sink.producer)) as admin:
        is_there = order.topic in admin.list_topics(with_internal=True)
        told = admin.describe_topics([order.topic])[0].partitions if is_there else ()
    if len(told) <= max(numbers, default=0):
        raise UnknownTopicOrPartitionError(
            f"the target {order.topic} has {len(told)} partitions, and the source more: make it "
            f"with at least {max(numbers, default=0) + 1}"
        )
    targets = [TopicPartition(TopicName(order.topic), number) for number in numbers]
    with target_of(order.sink) as consumer:
        return {each.partition: end for each, end in consumer.end_offsets(targets).items()}


def _ensure_one_topic(splits: list[Split]) -> None:
    topics = sorted({split.range.partition.topic for split in splits})
    if len(topics) > 1:
        raise SettingError(
            f"{len(topics)} topics would become one: {', '.join(topics)}",
            key="subscribe",
            remedy="replay one after the other",
        )


# -- the file


class _KeptSplit(NamedTuple):
    """A split as JSON keeps it."""

    topic: str
    partition: int
    start: int
    end: int
    size: int
    path: str | None


class _State(TypedDict):
    """The state as JSON keeps it."""

    told: dict[str, dict[str, str]]
    splits: list[_KeptSplit]
    bases: list[tuple[int, int]]


def _read_state(files: Files, path: str, order: ReplayOrder) -> _State | None:
    """Return what was kept, None of a replay that begins; refuse what was another one."""
    if not exists(files, path):
        return None
    state = _parsed_state(read_whole(files, path))
    if state is None:
        raise LogDirectoryError(
            "is no state of a replay, or is damaged",
            path=path,
            remedy="name another file; what the target has already would then be sent again",
        )
    if state["told"] != order.told:
        raise LogDirectoryError(
            "is the state of a replay with other options",
            path=path,
            remedy="go on with the options it was begun with, or name another file",
        )
    return state


def _parsed_state(data: bytes) -> _State | None:
    """Return what a file says; None where it was not written here."""
    try:
        state: _State = json.loads(data)
        return state if state.keys() >= _State.__required_keys__ else None
    except (ValueError, AttributeError):
        return None


def _keep_state(
    files: Files, path: str, order: ReplayOrder, *, splits: list[Split], bases: Mapping[int, int]
) -> None:
    told = {name: dict(texts) for name, texts in order.told.items()}
    kept = [
        _KeptSplit(*partition, start, end, size, path)
        for (partition, start, end), size, path in splits
    ]
    state = _State(told=told, splits=kept, bases=list(bases.items()))
    write_atomically(files, path, data=json.dumps(state).encode())


def _split_in(kept: _KeptSplit) -> Split:
    topic, number, start, end, size, path = kept
    partition = TopicPartition(TopicName(topic), PartitionId(number))
    return Split(Range(partition, start, end), size, path)
