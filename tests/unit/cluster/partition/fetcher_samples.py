"""Builders for the tests of `ReplicaFetcher`: partitions, requests, answers."""

from cordwood.cluster.partition.partition_fetch_state import FetchPhase
from cordwood.cluster.partition.replica_fetcher import (
    FetchedPartition,
    LeaderAnswer,
    LogAction,
    ReplicaFetcher,
    SentPartitions,
)
from cordwood.cluster.partition.truncation import FollowerLog
from cordwood.core.types import LeaderEpoch, Offset, PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import NO_UUID
from cordwood.storage.checkpoints.leader_epoch_cache import (
    EpochEnd,
    EpochEntry,
    LeaderEpochCache,
)

A, B, C = (TopicPartition(TopicName("orders"), PartitionId(number)) for number in range(3))
BACKOFF_MS = 1_000
OUT_OF_RANGE, FENCED = 1, 74


def log(*epochs: tuple[int, int], end: int = 10, high_watermark: int = 8) -> FollowerLog:
    cache = LeaderEpochCache(
        EpochEntry(LeaderEpoch(epoch), Offset(start)) for epoch, start in epochs or ((3, 0),)
    )
    return FollowerLog(cache, 0, end, high_watermark)


LOG = log()
WITHOUT_EPOCHS = FollowerLog(LeaderEpochCache(), 0, 10, 8)


def fetcher(*partitions: TopicPartition, detects: bool = True) -> ReplicaFetcher:
    made = ReplicaFetcher(backoff_ms=BACKOFF_MS, detects_on_fetch=detects)
    for each in partitions or (A,):
        assert made.add(each, NO_UUID, leader_epoch=4, log=LOG) is None
    return made


def request(of: ReplicaFetcher, *, now_ms: float = 0) -> SentPartitions:
    sent = of.next_request(now_ms=now_ms)
    assert sent is not None
    return sent


def answer(
    of: ReplicaFetcher,
    given: LeaderAnswer,
    *,
    sent: SentPartitions | None = None,
    local: FollowerLog = LOG,
) -> LogAction | None:
    return of.on_answer(sent or request(of), given, log=local, now_ms=0)


def fetched(
    of: TopicPartition = A,
    *,
    error: int = 0,
    high_watermark: int = 9,
    diverging: tuple[int, int] | None = None,
) -> FetchedPartition:
    end = EpochEnd(LeaderEpoch(diverging[0]), Offset(diverging[1])) if diverging else None
    return FetchedPartition(of, error, high_watermark, end)


def phase(of: ReplicaFetcher, partition: TopicPartition = A) -> FetchPhase:
    return of.states[partition].phase


def act(of: ReplicaFetcher, given: LeaderAnswer, *, local: FollowerLog = LOG) -> LogAction:
    action = answer(of, given, local=local)
    assert action is not None
    return action
