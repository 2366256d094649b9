"""Truncation of a follower's log to the offset where its leader's log diverges from it.

KIP-101, KIP-279 and the diverging epochs of fetch responses; Kafka:
`AbstractFetcherThread.getOffsetTruncationState`, `fetchOffsetAndTruncate`.

A leader epoch has one leader, so records of one epoch at one offset are the same everywhere. The
logs agree up to the end of the last epoch that both have. Answer of the leader about the follower's
latest epoch: the largest epoch that it has up to this one, and its end offset there.

    both have the epoch             truncate to the smaller one of its two ends
    the follower has a lower one    truncate to the end of that; ask again with the latest epoch
    the follower has only higher    truncate to its first epoch, or to the leader's end below it
    the follower has no epochs      truncate to the leader's end
    no epoch, an end offset         truncate to that end: a leader before KIP-279
    no end offset                   truncate to the high watermark

The logs do not agree at the high watermark. It is a round late, so records above it may count; and
after a crash the logs may differ below it. It is the last resort for records without epochs, those
of the formats before v2.
"""

from typing import NamedTuple, TypeAlias

from cordwood.core.types import NO_LEADER_EPOCH, NO_OFFSET, LeaderEpoch, Offset
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEnd, LeaderEpochCache


class FollowerLog(NamedTuple):
    """The local log of a follower."""

    epochs: LeaderEpochCache
    log_start: int
    log_end: int
    high_watermark: int

    @property
    def latest_epoch(self) -> LeaderEpoch:
        """The latest epoch, -1 if the log has none."""
        latest = self.epochs.latest
        return NO_LEADER_EPOCH if latest is None else latest.epoch


class TruncateTo(NamedTuple):
    """Truncate the log; a log that ends there loses an epoch without records, if it has one.

    If that is not final, ask again with the latest epoch of the truncated log.
    """

    offset: int
    is_final: bool = True


class StartAt(NamedTuple):
    """Remove all records, and continue at the leader's log start."""

    offset: int


class FetchFrom(NamedTuple):
    """Fetch from an offset; the last record before it has this epoch, -1 if it is unknown."""

    offset: int
    last_fetched_epoch: LeaderEpoch


class AskEpoch(NamedTuple):
    """Ask the leader for the end offset of an epoch."""

    leader_epoch: LeaderEpoch


Truncation: TypeAlias = TruncateTo | StartAt


def first_step(log: FollowerLog, *, detects_on_fetch: bool) -> FetchFrom | AskEpoch | TruncateTo:
    """Return the first step of a follower in a new leader epoch.

    A leader that detects divergence on fetch needs no question before.
    """
    if log.latest_epoch == NO_LEADER_EPOCH and log.high_watermark < log.log_end:
        return TruncateTo(log.high_watermark)
    if detects_on_fetch or log.latest_epoch == NO_LEADER_EPOCH:
        return next_fetch(log)
    return AskEpoch(log.latest_epoch)


def next_fetch(log: FollowerLog) -> FetchFrom:
    """Return the fetch that continues the log."""
    return FetchFrom(log.log_end, log.latest_epoch)


def step_after_epoch_end(log: FollowerLog, leader_end: EpochEnd) -> TruncateTo:
    """Return the truncation after the leader's answer, or after a diverging epoch."""
    if leader_end.end_offset == NO_OFFSET:
        return TruncateTo(log.high_watermark)
    if leader_end.epoch == NO_LEADER_EPOCH:
        return TruncateTo(min(leader_end.end_offset, log.log_end))
    local = log.epochs.end_offset_for(leader_end.epoch, Offset(log.log_end))
    if local.end_offset > NO_OFFSET and local.epoch != leader_end.epoch:
        return TruncateTo(min(local.end_offset, log.log_end), is_final=False)
    ends = (end for end in (local.end_offset, leader_end.end_offset) if end != NO_OFFSET)
    return TruncateTo(min(*ends, log.log_end))


def step_after_log_end(log: FollowerLog, leader_end: int) -> TruncateTo | None:
    """Return the truncation after OFFSET_OUT_OF_RANGE; None if the leader's log start decides.

    A leader with a shorter log was elected uncleanly. The next fetch detects where they diverge.
    """
    return TruncateTo(leader_end) if leader_end < log.log_end else None


def step_after_log_start(log: FollowerLog, leader_start: int) -> StartAt | FetchFrom:
    """Return the step after OFFSET_OUT_OF_RANGE from a leader whose log is not shorter.

    The leader may have deleted all that the follower has. Otherwise its log has grown since the
    fetch that was out of range.
    """
    return StartAt(leader_start) if leader_start > log.log_end else next_fetch(log)


class FollowerBounds(NamedTuple):
    """The bounds of a follower's log after a fetch response."""

    high_watermark: int
    log_start: int


def bounds_after_fetch(
    log: FollowerLog, *, leader_high_watermark: int, leader_start: int
) -> FollowerBounds:
    """Return the bounds after the records of a response have been appended.

    The high watermark never passes the follower's own log end, and the log start never passes the
    high watermark. Both never fall: a new leader's high watermark may be a round behind the one
    that this broker has seen.
    """
    high_watermark = max(log.high_watermark, min(leader_high_watermark, log.log_end))
    return FollowerBounds(high_watermark, max(log.log_start, min(leader_start, high_watermark)))
