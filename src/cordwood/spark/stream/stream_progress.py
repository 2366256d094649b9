"""Positions of a stream after a batch, compared with what the sources have now.

    new partition       begins at offset 0; without that offset it is a gap (`offset_gaps`)
    vanished partition  an error with gap=fail; otherwise its position is kept
    another topic id    the topic was created again: an error, or restarted from offset 0
    a log end before the position
                        with equal ids an error: records were truncated, or an option has changed;
                        without an id, the two answers to another id
    records of a later leader epoch before the position
                        the log was truncated (`log_truncations`): an error, or with gap=record
                        read again from where these records begin
    a readable end before the position
                        the position waits for the last stable offset or the high watermark

Both ends of a batch are in the checkpoint, so `ranges_between` needs nothing else: a batch that
Spark repeats has the same ranges. A topic whose id differs between the ends is read from offset 0,
and so is a partition whose end is before its start. If a topic was created again after its batch
was planned, the repeated batch is refused, or leaves the topic to the next batch. The same holds
for the part of a log that was truncated since.
"""

import logging
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from cordwood.core.errors import (
    InconsistentTopicIdError,
    OffsetOutOfRangeError,
    SettingError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import TopicPartition
from cordwood.spark.source.coverage import OffsetRange
from cordwood.spark.source.offset_resolution import PartitionExtent
from cordwood.spark.source.source_options import OffsetRangeLimit, Offsets
from cordwood.spark.stream.admission import Backlog
from cordwood.spark.stream.stream_offset import NO_OFFSETS, StreamOffset

_log: Final = logging.getLogger("cordwood.spark.stream")

_RESTART: Final = (
    "set onRecreatedTopic=restart to read it from its first offset, or begin a new checkpoint"
)


class StreamPolicy(NamedTuple):
    """The answers of the options to topics that change under a stream."""

    gap: str = "fail"
    restarts_recreated: bool = False


class StreamPositions(NamedTuple):
    """The next offset of each readable partition; `kept` are those that no source has now.

    `truncated` are the readable ones that are before the end of the last batch, because the log was
    truncated there.
    """

    readable: Offsets
    kept: Offsets
    truncated: Offsets = NO_OFFSETS


class LogChanges(NamedTuple):
    """Changes of the logs that their readable extents do not show.

    `log_ends` are those of the partitions whose logs have records after the readable end, and
    `truncated` the offsets below the positions where records of a later leader epoch begin.
    """

    log_ends: Offsets = NO_OFFSETS
    truncated: Offsets = NO_OFFSETS


#: Logs that end at their readable ends and were not truncated.
_NO_CHANGES: Final = LogChanges()


def positions_after(
    done: StreamOffset,
    extents: Mapping[TopicPartition, PartitionExtent],
    *,
    topic_ids: Mapping[str, str],
    policy: StreamPolicy,
    changes: LogChanges = _NO_CHANGES,
) -> StreamPositions:
    """Return the positions to continue at after the end of a batch; raise by policy."""
    recreated = recreated_topics(done.topic_ids, topic_ids, policy=policy)
    truncated = {
        each: offset
        for each, offset in changes.truncated.items()
        if each in extents and each.topic not in recreated
    }
    check_not_replaced(done.positions, truncated, policy=policy)
    readable, kept = dict[TopicPartition, int](truncated), dict[TopicPartition, int]()
    for partition, offset in done.positions.items():
        if partition in truncated:
            continue
        if partition in extents:
            log_end = max(extents[partition].end, changes.log_ends.get(partition, 0))
            is_new = partition.topic in recreated
            if offset > log_end and not is_new:
                is_same = partition.topic in done.topic_ids and partition.topic in topic_ids
                _check_truncated(partition, offset, log_end, policy=policy, is_same=is_same)
                is_new = True
            readable[partition] = 0 if is_new else offset
        elif partition.topic not in recreated:
            _check_vanished(partition, offset, policy)
            kept[partition] = offset
    return StreamPositions({each: readable.get(each, 0) for each in extents}, kept, truncated)


def check_not_replaced(positions: Offsets, truncated: Offsets, *, policy: StreamPolicy) -> None:
    """Reject logs whose records before the positions were replaced, unless gaps are recorded."""
    if policy.gap == "record":
        return
    for partition, offset in sorted(truncated.items()):
        raise OffsetOutOfRangeError(
            f"{partition}: offsets {offset} to {positions[partition] - 1} were truncated after the"
            f" stream had read or planned them: records of a later leader epoch begin at {offset};"
            " begin a new checkpoint, or set gap=record and a gapTable to read the new records from"
            f" {offset} on"
        )


def recreated_topics(
    stored: Mapping[str, str], topic_ids: Mapping[str, str], *, policy: StreamPolicy
) -> frozenset[str]:
    """Return the topics with another id than the stored one; raise unless they are restarted."""
    changed = {
        topic: (before, topic_ids[topic])
        for topic, before in stored.items()
        if topic_ids.get(topic, before) != before
    }
    if changed and not policy.restarts_recreated:
        topic, (before, now) = min(changed.items())
        raise InconsistentTopicIdError(
            f"{topic}: the topic was deleted and created again (id {before} in the checkpoint, "
            f"{now} now); {_RESTART}"
        )
    return frozenset(changed)


def backlogs_of(
    positions: Offsets, extents: Mapping[TopicPartition, PartitionExtent], *, policy: StreamPolicy
) -> dict[TopicPartition, Backlog]:
    """Return the unread offsets; deleted ones count only if they can be refilled."""
    found = {}
    for partition, position in positions.items():
        first, end = extents[partition]
        start = position if policy.gap == "refill" else max(position, first)
        found[partition] = Backlog(start, end)
    return found


def end_of_batch(
    done: StreamOffset,
    positions: StreamPositions,
    *,
    ends: Offsets,
    topic_ids: Mapping[str, str],
) -> StreamOffset | None:
    """Return the end of the next batch, without epochs; None if it would have nothing new.

    A new query always has a batch 0, which stores the start even if it has no records.
    """
    offsets = {**positions.kept, **ends}
    topics = {partition.topic for partition in offsets}
    known = {**done.topic_ids, **topic_ids}
    ids = {topic: topic_id for topic, topic_id in known.items() if topic in topics}
    if done.is_initial:
        return StreamOffset(offsets, ids, positions.readable)
    is_same = offsets == done.positions and all(
        ids.get(topic, before) == before for topic, before in done.topic_ids.items()
    )
    if is_same and not positions.truncated:
        return None
    return StreamOffset(offsets, ids, positions.truncated or None)


def ranges_between(start: StreamOffset, end: StreamOffset) -> list[OffsetRange]:
    """Return the ranges of the batch between two offsets, in order."""
    if start == end:
        return []  # the start of an end belongs to the batch that ends there
    begins = {**start.positions, **(end.start or {})}
    if start.is_initial and end.start is None:
        raise SettingError(
            "checkpoint: batch 0 has no start, because spark-sql-kafka has begun it and not"
            " finished it",
            key="checkpointLocation",
            remedy="run `cordwood spark checkpoint adopt` on the checkpoint",
        )
    ranges = []
    for partition, until in sorted(end.positions.items()):
        topic = partition.topic
        first = begins.get(partition, 0)
        known, now = start.topic_ids.get(topic), end.topic_ids.get(topic)
        if first > until or (known is not None and now is not None and known != now):
            first = 0
        ranges.append(OffsetRange(partition, first, until))
    return [each for each in ranges if each.start < each.end]


def ranges_to_repeat(
    start: StreamOffset,
    end: StreamOffset,
    *,
    topic_ids: Mapping[str, str],
    policy: StreamPolicy,
    truncated: Offsets = NO_OFFSETS,
) -> list[OffsetRange]:
    """Return the ranges of a planned batch; raise by policy if its topics are other ones.

    The offsets of a restarted topic are those of the deleted one: the next batch begins
    the new topic. It also begins where a log was `truncated` before the end of the planned batch.
    """
    stored = {**start.topic_ids, **end.topic_ids}
    recreated = recreated_topics(stored, topic_ids, policy=policy)
    ranges = ranges_between(start, end)
    for topic in sorted({each.partition.topic for each in ranges} & recreated):
        _log.warning("%s: the topic was created again; the repeated batch leaves it out", topic)
    check_not_replaced(end.positions, truncated, policy=policy)
    return [
        part
        for each in ranges
        if each.partition.topic not in recreated
        and (part := _before(each, truncated.get(each.partition))).start < part.end
    ]


def _before(planned: OffsetRange, truncated_at: int | None) -> OffsetRange:
    """Return the part of a planned range that was not truncated."""
    if truncated_at is None or truncated_at >= planned.end:
        return planned
    _log.warning(
        "%s were truncated at offset %d; the next batch begins there", planned, truncated_at
    )
    return planned._replace(end=truncated_at)


def check_starts(starts: Offsets, extents: Mapping[TopicPartition, PartitionExtent]) -> None:
    """Reject the start of a new query after the end of a partition."""
    for partition, offset in sorted(starts.items()):
        if offset > extents[partition].end:
            raise SettingError(
                f"startingOffsets: offset {offset} of {partition} is after its end "
                f"{extents[partition].end}",
                key="startingOffsets",
                remedy="lower it, or use -1 for latest",
            )


def check_listed(starting: OffsetRangeLimit, partitions: Collection[TopicPartition]) -> None:
    """Reject starting offsets that leave out a partition: a default would skip or repeat it."""
    missing = sorted(set(partitions).difference(starting.by_partition))
    if starting.by_partition and missing:
        raise SettingError(
            f"startingOffsets: no offset for {', '.join(map(str, missing))}",
            key="startingOffsets",
            remedy="list every partition, with -2 for earliest or -1 for latest",
        )


def _check_truncated(
    partition: TopicPartition, offset: int, log_end: int, *, policy: StreamPolicy, is_same: bool
) -> None:
    """Reject a log that ends before a position, unless its topic may be another and restarts."""
    problem = f"{partition}: the stream continues at offset {offset}, but the log ends at {log_end}"
    if is_same:
        raise InconsistentTopicIdError(
            f"{problem} and the topic has the same id: records were truncated, or isolation.level "
            "or endAt has changed; set them as they were, or begin a new checkpoint"
        )
    if not policy.restarts_recreated:
        raise InconsistentTopicIdError(
            f"{problem}: it was truncated, or the topic was created again; {_RESTART}"
        )


def _check_vanished(partition: TopicPartition, offset: int, policy: StreamPolicy) -> None:
    """Reject the loss of a partition, unless gaps are allowed."""
    if policy.gap == "fail":
        raise UnknownTopicOrPartitionError(
            f"{partition}: the stream continues at offset {offset}, but no source has the "
            "partition now; restore it, or select it again, or set gap=record with a gapTable to "
            "continue without it"
        )
