"""Resolution of starting and ending options to offsets, per partition.

    earliest, latest    the first and the last offset over all sources; with brokers, the end is
                        the brokers' high watermark or last stable offset
    a timestamp         the first offset at or after it, as in Kafka's ListOffsets. Without one, an
                        ending timestamp means the end, and a starting timestamp is an error, unless
                        `startingOffsetsByTimestampStrategy` is `latest`
    an offset           the offset itself; if no source has it any more, or not yet, there is a gap

Offsets are resolved once, before any task begins. A task that runs twice, or a DataFrame that is
used twice within a plan, reads the same offsets.
"""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from cordwood.core.counts import first_names
from cordwood.core.errors import InconsistentTopicIdError, SettingError
from cordwood.core.types import TopicPartition
from cordwood.spark.source.coverage import (
    AvailableRange,
    BrokerSource,
    OffsetRange,
    OffsetReader,
    TopicIdentity,
)
from cordwood.spark.source.pushed_filters import IntegerInterval, PushedFilters
from cordwood.spark.source.source_options import EARLIEST, LATEST, OffsetRangeLimit, SourceOptions


class PartitionExtent(NamedTuple):
    """The first offset of a partition in any source, and its end."""

    first: int
    end: int


class PartitionWitness(NamedTuple):
    """Facts of the sources about a partition, besides its ranges.

    `log_end` is the end with the records that cannot be read yet. Records of a later leader epoch
    than that of an earlier read begin at `truncated_at`.
    """

    log_end: int
    leader_epoch: int | None = None
    truncated_at: int | None = None


def extent_of(available: Sequence[AvailableRange]) -> PartitionExtent:
    """Return the extent of a partition's ranges; a broker's end takes precedence."""
    broker_ends = [each.end for each in available if isinstance(each.source, BrokerSource)]
    end = max(broker_ends or [each.end for each in available])
    return PartitionExtent(min(end, *(each.start for each in available)), end)


def check_requested(
    options: SourceOptions, *, topics: Collection[str], partitions: Collection[TopicPartition]
) -> None:
    """Reject a topic or partition that no source has; the error has the nearest name."""
    for name in sorted((options.topics.names or frozenset()).difference(topics)):
        raise _unknown("subscribe", name, topics)
    requested = {
        "assign": options.topics.assigned or (),
        "startingOffsets": options.starting.by_partition,
        "endingOffsets": options.ending.by_partition,
    }
    for key, named in requested.items():
        for partition in sorted(set(named).difference(partitions)):
            if partition.topic not in topics:
                raise _unknown(key, partition.topic, topics)
            raise SettingError(
                f"{key}: partition {partition} does not exist",
                key=key,
                remedy=f"choose from {', '.join(map(str, sorted(partitions)))}"
                if partitions
                else f"{partition.topic} exists, but without this partition",
            )


def resolve_topic_ids(
    readers: Sequence[OffsetReader], wanted: Collection[TopicPartition]
) -> Mapping[str, str]:
    """Return the ids of topics by name; reject two topics with the same name.

    A topic that was deleted and created again has another id, and its offsets start again at 0.
    So a directory of the old topic is not the history of the new topic on the brokers.
    """
    found: dict[str, TopicIdentity] = {}
    for reader in readers:
        for partition, identity in sorted(reader.topic_ids().items()):
            if partition not in wanted:
                continue
            first = found.setdefault(partition.topic, identity)
            if first.topic_id != identity.topic_id:
                raise InconsistentTopicIdError(
                    f"{partition.topic}: two topics have this name ({first.topic_id} in "
                    f"{first.reported_by}, {identity.topic_id} in {identity.reported_by}): the "
                    "topic was deleted and created again, or these are two clusters; read one of "
                    "them at a time"
                )
    return {topic: identity.topic_id for topic, identity in found.items()}


def resolve_ranges(
    extents: Mapping[TopicPartition, PartitionExtent],
    options: SourceOptions,
    *,
    readers: Sequence[OffsetReader],
    continued: Collection[TopicPartition] = (),
) -> list[OffsetRange]:
    """Return the ranges that the options select, in the order of the partitions.

    A starting timestamp after the last record is not an error in a `continued` partition.
    """
    starts = _offsets(extents, options.starting, readers)
    ends = _offsets(extents, options.ending, readers)
    ranges = []
    for partition, extent in sorted(extents.items()):
        start, end = starts[partition], ends[partition]
        end = extent.end if end is None else end
        if start is None:
            if partition not in continued:
                _check_late_start(partition, options)
            start = end
        elif start > end and options.ending.for_partition(partition) != LATEST:
            raise SettingError(
                f"{partition}: startingOffsets {start} is after endingOffsets {end}",
                key="endingOffsets",
                remedy="raise endingOffsets",
            )
        ranges.append(OffsetRange(partition, start, end))
    return ranges


def _check_late_start(partition: TopicPartition, options: SourceOptions) -> None:
    """Reject a starting timestamp after the last record, unless the strategy is `latest`."""
    if not options.is_late_start_empty:
        raise SettingError(
            f"{partition}: no record at or after {options.starting.for_partition(partition)} ms",
            key="startingTimestamp",
            remedy="lower startingTimestamp, or set startingOffsetsByTimestampStrategy=latest",
        )


def apply_filters(
    ranges: Sequence[OffsetRange], pushed: PushedFilters, *, readers: Sequence[OffsetReader]
) -> list[OffsetRange]:
    """Return ranges without the offsets that cannot match the filters; some become empty."""
    earliest = pushed.times.least
    times = {each.partition: earliest for each in ranges} if earliest >= 0 else {}
    found = offsets_for_times(times, readers)
    return [_within(each, pushed.offsets, found.get(each.partition, each.start)) for each in ranges]


def _within(wanted: OffsetRange, offsets: IntegerInterval, first: int | None) -> OffsetRange:
    """Return the part of a range inside `offsets` and at or after the first matching offset."""
    if wanted.start > wanted.end:
        return wanted
    start = max(wanted.start, offsets.least, wanted.end if first is None else first)
    return wanted._replace(start=start, end=max(start, min(wanted.end, offsets.most + 1)))


def offsets_for_times(
    wanted: Mapping[TopicPartition, int], readers: Sequence[OffsetReader]
) -> dict[TopicPartition, int | None]:
    """Return the first offset at or after a time, over all sources."""
    found = [reader.offsets_for_times(wanted) for reader in readers] if wanted else []
    return {
        each: min(
            (offset for offsets in found if (offset := offsets.get(each)) is not None), default=None
        )
        for each in wanted
    }


def _offsets(
    extents: Mapping[TopicPartition, PartitionExtent],
    limit: OffsetRangeLimit,
    readers: Sequence[OffsetReader],
) -> dict[TopicPartition, int | None]:
    """Return the offsets of a limit; None for a timestamp after the last record."""
    values = {each: limit.for_partition(each) for each in extents}
    times = {each: value for each, value in values.items() if limit.is_time and value >= 0}
    offsets: dict[TopicPartition, int | None] = {**values, **offsets_for_times(times, readers)}
    for partition, value in values.items():
        if value in (EARLIEST, LATEST):
            first, end = extents[partition]
            offsets[partition] = first if value == EARLIEST else end
    return offsets


def _unknown(key: str, name: str, topics: Collection[str]) -> SettingError:
    near = get_close_matches(name, topics, n=1)
    known = f"existing topics: {first_names(sorted(topics)) or 'none'}"
    remedy = f"did you mean {near[0]}?" if near else known
    return SettingError(f"{key}: topic {name!r} does not exist", key=key, remedy=remedy)
