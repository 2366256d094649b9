"""Copying of partitions from one leader, as values (Kafka: `AbstractFetcherThread`).

    add, remove, pause, resume    the partitions, with the leader epochs in which they follow
    fail                          a partition whose log cannot be used
    next_request                  the request to send now; the caller sends one after the other
    on_answer                     the part of one partition in a response: an action on the local
                                  log, or None
    applied, rejected             the action has been performed, or has failed: the next action,
                                  or None
    on_disconnect                 the request has no response

Questions about epochs and offsets go first, then fetches. Errors of a partition:

    OFFSET_OUT_OF_RANGE                  find the leader's log end, and then perhaps its log start
    FENCED_LEADER_EPOCH                  failed: the metadata of a later epoch must come first
    every other error of the leader      the same request after `replica.fetch.backoff.ms`
    CORRUPT_MESSAGE, INVALID_RECORD      of the local append: the same, as after a torn response
    KAFKA_STORAGE_ERROR                  of the local append, if the log can be used: the same
    every other error of the local log   failed

At most one action of a partition is under way, and only actions change its log. A later leader
epoch begins when the action has ended.

A partition that has received records goes to the end of the next request, so that each one gets its
turn when responses are full.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Final, NamedTuple, Protocol, TypeAlias

from cordwood.cluster.partition.partition_fetch_state import FetchPhase, PartitionFetchState
from cordwood.cluster.partition.truncation import (
    AskEpoch,
    FetchFrom,
    FollowerLog,
    StartAt,
    TruncateTo,
    Truncation,
    first_step,
    next_fetch,
    step_after_epoch_end,
    step_after_log_end,
    step_after_log_start,
)
from cordwood.core.errors import (
    CorruptMessageError,
    FencedLeaderEpochError,
    InvalidRecordError,
    KafkaError,
    KafkaStorageError,
    OffsetOutOfRangeError,
    UnknownServerError,
    error_from_code,
)
from cordwood.core.types import LeaderEpoch, TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEnd

_SUCCESS: Final = 0
#: Errors of an append after which the same records may be appended.
_PASSING: Final = (CorruptMessageError, InvalidRecordError, KafkaStorageError)


class SentPartitions(NamedTuple):
    """A request with the states of its partitions; the phase decides which request it is.

    ASKING_EPOCH is an OffsetForLeaderEpoch, FINDING_END and FINDING_START are ListOffsets of the
    latest and of the earliest offset, FETCHING is a Fetch.
    """

    phase: FetchPhase
    partitions: Mapping[TopicPartition, PartitionFetchState]


class FetchedPartition(NamedTuple):
    """A partition in a fetch response; the caller keeps its records."""

    partition: TopicPartition
    error_code: int
    high_watermark: int
    diverging_epoch: EpochEnd | None = None


class EpochEndAnswer(NamedTuple):
    """A partition in an OffsetForLeaderEpoch response."""

    partition: TopicPartition
    error_code: int
    end: EpochEnd


class OffsetAnswer(NamedTuple):
    """A partition in a ListOffsets response: the leader's log end or log start."""

    partition: TopicPartition
    error_code: int
    offset: int


LeaderAnswer: TypeAlias = FetchedPartition | EpochEndAnswer | OffsetAnswer


class ApplyFetched(NamedTuple):
    """Append the records of the response, if there are any, and use its bounds.

    `truncation.bounds_after_fetch` has the rule for the bounds.
    """

    leader_high_watermark: int


class LogAction(NamedTuple):
    """A change of a partition's local log, for the leader epoch of its state."""

    partition: TopicPartition
    state: PartitionFetchState
    step: Truncation | ApplyFetched


class IsThrottled(Protocol):
    """Whether the records of a replica must wait (Kafka: `shouldFollowerThrottle`)."""

    def __call__(self, partition: TopicPartition, /, *, is_in_sync: bool) -> bool:
        """Return whether a partition is left out of the next fetch."""


def _unthrottled(_: TopicPartition, *, is_in_sync: bool) -> bool:  # noqa: ARG001 - as the port has it
    return False


Step: TypeAlias = Truncation | FetchFrom | AskEpoch
_REQUESTS: Final = (
    FetchPhase.ASKING_EPOCH,
    FetchPhase.FINDING_END,
    FetchPhase.FINDING_START,
    FetchPhase.FETCHING,
)


