"""Replicas of one partition in memory, which copy each other by `ReplicaFetcher`.

The rules of truncation can be replaced by broken ones, to show that a scenario needs the real one:

    ON_FETCH          epochs; the leader detects divergence on fetch
    BY_QUESTION       epochs; the follower asks for the end of its epoch first (KIP-101, KIP-279)
    END_ALONE         epochs without those of the answers: KIP-101 alone
    HIGH_WATERMARK    no epochs: a follower truncates to its high watermark
"""

from enum import Enum
from typing import Final, NamedTuple

from cordwood.cluster.partition.epoch_lookup import (
    LeaderLog,
    find_divergence,
    last_offset_for_leader_epoch,
)
from cordwood.cluster.partition.partition_fetch_state import FetchPhase, PartitionFetchState
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
from cordwood.cluster.partition.truncation import FollowerLog, TruncateTo, bounds_after_fetch
from cordwood.core.errors import OffsetOutOfRangeError
from cordwood.core.types import (
    NO_LEADER_EPOCH,
    LeaderEpoch,
    Offset,
    PartitionId,
    TopicName,
    TopicPartition,
)
from cordwood.core.uuids import NO_UUID
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEnd, LeaderEpochCache

ORDERS: Final = TopicPartition(TopicName("orders"), PartitionId(0))
RECORDS_PER_FETCH: Final = 10


class TruncationRule(Enum):
    """The rules of truncation; the module's docstring explains them."""

    ON_FETCH = "on fetch"
    BY_QUESTION = "by question"
    END_ALONE = "end alone"
    HIGH_WATERMARK = "high watermark"


class Record(NamedTuple):
    """A record and the leader epoch in which it was appended."""

    epoch: int
    value: str


class MemoryReplica:
    """The log of one broker: records from `log_start` on, epochs, and a high watermark."""

    def __init__(self, rule: TruncationRule = TruncationRule.ON_FETCH) -> None:
        self.rule = rule
        self.records = list[Record]()
        self.log_start = 0
        self.high_watermark = 0
        self.leader_epoch = NO_LEADER_EPOCH
        self.epochs = LeaderEpochCache()

    def __repr__(self) -> str:
        return f"{self.values} from {self.log_start}, high watermark {self.high_watermark}"

    @property
    def log_end(self) -> int:
        return self.log_start + len(self.records)

    @property
    def values(self) -> list[str]:
        return [each.value for each in self.records]

    # -- the log

    def lead(self, epoch: int) -> None:
        """Begin to lead: the epoch starts at the log end, with or without records."""
        self.leader_epoch = LeaderEpoch(epoch)
        self.epochs.assign(self.leader_epoch, Offset(self.log_end))

    def append(self, *values: str) -> None:
        """Append as the leader."""
        for each in values:
            self.copy(Record(self.leader_epoch, each))

    def copy(self, record: Record) -> None:
        """Append a record of the leader."""
        self.epochs.assign(LeaderEpoch(record.epoch), Offset(self.log_end))
        self.records.append(record)

    def truncate(self, offset: int) -> None:
        """Truncate as `storage.log.truncation` does."""
        if offset < self.log_start:
            self.start_at(offset)
            return
        del self.records[offset - self.log_start :]
        self.epochs.truncate_from_end(Offset(self.log_end))
        self.high_watermark = min(self.high_watermark, self.log_end)

    def start_at(self, offset: int) -> None:
        """Remove all records and continue at the offset."""
        self.records.clear()
        self.epochs.clear()
        self.log_start = self.high_watermark = offset

    def delete_below(self, offset: int) -> None:
        """Raise the log start."""
        del self.records[: offset - self.log_start]
        self.log_start = offset
        self.epochs.truncate_from_start(Offset(offset))

    # -- the two sides

    def as_follower(self) -> FollowerLog:
        """Return the log as its follower sees it; without epochs it has none."""
        has_epochs = self.rule is not TruncationRule.HIGH_WATERMARK
        epochs = self.epochs if has_epochs else LeaderEpochCache()
        return FollowerLog(epochs, self.log_start, self.log_end, self.high_watermark)

    def as_leader(self) -> LeaderLog:
        """Return the log as its leader answers about it."""
        return LeaderLog(ORDERS, self.epochs, self.leader_epoch, self.log_start, self.log_end)

    def perform(self, action: LogAction, records: list[Record], leader_start: int) -> None:
        """Change the log as an action states."""
        step = action.step
        if isinstance(step, ApplyFetched):
            for each in records:
                self.copy(each)
            bounds = bounds_after_fetch(
                self.as_follower(),
                leader_high_watermark=step.leader_high_watermark,
                leader_start=leader_start,
            )
            self.high_watermark = bounds.high_watermark
            if bounds.log_start > self.log_start:
                self.delete_below(bounds.log_start)
        elif isinstance(step, TruncateTo):
            self.truncate(step.offset)
        else:
            self.start_at(step.offset)


