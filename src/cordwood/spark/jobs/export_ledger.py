"""What a table says of itself: which offsets of which partitions it has, and as what.

Each commit to a table carries two texts, as JSON, in the words of its format:

    ranges     what this commit adds: of each partition start, end (not included), records, lost
    standing   what the table has with it: the same of all commits together, and the table's shape

A commit is taken only where it begins where the table ends, in each partition: sooner would repeat
offsets, later would skip them. `grown` is that rule; whoever commits calls it with the standing
that the table has at that moment. Offsets that hold no record for the table (markers, records of
aborted transactions, holes of compaction) are in the ranges; those that retention took before they
were exported are too, and are counted as `lost`, once the user has said that they may be.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from cordwood.core.errors import TableError
from cordwood.core.types import PartitionId, TopicName, TopicPartition

#: What the two texts are called, in the commits of all formats.
RANGES: Final = "cordwood.ranges"
STANDING: Final = "cordwood.standing"

_FORMAT: Final = 1
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
    standing: Standing, stretches: Iterable[Stretch], *, shape: Shape, table: str
) -> Standing:
    """Return where a table stands after a commit; TableError where it would repeat or skip.

    `shape` is that of the rows that are added.
    """
    check_shape(standing, shape, table=table)
    held = dict(standing.held)
    for stretch in stretches:
        check_start(standing, stretch.partition, start=stretch.start, table=table)
        before = held.get(stretch.partition, Held(stretch.start, stretch.start))
        held[stretch.partition] = _with(before, stretch)
    return Standing(shape=shape, held=held)


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
    except (ValueError, KeyError, TypeError) as error:
        raise _unreadable(f"{type(error).__name__} {error}", table) from error
    return Standing(shape=shape, held=held)


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