class ReplicaFetcher:
    """The partitions that one broker copies from another one."""

    def __init__(
        self,
        *,
        backoff_ms: float,
        detects_on_fetch: bool = True,
        is_throttled: IsThrottled = _unthrottled,
    ) -> None:
        self._backoff_ms = backoff_ms
        self._is_throttled = is_throttled
        self._detects_on_fetch = detects_on_fetch
        self._states = dict[TopicPartition, PartitionFetchState]()
        self._paused = set[TopicPartition]()
        #: The versions of the actions that are under way.
        self._applying = dict[TopicPartition, int]()
        self._versions = count()

    @property
    def states(self) -> Mapping[TopicPartition, PartitionFetchState]:
        """The states in the order of the next request."""
        return self._states

    # -- partitions

    def add(
        self,
        partition: TopicPartition,
        topic_id: Uuid,
        *,
        leader_epoch: int,
        log: FollowerLog,
        is_in_sync: bool = False,
    ) -> LogAction | None:
        """Follow in a leader epoch; the same epoch again only restarts a failed partition.

        An in-sync replica counts as one without a lag, so that a throttle does not delay it.
        An older epoch has no effect. While an action is under way, the epoch begins after it.
        """
        known = self._states.get(partition)
        if known is not None and leader_epoch < known.leader_epoch:
            return None
        if known is not None and leader_epoch == known.leader_epoch and known.error is None:
            self._states[partition] = replace(known, topic_id=topic_id)
            return None
        state = PartitionFetchState(
            version=next(self._versions),
            topic_id=topic_id,
            leader_epoch=LeaderEpoch(leader_epoch),
            phase=FetchPhase.FETCHING,
            fetch_offset=log.log_end,
            lag=0 if is_in_sync else None,
        )
        if partition in self._applying:
            self._set(partition, replace(state, phase=FetchPhase.APPLYING))
            return None
        return self._begin(partition, state, log)

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop following; responses have no effect, and an action that is under way may end."""
        for each in partitions:
            self._states.pop(each, None)
            self._paused.discard(each)

    def fail(self, partition: TopicPartition, error: KafkaError) -> None:
        """Stop at a log that cannot be used; an action that is under way has no further effect."""
        state = self._states.get(partition)
        if state is not None:
            self._applying.pop(partition, None)
            self._set(partition, _failed(state, error))

    def pause(self, partition: TopicPartition) -> None:
        """Leave the partition out of requests, for a quota or while its log moves.

        A response that is under way still counts.
        """
        self._paused.add(partition)

    def resume(self, partition: TopicPartition) -> None:
        """Continue where the partition was paused."""
        self._paused.discard(partition)

    # -- requests

    def next_request(self, *, now_ms: float) -> SentPartitions | None:
        """Return the request to send now; None if no partition is ready."""
        for phase in _REQUESTS:
            ready = {
                name: state
                for name, state in self._states.items()
                if name not in self._paused
                and state.is_ready(phase, now_ms=now_ms)
                and not (phase is FetchPhase.FETCHING and self._must_wait(name, state))
            }
            if ready:
                return SentPartitions(phase, ready)
        return None

    def wakes_at_ms(self, *, now_ms: float) -> float | None:
        """Return the end of the first delay, None if no partition is delayed.

        The rate of throttled partitions is looked at again after the backoff.
        """
        waiting = [each for each in self._states.items() if each[0] not in self._paused]
        ends = [state.delayed_until_ms for _, state in waiting]
        if any(
            state.is_ready(FetchPhase.FETCHING, now_ms=now_ms) and self._must_wait(name, state)
            for name, state in waiting
        ):
            ends.append(now_ms + self._backoff_ms)
        return min((end for end in ends if end > now_ms), default=None)

    def _must_wait(self, partition: TopicPartition, state: PartitionFetchState) -> bool:
        return self._is_throttled(partition, is_in_sync=state.is_in_sync)

    def on_disconnect(self, sent: SentPartitions, *, now_ms: float) -> None:
        """Delay the partitions of a request without a response."""
        for name, sent_state in sent.partitions.items():
            state = self._current(name, sent_state)
            if state is not None:
                self._set(name, self._delayed(state, now_ms))

    # -- responses

    def on_answer(
        self, sent: SentPartitions, answer: LeaderAnswer, *, log: FollowerLog, now_ms: float
    ) -> LogAction | None:
        """Return the action on the local log; None after an error, and for a late answer.

        An answer for a partition that the request does not have has no effect.
        """
        partition = answer.partition
        requested = sent.partitions.get(partition)
        state = None if requested is None else self._current(partition, requested)
        if state is None:
            return None
        if answer.error_code != _SUCCESS:
            self._set(partition, self._after_error(state, answer.error_code, now_ms=now_ms))
            return None
        if isinstance(answer, FetchedPartition):
            return self._on_fetched(state, answer, log)
        if isinstance(answer, OffsetAnswer):
            return self._on_offset(state, answer, log, now_ms)
        return self._take(partition, state, step_after_epoch_end(log, answer.end))

    def _after_error(
        self, state: PartitionFetchState, error_code: int, *, now_ms: float
    ) -> PartitionFetchState:
        if error_code == FencedLeaderEpochError.code:
            return _failed(state, error_from_code(error_code))
        if error_code == OffsetOutOfRangeError.code and state.phase is FetchPhase.FETCHING:
            return replace(state, phase=FetchPhase.FINDING_END)
        return self._delayed(state, now_ms)

    def _on_fetched(
        self, state: PartitionFetchState, fetched: FetchedPartition, log: FollowerLog
    ) -> LogAction | None:
        """A diverging epoch comes without records, and with bounds that do not count yet."""
        partition = fetched.partition
        if log.log_end != state.fetch_offset:
            words = f"{partition}: the log ends at {log.log_end}, not at {state.fetch_offset}"
            self._set(partition, _failed(state, UnknownServerError(words)))
            return None
        if fetched.diverging_epoch is not None:
            return self._take(partition, state, step_after_epoch_end(log, fetched.diverging_epoch))
        return self._apply(partition, state, ApplyFetched(fetched.high_watermark))

    def _on_offset(
        self, state: PartitionFetchState, answer: OffsetAnswer, log: FollowerLog, now_ms: float
    ) -> LogAction | None:
        """A fetch that was out of range without a cause that shows here is repeated later."""
        if state.phase is FetchPhase.FINDING_START:
            step = step_after_log_start(log, answer.offset)
            state = self._delayed(state, now_ms) if isinstance(step, FetchFrom) else state
            return self._take(answer.partition, state, step)
        truncation = step_after_log_end(log, answer.offset)
        if truncation is not None:
            return self._take(answer.partition, state, truncation)
        self._set(answer.partition, replace(state, phase=FetchPhase.FINDING_START))
        return None

    # -- actions

    def applied(self, action: LogAction, *, log: FollowerLog) -> LogAction | None:
        """Continue after an action, from the log as it is now."""
        name, step = action.partition, action.step
        state = self._end(action)
        if state is None:
            return None
        if state.version != action.state.version:
            return self._begin(name, state, log)
        if isinstance(step, TruncateTo) and not (step.is_final or self._detects_on_fetch):
            return self._take(name, state, AskEpoch(log.latest_epoch))
        if isinstance(step, ApplyFetched):
            state = replace(state, lag=max(0, step.leader_high_watermark - log.log_end))
            if log.log_end > state.fetch_offset:
                del self._states[name]
        return self._take(name, state, next_fetch(log))

    def rejected(
        self, action: LogAction, error: KafkaError, *, log: FollowerLog, now_ms: float
    ) -> LogAction | None:
        """Continue after an action that has failed, with a log that can be used.

        Damaged records are fetched again, and those for which there was no space. A later leader
        epoch begins.
        """
        name = action.partition
        state = self._end(action)
        if state is None:
            return None
        if state.version != action.state.version:
            return self._begin(name, state, log)
        if isinstance(action.step, ApplyFetched) and isinstance(error, _PASSING):
            return self._take(name, self._delayed(state, now_ms), next_fetch(log))
        self._set(name, _failed(state, error))
        return None

    def abandon(self, action: LogAction) -> None:
        """End an action whose partition has no usable log any more."""
        self._end(action)

    def _begin(
        self, partition: TopicPartition, state: PartitionFetchState, log: FollowerLog
    ) -> LogAction | None:
        """Begin a leader epoch from the log as it is now."""
        step = first_step(log, detects_on_fetch=self._detects_on_fetch)
        return self._take(partition, state, step)

    def _end(self, action: LogAction) -> PartitionFetchState | None:
        """End an action; return the present state, None if the partition is not followed."""
        if self._applying.get(action.partition) != action.state.version:
            return None
        del self._applying[action.partition]
        return self._states.get(action.partition)

    def _take(
        self, partition: TopicPartition, state: PartitionFetchState, step: Step
    ) -> LogAction | None:
        """Store the state that a step leads to; return the action that comes first, if any."""
        if isinstance(step, TruncateTo | StartAt):
            return self._apply(partition, state, step)
        if isinstance(step, AskEpoch):
            asked = step.leader_epoch
            self._set(partition, replace(state, phase=FetchPhase.ASKING_EPOCH, last_epoch=asked))
            return None
        fetching = replace(
            state,
            phase=FetchPhase.FETCHING,
            fetch_offset=step.offset,
            last_epoch=step.last_fetched_epoch,
        )
        self._set(partition, fetching)
        return None

    def _apply(
        self, partition: TopicPartition, state: PartitionFetchState, step: Truncation | ApplyFetched
    ) -> LogAction:
        applying = self._set(partition, replace(state, phase=FetchPhase.APPLYING))
        self._applying[partition] = applying.version
        return LogAction(partition, applying, step)

    # -- states

    def _current(
        self, partition: TopicPartition, state: PartitionFetchState
    ) -> PartitionFetchState | None:
        """Return the state as it is stored; None if it has changed. The topic id may have."""
        known = self._states.get(partition)
        return known if known is not None and known.version == state.version else None

    def _set(self, partition: TopicPartition, state: PartitionFetchState) -> PartitionFetchState:
        """Store a state with a new version, so that earlier requests and actions are outdated."""
        self._states[partition] = stored = replace(state, version=next(self._versions))
        return stored

    def _delayed(self, state: PartitionFetchState, now_ms: float) -> PartitionFetchState:
        return replace(state, delayed_until_ms=now_ms + self._backoff_ms)


def _failed(state: PartitionFetchState, error: KafkaError) -> PartitionFetchState:
    return replace(state, phase=FetchPhase.FAILED, error=error)
