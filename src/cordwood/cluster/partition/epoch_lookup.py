"""Answers of a leader about its epochs, by which followers and consumers detect divergence.

Kafka: `Partition.lastOffsetForLeaderEpoch` and the check at the start of `Partition.readRecords`.
"""

from typing import NamedTuple

from cordwood.core.errors import (
    FencedLeaderEpochError,
    KafkaError,
    OffsetOutOfRangeError,
    UnknownLeaderEpochError,
)
from cordwood.core.types import NO_LEADER_EPOCH, LeaderEpoch, Offset, TopicPartition
from cordwood.storage.checkpoints.leader_epoch_cache import (
    UNKNOWN_END,
    EpochEnd,
    LeaderEpochCache,
)


class LeaderLog(NamedTuple):
    """The epochs and bounds of a leader's log, and the epoch in which it leads.

    Errors name its partition.
    """

    partition: TopicPartition
    epochs: LeaderEpochCache
    leader_epoch: int
    log_start: int
    log_end: int


def epoch_error(partition: TopicPartition, known: int, *, given: int) -> KafkaError:
    """Return the error of a request whose leader epoch is not the known one."""
    words = f"the leader epoch of {partition} is {known}, not {given}"
    return FencedLeaderEpochError(words) if given < known else UnknownLeaderEpochError(words)


def last_offset_for_leader_epoch(log: LeaderLog, leader_epoch: int) -> EpochEnd:
    """Return the largest epoch that is not above this one, and its end offset.

    The leader's own epoch ends at the log end, with or without an entry.
    """
    if leader_epoch == log.leader_epoch:
        return EpochEnd(LeaderEpoch(leader_epoch), Offset(log.log_end))
    return log.epochs.end_offset_for(LeaderEpoch(leader_epoch), Offset(log.log_end))


def find_divergence(log: LeaderLog, last_epoch: int, *, offset: int) -> EpochEnd | None:
    """Return where the fetcher's log diverged from this one, None if it has not.

    The fetcher has read up to `offset`, and its last record has the epoch `last_epoch`, -1 if it
    does not detect divergence.
    """
    if last_epoch == NO_LEADER_EPOCH:
        return None
    end = last_offset_for_leader_epoch(log, last_epoch)
    if end == UNKNOWN_END or offset < log.log_start:
        raise OffsetOutOfRangeError(
            f"{log.partition}: the end of epoch {last_epoch} is unknown (fetch offset {offset}, "
            f"log start {log.log_start})"
        )
    return end if end.epoch < last_epoch or end.end_offset < offset else None
