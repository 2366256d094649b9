"""Tests of incremental fetch sessions."""

import pytest

from cordwood.broker.partitions.fetch_sessions import (
    EVICTION_MS,
    FetchContext,
    FetchSessionCache,
    Key,
    KeyedData,
)
from cordwood.broker.partitions.requested_partitions import partitions_of
from cordwood.core.errors import (
    FetchSessionIdNotFoundError,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpochError,
)
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.fetch import (
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.testing.seeded_random import SeededRandom
from tests.unit.broker.broker_samples import loop_turns, run

NAMES, IDS = 12, 13
LAST_EPOCH = 2**31 - 1


def request(*partitions: int, session: int = 0, epoch: int = 0, offset: int = 0) -> FetchRequest:
    asked = [
        FetchPartition(partition=each, fetch_offset=offset, partition_max_bytes=100)
        for each in partitions
    ]
    topics = [FetchTopic(topic="t", topic_id=Uuid(b"i" * 16), partitions=asked)] if asked else []
    return FetchRequest(
        max_wait_ms=0, min_bytes=0, session_id=session, session_epoch=epoch, topics=topics
    )


def answer(
    key: Key, *, records: bytes = b"", high_watermark: int = 5, log_start: int = 0, error: int = 0
) -> KeyedData:
    return key, PartitionData(
        partition_index=key[1],
        error_code=error,
        high_watermark=high_watermark,
        log_start_offset=log_start,
        aborted_transactions=None,
        records=records,
    )


def new_context(
    sessions: FetchSessionCache, asked: FetchRequest, *, version: int = NAMES, now_ms: float = 0
) -> FetchContext:
    partitions = run(partitions_of(asked, version, turns=loop_turns()))
    return sessions.new_context(asked, partitions, version=version, now_ms=now_ms)


class SessionHarness:
    """A session cache with one session of partitions 0, 1 and 2."""

    def __init__(self, slots: int = 2) -> None:
        self.sessions = FetchSessionCache(SeededRandom(1), slots)
        self.id = self.open(0, 1, 2)

    def context(
        self, asked: FetchRequest, *, version: int = NAMES, now_ms: float = 0
    ) -> FetchContext:
        return new_context(self.sessions, asked, version=version, now_ms=now_ms)

    def open(self, *partitions: int, now_ms: float = 0) -> int:
        context = self.context(request(*partitions))
        return self.end(context, now_ms=now_ms)[0]

    def end(
        self, context: FetchContext, *answers: KeyedData, now_ms: float = 0
    ) -> tuple[int, list[tuple[int, int]]]:
        given = list(answers) or [answer(each.key) for each in context.requested]
        session_id, told = self.sessions.finish(context, given, now_ms=now_ms)
        return session_id, [(key[1], data.error_code) for key, data in told]

    def next(
        self, epoch: int, *partitions: int, offset: int = 0, now_ms: float = 0
    ) -> FetchContext:
        asked = request(*partitions, session=self.id, epoch=epoch, offset=offset)
        return self.context(asked, now_ms=now_ms)


def numbers(context: FetchContext) -> list[int]:
    return [each.key[1] for each in context.requested]


def test_request_without_a_session_is_read_and_answered_as_it_is() -> None:
    harness = SessionHarness()

    context = harness.context(request(0, epoch=-1))

    assert numbers(context) == [0]
    assert harness.end(context) == (0, [(0, 0)])


def test_session_reads_the_partitions_of_earlier_requests() -> None:
    harness = SessionHarness()

    assert harness.id > 0
    assert numbers(harness.next(1)) == [0, 1, 2]


def test_quirk_17_forgotten_partitions_are_no_longer_read() -> None:
    harness = SessionHarness()
    asked = request(session=harness.id, epoch=1)
    asked.forgotten_topics.append(ForgottenTopic(topic="t", partitions=[0, 2, 7]))

    assert numbers(harness.context(asked)) == [1]


def test_quirk_17_unchanged_partitions_are_left_out_of_the_response() -> None:
    harness = SessionHarness()
    context = harness.next(1)

    told = harness.end(
        context,
        answer(("t", 0)),
        answer(("t", 1), high_watermark=6),
        answer(("t", 2), log_start=1),
    )

    assert told == (harness.id, [(1, 0), (2, 0)])


def test_partition_with_records_or_a_divergence_is_sent() -> None:
    harness = SessionHarness()
    diverging = answer(("t", 1))
    diverging[1].diverging_epoch = EpochEndOffset(epoch=1, end_offset=2)

    told = harness.end(
        harness.next(1), answer(("t", 0), records=b"records"), diverging, answer(("t", 2))
    )

    assert told == (harness.id, [(0, 0), (1, 0)])


def test_partition_with_an_error_is_sent_each_time_and_once_after_it() -> None:
    harness = SessionHarness()
    answers = [[answer(("t", 0), error=6)], [answer(("t", 0), error=6)], [answer(("t", 0))]]

    told = [harness.end(harness.next(epoch), *given) for epoch, given in enumerate(answers, 1)]

    assert told == [(harness.id, [(0, 6)]), (harness.id, [(0, 6)]), (harness.id, [(0, 0)])]


def test_partition_that_had_records_is_the_last_to_be_read_next() -> None:
    harness = SessionHarness()

    harness.end(harness.next(1), answer(("t", 0), records=b"records"), answer(("t", 1)))

    assert numbers(harness.next(2)) == [1, 2, 0]


def test_repeated_partition_keeps_its_position_and_new_ones_are_last() -> None:
    harness = SessionHarness()

    context = harness.next(1, 3, 0, offset=9)

    assert numbers(context) == [0, 1, 2, 3]
    assert [each.wanted.fetch_offset for each in context.requested] == [9, 0, 0, 9]


def test_session_that_is_not_harness_is_not_found() -> None:
    harness = SessionHarness()

    with pytest.raises(FetchSessionIdNotFoundError):
        harness.context(request(session=harness.id + 1, epoch=1))


@pytest.mark.parametrize("epoch", (2, LAST_EPOCH))
def test_epoch_out_of_order_is_rejected(epoch: int) -> None:
    harness = SessionHarness()

    with pytest.raises(InvalidFetchSessionEpochError, match=f"is at epoch 1, not {epoch}"):
        harness.next(epoch)


def test_epoch_wraps_around_to_1() -> None:
    harness = SessionHarness()
    next(iter(harness.sessions._sessions.values())).epoch = LAST_EPOCH  # noqa: SLF001 - 2^31 requests take too long

    harness.next(LAST_EPOCH)

    assert numbers(harness.next(1)) == [0, 1, 2]


def test_session_of_topic_names_rejects_topic_ids() -> None:
    harness = SessionHarness()

    with pytest.raises(FetchSessionTopicIdError, match="names topics by name"):
        harness.context(request(session=harness.id, epoch=1), version=IDS)


def test_session_may_be_of_ids() -> None:
    harness = SessionHarness()
    context = harness.context(request(4), version=IDS)
    harness.id = harness.end(context)[0]

    again = harness.context(request(session=harness.id, epoch=1), version=IDS)

    assert [each.key for each in again.requested] == [(b"i" * 16, 4)]


@pytest.mark.parametrize("epoch", (-1, 0))
def test_session_ends_at_epoch_minus_1_and_at_a_full_request(epoch: int) -> None:
    harness = SessionHarness()

    harness.context(request(0, session=harness.id, epoch=epoch))

    with pytest.raises(FetchSessionIdNotFoundError):
        harness.next(1)


def test_session_without_partitions_ends() -> None:
    harness = SessionHarness()
    asked = request(session=harness.id, epoch=1)
    asked.forgotten_topics.append(ForgottenTopic(topic="t", partitions=[0, 1, 2]))

    assert harness.end(harness.context(asked)) == (0, [])
    assert len(harness.sessions) == 0


def test_response_superseded_by_a_later_request_is_rejected() -> None:
    harness = SessionHarness()
    slow = harness.next(1)
    harness.next(2)

    with pytest.raises(InvalidFetchSessionEpochError, match="advanced to epoch 3"):
        harness.end(slow)


def test_no_session_is_created_when_all_slots_are_used() -> None:
    harness = SessionHarness(slots=1)

    assert harness.open(0, 1, 2, 3) == 0
    assert SessionHarness(slots=0).id == 0


def test_idle_session_is_evicted() -> None:
    harness = SessionHarness(slots=1)

    assert harness.open(0, now_ms=EVICTION_MS) == 0
    assert harness.open(0, now_ms=EVICTION_MS + 1) > 0
    assert len(harness.sessions) == 1


def test_session_is_evicted_only_for_a_larger_one() -> None:
    harness = SessionHarness(slots=1)
    now_ms = EVICTION_MS + 1
    harness.next(1, now_ms=now_ms)

    assert harness.open(0, 1, 2, now_ms=now_ms) == 0
    assert harness.open(0, 1, 2, 3, now_ms=now_ms) > 0
    assert len(harness.sessions) == 1


class ReaderSample:
    """A reader that is idle while its partition has the bounds 5 and 0."""

    def __init__(self) -> None:
        self.index = 0
        self.is_released = False

    def is_idle(self, isolation: FetchIsolation, *, high_watermark: int, log_start: int) -> bool:
        return isolation is FetchIsolation.HIGH_WATERMARK and (high_watermark, log_start) == (5, 0)

    def release(self) -> None:
        self.is_released = True


def kept(harness: SessionHarness) -> tuple[FetchContext, list[ReaderSample]]:
    """Return a fetch that leaves a reader in each of the three partitions, and the readers."""
    context = harness.next(1)
    harness.end(context)
    readers = [ReaderSample() for _ in context.requested]
    harness.sessions.keep_readers(context, zip(context.requested, readers, strict=True))
    return context, readers


def idle(context: FetchContext) -> list[bool]:
    isolation = FetchIsolation.HIGH_WATERMARK
    return [each.idle_reader(isolation) is not None for each in context.requested]


def released(readers: list[ReaderSample]) -> list[bool]:
    return [each.is_released for each in readers]


def test_reader_is_idle_in_the_next_fetch_until_its_partition_is_wanted_from_elsewhere() -> None:
    harness = SessionHarness()
    _, readers = kept(harness)

    assert idle(harness.next(2)) == [True, True, True]
    assert idle(harness.next(3, 1, offset=7)) == [True, False, True]
    assert released(readers) == [False, True, False]


def test_reader_is_not_idle_when_other_bounds_or_an_error_were_sent_last() -> None:
    harness = SessionHarness()
    kept(harness)
    answers = answer(("t", 0), high_watermark=6), answer(("t", 1), error=6), answer(("t", 2))

    harness.end(harness.next(2), *answers)

    assert idle(harness.next(3)) == [False, False, True]


def test_partition_that_is_forgotten_releases_its_reader() -> None:
    harness = SessionHarness()
    _, readers = kept(harness)
    asked = request(session=harness.id, epoch=2)
    asked.forgotten_topics.append(ForgottenTopic(topic="t", partitions=[1]))

    harness.context(asked)

    assert released(readers) == [False, True, False]


def test_readers_are_released_with_their_session() -> None:
    closed, evicted = SessionHarness(), SessionHarness(slots=1)
    readers = [kept(each)[1] for each in (closed, evicted)]

    closed.context(request(session=closed.id, epoch=-1))
    evicted.open(0, now_ms=EVICTION_MS + 1)

    assert [released(each) for each in readers] == [[True] * 3] * 2


def test_readers_that_are_not_kept_are_released() -> None:
    """Their session is over, or a later fetch has read the partitions again."""
    ended, overtaken = SessionHarness(), SessionHarness()
    contexts = [each.next(1) for each in (ended, overtaken)]
    ended.context(request(session=ended.id, epoch=-1))
    overtaken.next(2)

    readers = [ReaderSample(), ReaderSample()]
    for harness, context, reader in zip((ended, overtaken), contexts, readers, strict=True):
        harness.sessions.keep_readers(context, [(context.requested[0], reader)])

    assert released(readers) == [True, True]


def test_later_reader_replaces_the_earlier_one() -> None:
    harness = SessionHarness()
    context, (first, *_) = kept(harness)

    harness.sessions.keep_readers(context, [(context.requested[0], ReaderSample())])

    assert first.is_released


class RepeatingRandom:
    """A random source whose second number repeats the first one."""

    def __init__(self) -> None:
        self._numbers = iter((7, 7, 8))

    def below(self, limit: int) -> int:
        return next(self._numbers)

    def fraction(self) -> float:
        return 0

    def token(self, size: int) -> bytes:
        return bytes(size)


def test_sessions_never_share_an_id() -> None:
    sessions = FetchSessionCache(RepeatingRandom(), 2)

    contexts = [new_context(sessions, request(0)) for _ in range(2)]

    assert [sessions.finish(context, [], now_ms=0)[0] for context in contexts] == [8, 9]
