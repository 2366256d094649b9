"""From where to where each partition is read: what the user says, as offsets.

    earliest, latest    the first and the last offset of all places together; where brokers are
                        asked, nothing behind what they let readers see
    a time              the first offset whose record is not older, as Kafka looks it up. Where
                        there is none, a reading that ends there ends at the end, and one that would
                        begin there is refused, unless it may be empty
    an offset           what it is, also where no place has it any more, or has it not yet: then
                        there is a hole

All of that is decided once, before any task begins. A task that runs twice, or a DataFrame that is
used twice within a plan, reads the same.
"""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Final, NamedTuple

from cordwood.core.errors import InconsistentTopicIdError, SettingError
from cordwood.core.types import TopicPartition
from cordwood.spark.holdings import Holding, Place, Range, TopicOf
from cordwood.spark.narrowing import Interval, Narrowing
from cordwood.spark.options import EARLIEST, LATEST, Bound, SourceOptions

_NAMES_SHOWN: Final = 3


class Extent(NamedTuple):
    """The first offset that there is of a partition anywhere, and the end."""

    first: int
    end: int


def extent_of(holdings: Sequence[Holding]) -> Extent:
    """Return the extent of a partition's holdings; the end is the brokers', if they have it."""
    told = [each.end for each in holdings if each.path is None]
    end = max(told or [each.end for each in holdings])
    return Extent(min(end, *(each.start for each in holdings)), end)


def ensure_known(
    options: SourceOptions, *, topics: Collection[str], partitions: Collection[TopicPartition]
) -> None:
    """Refuse what is asked for by name and is nowhere, with the name that is nearest to it."""
    for name in sorted((options.topics.names or frozenset()).difference(topics)):
        raise _unknown("subscribe", name, topics)
    asked = {
        "assign": options.topics.assigned or (),
        "startingOffsets": options.starting.given,
        "endingOffsets": options.ending.given,
    }
    for key, named in asked.items():
        for partition in sorted(set(named).difference(partitions)):
            if partition.topic not in topics:
                raise _unknown(key, partition.topic, topics)
            raise SettingError(
                f"there is no partition {partition} to read from",
                key=key,
                remedy=f"choose from {', '.join(map(str, sorted(partitions)))}"
                if partitions
                else f"{partition.topic} is there, but not with this partition",
            )


def topic_ids_of(places: Sequence[Place], wanted: Collection[TopicPartition]) -> Mapping[str, str]:
    """Return the ids of topics by their names; refuse to read two topics as if they were one.

    A topic that was deleted and made anew has another id, and its offsets begin anew: what a
    directory has of the old one is not the history of what brokers have of the new one.
    """
    found: dict[str, TopicOf] = {}
    for place in places:
        for partition, told in sorted(place.topic_ids().items()):
            if partition not in wanted:
                continue
            first = found.setdefault(partition.topic, told)
            if first.topic_id != told.topic_id:
                raise InconsistentTopicIdError(
                    f"of {partition.topic} there are two topics, {first.topic_id} in "
                    f"{first.said_by} and {told.topic_id} in {told.said_by}: it was deleted and "
                    "made anew, or these are two clusters; read one of them at a time"
                )
    return {topic: told.topic_id for topic, told in found.items()}


def resolve(
    extents: Mapping[TopicPartition, Extent], options: SourceOptions, *, places: Sequence[Place]
) -> list[Range]:
    """Return the ranges that the options ask for, in the order of the partitions."""
    starts = _offsets(extents, options.starting, places)
    ends = _offsets(extents, options.ending, places)
    ranges = []
    for partition, extent in sorted(extents.items()):
        start, end = starts[partition], ends[partition]
        end = extent.end if end is None else end
        if start is None:
            _refuse_late(partition, options)
            start = end
        elif start > end and options.ending.of(partition) != LATEST:
            raise SettingError(
                f"of {partition} the reading would begin at offset {start} and end at {end}",
                key="endingOffsets",
                remedy="let it end behind its beginning",
            )
        ranges.append(Range(partition, start, end))
    return ranges


def _refuse_late(partition: TopicPartition, options: SourceOptions) -> None:
    """Refuse a time to begin at that nothing has reached, unless that is to read nothing."""
    if not options.is_late_start_empty:
        raise SettingError(
            f"{partition} has no record from {options.starting.of(partition)} ms on",
            key="startingTimestamp",
            remedy="begin earlier, or set startingOffsetsByTimestampStrategy to latest",
        )


def narrowed(
    ranges: Sequence[Range], narrowing: Narrowing, *, places: Sequence[Place]
) -> list[Range]:
    """Return ranges without what can be told by its offset to be outside; some become empty."""
    earliest = narrowing.times.least
    times = {each.partition: earliest for each in ranges} if earliest >= 0 else {}
    found = at_times(times, places)
    return [
        _within(each, narrowing.offsets, found.get(each.partition, each.start)) for each in ranges
    ]


def _within(wanted: Range, offsets: Interval, first: int | None) -> Range:
    """Return what a range has within offsets and from its first one that is not too old."""
    if wanted.start > wanted.end:
        return wanted
    start = max(wanted.start, offsets.least, wanted.end if first is None else first)
    return wanted._replace(start=start, end=max(start, min(wanted.end, offsets.most + 1)))


def at_times(
    wanted: Mapping[TopicPartition, int], places: Sequence[Place]
) -> dict[TopicPartition, int | None]:
    """Return the first offset not older than its time in any of the places."""
    found = [place.at_times(wanted) for place in places] if wanted else []
    return {
        each: min(
            (offset for told in found if (offset := told.get(each)) is not None), default=None
        )
        for each in wanted
    }


def _offsets(
    extents: Mapping[TopicPartition, Extent], bound: Bound, places: Sequence[Place]
) -> dict[TopicPartition, int | None]:
    """Return the offsets that a bound stands for; None for a time that nothing has reached."""
    said = {each: bound.of(each) for each in extents}
    times = {each: value for each, value in said.items() if bound.is_time and value >= 0}
    offsets: dict[TopicPartition, int | None] = {**said, **at_times(times, places)}
    for partition, value in said.items():
        if value in (EARLIEST, LATEST):
            first, end = extents[partition]
            offsets[partition] = first if value == EARLIEST else end
    return offsets


def _unknown(key: str, name: str, topics: Collection[str]) -> SettingError:
    near = get_close_matches(name, topics, n=1)
    there_are = f"there are {', '.join(sorted(topics)[:_NAMES_SHOWN]) or 'none'}"
    remedy = f"did you mean {near[0]}?" if near else there_are
    return SettingError(f"there is no topic {name!r} to read from", key=key, remedy=remedy)
