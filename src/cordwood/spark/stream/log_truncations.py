"""Truncations of logs below the positions of a stream (Kafka: `LogTruncationException`).

    read until 100, in epoch 3      ├────────────────────┤100
    an unclean election at 80       ├──── epoch 3 ───┤80
    the log grows past 100          ├──── epoch 3 ───┤80─── epoch 4 ────┤130

A record of a later leader epoch before the position replaced another one. So each end of a batch
stores the latest leader epoch of its partitions, and the next trigger compares it with the sources:
directories have a leader epoch checkpoint, and leaders answer OffsetForLeaderEpoch.

A log that loses records within one leader epoch, and is filled again in the same one, looks like a
log that has lost none.
"""

from collections.abc import Collection

from cordwood.core.types import TopicPartition
from cordwood.spark.source.coverage import KnownEnd
from cordwood.spark.source.source_view import SourceView
from cordwood.spark.stream.stream_offset import StreamOffset


def truncated_below(
    done: StreamOffset, view: SourceView, *, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, int]:
    """Return where records of later leader epochs begin below the positions of partitions.

    A partition whose topic was created again is another log, which has no truncation.
    """
    known = {
        each: KnownEnd(done.positions[each], epoch)
        for each, epoch in done.leader_epochs.items()
        if each in partitions and each in done.positions and _is_same_topic(done, view, each)
    }
    found = dict[TopicPartition, int]()
    for reader in view.readers if known else ():
        for partition, offset in reader.truncated_ends(known).items():
            found[partition] = min(offset, found.get(partition, offset))
    return found


def moved_partitions(done: StreamOffset, view: SourceView) -> set[TopicPartition]:
    """Return the partitions whose readable ends are not at the positions."""
    return {
        each
        for each, offset in done.positions.items()
        if each in view.extents and view.extents[each].end != offset
    }


def with_leader_epochs(end: StreamOffset, done: StreamOffset, view: SourceView) -> StreamOffset:
    """Return the end of a batch with the latest leader epochs that the sources report.

    A partition without new records keeps the epoch of the batch before, and so does one that no
    source has now. A log that was truncated and has grown back to the position itself was not
    compared: its new epoch must not count as seen before it is.
    """
    kept = {
        each: epoch
        for each, epoch in done.leader_epochs.items()
        if each not in view.extents or _is_unread(each, end=end, done=done, view=view)
    }
    found = dict[TopicPartition, int]()
    for reader in view.readers:
        for partition, epoch in reader.leader_epochs(view.extents.keys()).items():
            found[partition] = max(epoch, found.get(partition, epoch))
    found |= kept
    return end._replace(
        leader_epochs={each: epoch for each, epoch in found.items() if each in end.positions}
    )


def _is_unread(
    partition: TopicPartition, *, end: StreamOffset, done: StreamOffset, view: SourceView
) -> bool:
    is_at_end = end.positions.get(partition) == done.positions.get(partition)
    return is_at_end and _is_same_topic(done, view, partition)


def _is_same_topic(done: StreamOffset, view: SourceView, partition: TopicPartition) -> bool:
    before = done.topic_ids.get(partition.topic)
    return before is None or view.topic_ids.get(partition.topic, before) == before
