"""What a table says of itself: which offsets of which partitions it has, and as what.

Each commit to a table carries two texts, as JSON, in the words of its format:

    ranges     what this commit adds: of each partition start, end (not included), records, lost
    standing   what the table has with it: the same of all commits together, the table's shape, and
               the ids of its topics

A commit is taken only where it begins where the table ends, in each partition: sooner would repeat
offsets, later would skip them. `grown` is that rule; whoever commits calls it with the standing
that the table has at that moment. Offsets that hold no record for the table (markers, records of
aborted transactions, holes of compaction) are in the ranges; those that retention took before they
were exported are too, and are counted as `lost`, once the user has said that they may be.

A topic that was deleted and made anew counts from 0 again, under another id: its records are no
continuation of the table's, whatever their offsets are. Tables that were begun without ids, and
logs that tell none, are taken by their names alone until both have one.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from cordwood.core.errors import TableError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.holdings import NO_IDS

#: What the two texts are called, in the commits of all formats.
RANGES: Final = "cordwood.ranges"
STANDING: Final = "cordwood.standing"

_FORMAT: Final = 1
_ANOTHER_TOPIC: Final = (
    "the topic was deleted and made anew, or is another cluster's: take another table for it"
)
_GO_ON: Final = "leave the starting options out: an export goes on where the table ends"


class Stretch(NamedTuple):
    """Offsets of a partition from `start` up to, not including, `end`, which one commit adds.

    The log had the first `lost` of them no more.
    """

    partition: TopicPartition
    start: int
    end: int
    records: int = 0
    lost: int = 0


class Held(NamedTuple):
    """What a table has of a partition: the offsets from `start` up to, not including, `end`."""

    start: int
    end: int
    records: int = 0
    lost: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a table's rows are; it stays as it was at the first commit."""

    columns: tuple[str, ...]
    partition_by: tuple[str, ...] = ()
    is_committed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a table has come."""

    shape: Shape
    held: Mapping[TopicPartition, Held]
    topic_ids: Mapping[str, str] = field(default_factory=dict)


def check_topics(standing: Standing, topic_ids: Mapping[str, str], *, table: str) -> None:
    """Refuse the records of a topic that only has the name of the one in the table."""
    for topic, topic_id in sorted(topic_ids.items()):
        there = standing.topic_ids.get(topic, topic_id)
        if there != topic_id:
            raise TableError(
                f"has the topic {topic} whose id is {there}, and is offered {topic_id}",
                path=table,
                remedy=_ANOTHER_TOPIC,
            )


def check_shape(standing: Standing, shape: Shape, *, table: str) -> None:
    """Refuse rows of another shape than the table's."""
    for name in Shape.__slots__:
        there, offered = getattr(standing.shape, name), getattr(shape, name)
        if there != offered:
            raise TableError(
                f"has {name} = {_shown(there)}, and is offered {_shown(offered)}",
                path=table,
                remedy="ask for what it has, or export into another table",
            )


def check_start(standing: Standing, partition: TopicPartition, *, start: int, table: str) -> None:
    """Refuse offsets that do not begin where a table ends; a new partition begins anywhere."""
    held = standing.held.get(partition)
    if held is None or start == held.end:
        return
    if start < held.end:
        problem = f"would have offsets {start} to {held.end - 1} of {partition} twice"
    else:
        problem = f"would lack offsets {held.end} to {start - 1} of {partition}"
    raise TableError(f"ends at offset {held.end} and {problem}", path=table, remedy=_GO_ON)


def grown(
    standing: Standing,
    stretches: Iterable[Stretch],
    *,
    shape: Shape,
    table: str,
    topic_ids: Mapping[str, str] = NO_IDS,
) -> Standing:
    """Return where a table stands after a commit; TableError where it would repeat or skip.

    `shape` is that of the rows that are added, `topic_ids` are those of their topics.
    """
    check_shape(standing, shape, table=table)
    check_topics(standing, topic_ids, table=table)
    held = dict(standing.held)
    for stretch in stretches:
        check_start(standing, stretch.partition, start=stretch.start, table=table)
        before = held.get(stretch.partition, Held(stretch.start, stretch.start))
        held[stretch.partition] = _with(before, stretch)
    known = {**standing.topic_ids, **topic_ids}
    return Standing(shape=shape, held=held, topic_ids=known)


def empty(shape: Shape) -> Standing:
    """Return where a table stands that nothing was committed to."""
    return Standing(shape=shape, held={})


def notes(stretches: Sequence[Stretch], after: Standing) -> dict[str, str]:
    """Return the two texts of a commit, by their names."""
    return {RANGES: _ranges_text(stretches), STANDING: standing_text(after)}


def _with(before: Held, stretch: Stretch) -> Held:
    lost = before.lost
    if stretch.lost:
        lost = (*lost, (stretch.start, stretch.start + stretch.lost))
    return Held(before.start, stretch.end, before.records + stretch.records, lost)


# -- as text


def _ranges_text(stretches: Sequence[Stretch]) -> str:
    """Return what a commit adds."""
    return _text({str(each.partition): each[1:] for each in stretches})


def standing_text(standing: Standing) -> str:
    """Return where a table stands; `read_standing` understands it."""
    shape = standing.shape
    return _text(
        {
            "format": _FORMAT,
            "columns": shape.columns,
            "partition_by": shape.partition_by,
            "is_committed": shape.is_committed,
            "partitions": {str(partition): held for partition, held in standing.held.items()},
            "topic_ids": standing.topic_ids,
        }
    )


def read_standing(text: str, *, table: str) -> Standing:
    """Return what a table's newest commit says; TableError where it is nothing of ours."""
    try:
        said = json.loads(text)
        if said["format"] != _FORMAT:
            raise _unreadable(f"format {said['format']} is not known here", table)
        shape = Shape(
            columns=tuple(said["columns"]),
            partition_by=tuple(said["partition_by"]),
            is_committed=bool(said["is_committed"]),
        )
        held = {_partition(name): _held(*each) for name, each in said["partitions"].items()}
        topic_ids = {str(name): str(each) for name, each in said.get("topic_ids", {}).items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unreadable(f"{type(error).__name__} {error}", table) from error
    return Standing(shape=shape, held=held, topic_ids=topic_ids)


def _unreadable(problem: str, table: str) -> TableError:
    return TableError(
        f"its {STANDING} cannot be read: {problem}",
        path=table,
        remedy="read the table with the version that wrote it, or export into another one",
    )


def _partition(name: str) -> TopicPartition:
    topic, _, number = name.rpartition("-")
    return TopicPartition(TopicName(topic), PartitionId(int(number)))


def _held(start: int, end: int, records: int, lost: list[list[int]]) -> Held:
    return Held(start, end, records, tuple((first, behind) for first, behind in lost))


def _shown(value: object) -> str:
    return ", ".join(value) or "none" if isinstance(value, tuple) else str(value)


def _text(said: object) -> str:
    return json.dumps(said, separators=(",", ":"))
