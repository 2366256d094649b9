"""Commands of the family `fetcher`: a follower copies partitions from one leader.

The leader is the script itself. The outcome of a command is the request or the action that follows,
and the state of the partition. An action waits for `apply` or `reject`. A log is written as its
records by epoch: `0:3,2:1` are three records of epoch 0 and one of epoch 2.
"""

from typing import Final

from cordwood.cluster.partition.partition_fetch_state import FetchPhase
from cordwood.cluster.partition.replica_fetcher import (
    ApplyFetched,
    EpochEndAnswer,
    FetchedPartition,
    LeaderAnswer,
    LogAction,
    OffsetAnswer,
    ReplicaFetcher,
    SentPartitions,
)
from cordwood.cluster.partition.truncation import TruncateTo
from cordwood.core.errors import ERRORS_BY_CODE, error_from_code
from cordwood.core.types import LeaderEpoch, Offset, PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import NO_UUID
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEnd
from tests.scripts.transcript import ScriptError, error_name
from tests.unit.cluster.partition.memory_replicas import MemoryReplica, Record

_BACKOFF_MS: Final = 1_000
_CODES: Final = {
    error_name(error("")).split(" ")[0]: code for code, error in ERRORS_BY_CODE.items()
}
_QUESTIONS: Final = {
    FetchPhase.ASKING_EPOCH: "end of epoch",
    FetchPhase.FINDING_END: "log end",
    FetchPhase.FINDING_START: "log start",
}