class Fetched(NamedTuple):
    """A leader's answer, the records that came with it, and its log start."""

    answer: LeaderAnswer
    records: list[Record]
    leader_start: int


class FollowerProcess:
    """A broker that follows: its log, and its fetcher of one leader."""

    def __init__(self, log: MemoryReplica, epoch: int) -> None:
        self.log = log
        asks = log.rule in {TruncationRule.BY_QUESTION, TruncationRule.END_ALONE}
        self.fetcher = ReplicaFetcher(backoff_ms=1_000, detects_on_fetch=not asks)
        self.follow(epoch)

    def follow(self, epoch: int) -> None:
        """Follow in a leader epoch."""
        log = self.log.as_follower()
        self._perform(self.fetcher.add(ORDERS, NO_UUID, leader_epoch=epoch, log=log))

    @property
    def state(self) -> PartitionFetchState:
        return self.fetcher.states[ORDERS]

    def request(self) -> SentPartitions:
        """Return the next request."""
        sent = self.fetcher.next_request(now_ms=0)
        assert sent is not None, f"nothing to send in {self.state}"
        return sent

    def receive(self, sent: SentPartitions, fetched: Fetched) -> None:
        """Handle the response to a request."""
        answer = fetched.answer
        if self.log.rule is TruncationRule.END_ALONE and isinstance(answer, EpochEndAnswer):
            answer = answer._replace(end=EpochEnd(NO_LEADER_EPOCH, answer.end.end_offset))
        action = self.fetcher.on_answer(sent, answer, log=self.log.as_follower(), now_ms=0)
        self._perform(action, fetched)

    def round(self, leader: MemoryReplica) -> int | None:
        """Send a request and receive its response; return the offset of a fetch."""
        sent = self.request()
        self.receive(sent, answer_of(leader, sent, rule=self.log.rule))
        return fetch_offset_of(sent)

    def catch_up(self, leader: MemoryReplica) -> None:
        """Copy the leader's log until nothing changes."""
        for _ in range(2 * (leader.log_end + self.log.log_end) + 10):
            self.round(leader)
        assert self.log.log_end == leader.log_end

    def _perform(self, action: LogAction | None, fetched: Fetched | None = None) -> None:
        if action is None:
            return
        records, leader_start = (fetched.records, fetched.leader_start) if fetched else ([], 0)
        self.log.perform(action, records, leader_start)
        self._perform(self.fetcher.applied(action, log=self.log.as_follower()))


def fetch_offset_of(sent: SentPartitions) -> int | None:
    """Return the fetch offset of a request, None if it is a question."""
    return sent.partitions[ORDERS].fetch_offset if sent.phase is FetchPhase.FETCHING else None


def answer_of(
    leader: MemoryReplica, sent: SentPartitions, *, rule: TruncationRule = TruncationRule.ON_FETCH
) -> Fetched:
    """Return the leader's response to a request, for one partition."""
    wanted, log = sent.partitions[ORDERS], leader.as_leader()
    answer: LeaderAnswer
    if sent.phase is FetchPhase.ASKING_EPOCH:
        end = last_offset_for_leader_epoch(log, wanted.last_epoch)
        answer = EpochEndAnswer(ORDERS, 0, end)
    elif sent.phase is FetchPhase.FINDING_END:
        answer = OffsetAnswer(ORDERS, 0, leader.log_end)
    elif sent.phase is FetchPhase.FINDING_START:
        answer = OffsetAnswer(ORDERS, 0, leader.log_start)
    else:
        detects = rule is TruncationRule.ON_FETCH
        return _fetched(leader, wanted, wanted.last_epoch if detects else NO_LEADER_EPOCH)
    return Fetched(answer, [], leader.log_start)


def _fetched(
    leader: MemoryReplica, wanted: PartitionFetchState, last_epoch: LeaderEpoch
) -> Fetched:
    offset = wanted.fetch_offset
    records = leader.records[offset - leader.log_start :][:RECORDS_PER_FETCH]
    out_of_range = Fetched(
        FetchedPartition(ORDERS, OffsetOutOfRangeError.code, -1), [], leader.log_start
    )
    if not leader.log_start <= offset <= leader.log_end and last_epoch == NO_LEADER_EPOCH:
        return out_of_range
    try:
        diverging = find_divergence(leader.as_leader(), last_epoch, offset=offset)
    except OffsetOutOfRangeError:
        return out_of_range
    answer = FetchedPartition(ORDERS, 0, leader.high_watermark, diverging)
    return Fetched(answer, [] if diverging else records, leader.log_start)