class FetcherCommands:
    """The fetcher, the logs of its partitions, and the request and actions that wait."""

    def __init__(self) -> None:
        self._fetcher = ReplicaFetcher(backoff_ms=_BACKOFF_MS)
        self._logs = dict[TopicPartition, MemoryReplica]()
        self._sent: SentPartitions | None = None
        self._actions = dict[TopicPartition, tuple[LogAction, list[Record], int]]()
        self._now_ms = 0

    # -- partitions

    def leader(self, *, detects_on_fetch: bool) -> None:
        """Follow another leader; one before Kafka 2.7 does not detect divergence on fetch."""
        self._fetcher = ReplicaFetcher(backoff_ms=_BACKOFF_MS, detects_on_fetch=detects_on_fetch)

    def log(self, partition: str, *, records: str, high_watermark: int = 0, start: int = 0) -> None:
        """Set the local log of a partition."""
        made = MemoryReplica()
        made.log_start = start
        for part in records.split(",") if records else ():
            epoch, _, count = part.partition(":")
            for _ in range(int(count)):
                made.copy(Record(int(epoch), "r"))
        made.high_watermark = max(high_watermark, start)
        self._logs[_name(partition)] = made

    def add(self, partition: str, *, epoch: int) -> str:
        """Follow in a leader epoch."""
        name = _name(partition)
        action = self._fetcher.add(
            name, NO_UUID, leader_epoch=epoch, log=self._logs[name].as_follower()
        )
        return self._outcome(name, action)

    def remove(self, partition: str) -> None:
        """Stop following."""
        self._fetcher.remove([_name(partition)])

    def pause(self, partition: str) -> None:
        """Leave a partition out of requests."""
        self._fetcher.pause(_name(partition))

    def resume(self, partition: str) -> None:
        """Use a paused partition again."""
        self._fetcher.resume(_name(partition))

    # -- requests and responses

    def time(self, time: int) -> None:
        """Advance the clock."""
        self._now_ms += time

    def request(self) -> str:
        """Send the next request."""
        sent = self._fetcher.next_request(now_ms=self._now_ms)
        if sent is None:
            wakes_at = self._fetcher.wakes_at_ms(now_ms=self._now_ms)
            return "nothing to send" + (f" before {wakes_at:.0f} ms" if wakes_at else "")
        self._sent = sent
        return "\n".join(
            f"{name}: {_request_text(sent.phase, state.last_epoch, state.fetch_offset)}, "
            f"leader epoch {state.leader_epoch}"
            for name, state in sent.partitions.items()
        )

    def disconnect(self) -> str:
        """Lose the response to the request."""
        sent = self._last()
        self._fetcher.on_disconnect(sent, now_ms=self._now_ms)
        return "\n".join(map(self._state_text, sent.partitions))

    def fetched(
        self,
        partition: str,
        *,
        high_watermark: int = 0,
        records: str = "",
        start: int = 0,
        diverges: str = "",
    ) -> str:
        """Receive a fetch response: records, or an epoch and its end such as `2@7`."""
        epoch, _, end = diverges.partition("@")
        diverging = EpochEnd(LeaderEpoch(int(epoch)), Offset(int(end))) if diverges else None
        copied = [
            Record(int(part.split(":")[0]), "r")
            for part in records.split(",")
            if part
            for _ in range(int(part.split(":")[1]))
        ]
        answer = FetchedPartition(_name(partition), 0, high_watermark, diverging)
        return self._answer(answer, copied, start)

    def end(self, partition: str, *, epoch: int, offset: int) -> str:
        """Receive the end offset of an epoch."""
        end = EpochEnd(LeaderEpoch(epoch), Offset(offset))
        return self._answer(EpochEndAnswer(_name(partition), 0, end))

    def offset(self, partition: str, offset: int) -> str:
        """Receive the leader's log end or log start."""
        return self._answer(OffsetAnswer(_name(partition), 0, offset))

    def error(self, partition: str, error: str) -> str:
        """Receive an error of the partition."""
        name, code = _name(partition), _code(error)
        if self._last().phase is FetchPhase.FETCHING:
            return self._answer(FetchedPartition(name, code, -1))
        return self._answer(OffsetAnswer(name, code, -1))

    # -- actions

    def apply(self, partition: str) -> str:
        """Perform the action that waits."""
        name = _name(partition)
        action, records, leader_start = self._actions.pop(name)
        log = self._logs[name]
        log.perform(action, records, leader_start)
        after = self._fetcher.applied(action, log=log.as_follower())
        bounds = f"log {log.log_start}..{log.log_end}, high watermark {log.high_watermark}"
        return f"{bounds}\n{self._outcome(name, after)}"

    def reject(self, partition: str, error: str) -> str:
        """Fail the action that waits."""
        name = _name(partition)
        action, _, _ = self._actions.pop(name)
        log = self._logs[name].as_follower()
        failure = error_from_code(_code(error))
        return self._outcome(
            name, self._fetcher.rejected(action, failure, log=log, now_ms=self._now_ms)
        )

    def fail(self, partition: str, error: str) -> str:
        """Lose the log; an action that waits has no further effect."""
        name = _name(partition)
        self._actions.pop(name, None)
        self._fetcher.fail(name, error_from_code(_code(error)))
        return self._state_text(name)

    # -- outcomes

    def _last(self) -> SentPartitions:
        if self._sent is None:
            raise ScriptError("no request has been sent")
        return self._sent

    def _answer(
        self, answer: LeaderAnswer, records: list[Record] | None = None, start: int = 0
    ) -> str:
        name, sent = answer.partition, self._last()
        before = self._fetcher.states.get(name)
        action = self._fetcher.on_answer(
            sent, answer, log=self._logs[name].as_follower(), now_ms=self._now_ms
        )
        if self._fetcher.states.get(name) is before:
            return "discarded"
        return self._outcome(name, action, records, start)

    def _outcome(
        self,
        name: TopicPartition,
        action: LogAction | None,
        records: list[Record] | None = None,
        start: int = 0,
    ) -> str:
        if action is None:
            return self._state_text(name)
        self._actions[name] = (action, records or [], start)
        step = action.step
        if isinstance(step, ApplyFetched):
            return f"append {len(records or [])} records"
        if isinstance(step, TruncateTo):
            return f"truncate to {step.offset}" + ("" if step.is_final else ", not final")
        return f"start again at {step.offset}"

    def _state_text(self, name: TopicPartition) -> str:
        state = self._fetcher.states[name]
        words = [f"{name} {state.phase.value} at {state.fetch_offset}"]
        if state.error is not None:
            words.append(error_name(state.error))
        if state.delayed_until_ms > self._now_ms:
            words.append(f"delayed until {state.delayed_until_ms:.0f} ms")
        if state.lag is not None:
            words.append(f"lag {state.lag}")
        return ", ".join(words)


def _request_text(phase: FetchPhase, last_epoch: int, offset: int) -> str:
    if phase is FetchPhase.FETCHING:
        return f"fetch from {offset} after epoch {last_epoch}"
    question = _QUESTIONS[phase]
    return f"{question} {last_epoch}" if phase is FetchPhase.ASKING_EPOCH else question


def _name(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return TopicPartition(TopicName(topic), PartitionId(int(number)))


def _code(name: str) -> int:
    if name not in _CODES:
        raise ScriptError(f"{name} is not the name of an error")
    return _CODES[name]
