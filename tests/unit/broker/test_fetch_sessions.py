"""Fetch sessions say only what is new, in requests and in answers, and give way to others."""

import pytest

from cordwood.broker.fetch_sessions import EVICTION_MS, Answer, FetchSessions, Key, Turn
from cordwood.core.errors import (
    FetchSessionIdNotFoundError,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpochError,
)
from cordwood.core.ids import Uuid
from cordwood.protocol.messages.fetch import (
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from cordwood.testing.random import SeededRandom

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
) -> Answer:
    return key, PartitionData(
        partition_index=key[1],
        error_code=error,
        high_watermark=high_watermark,
        log_start_offset=log_start,
        aborted_transactions=None,
        records=records,
    )


class Kept:
    """The sessions of a broker, and one that has begun with partitions 0, 1 and 2."""

    def __init__(self, slots: int = 2) -> None:
        self.sessions = FetchSessions(SeededRandom(1), slots)
        self.id = self.open(0, 1, 2)

    def turn(self, asked: FetchRequest, *, version: int = NAMES, now_ms: float = 0) -> Turn:
        return self.sessions.begin(asked, version, now_ms=now_ms)

    def open(self, *partitions: int, now_ms: float = 0) -> int:
        turn = self.turn(request(*partitions))
        return self.end(turn, now_ms=now_ms)[0]

    def end(
        self, turn: Turn, *answers: Answer, now_ms: float = 0
    ) -> tuple[int, list[tuple[int, int]]]:
        given = list(answers) or [answer(key) for key, _ in turn.asked]
        session_id, told = self.sessions.end(turn, given, now_ms=now_ms)
        return session_id, [(key[1], data.error_code) for key, data in told]

    def next(self, epoch: int, *partitions: int, offset: int = 0, now_ms: float = 0) -> Turn:
        asked = request(*partitions, session=self.id, epoch=epoch, offset=offset)
        return self.turn(asked, now_ms=now_ms)


def numbers(turn: Turn) -> list[int]:
    return [key[1] for key, _ in turn.asked]


def test_request_without_a_session_is_read_and_answered_as_it_is() -> None:
    kept = Kept()

    turn = kept.turn(request(0, epoch=-1))

    assert numbers(turn) == [0]
    assert kept.end(turn) == (0, [(0, 0)])


def test_session_reads_what_was_asked_for_before() -> None:
    kept = Kept()

    assert kept.id > 0
    assert numbers(kept.next(1)) == [0, 1, 2]


def test_quirk_17_partitions_that_are_forgotten_are_read_no_more() -> None:
    kept = Kept()
    asked = request(session=kept.id, epoch=1)
    asked.forgotten_topics.append(ForgottenTopic(topic="t", partitions=[0, 2, 7]))

    assert numbers(kept.turn(asked)) == [1]


def test_quirk_17_partitions_without_news_are_left_out_of_the_answer() -> None:
    kept = Kept()
    turn = kept.next(1)

    told = kept.end(
        turn,
        answer(("t", 0)),
        answer(("t", 1), high_watermark=6),
        answer(("t", 2), log_start=1),
    )

    assert told == (kept.id, [(1, 0), (2, 0)])


def test_partition_with_records_or_with_another_log_is_told() -> None:
    kept = Kept()
    diverging = answer(("t", 1))
    diverging[1].diverging_epoch = EpochEndOffset(epoch=1, end_offset=2)

    told = kept.end(kept.next(1), answer(("t", 0), records=b"records"), diverging, answer(("t", 2)))

    assert told == (kept.id, [(0, 0), (1, 0)])


def test_partition_with_an_error_is_told_each_time_and_once_it_has_gone() -> None:
    kept = Kept()
    answers = [[answer(("t", 0), error=6)], [answer(("t", 0), error=6)], [answer(("t", 0))]]

    told = [kept.end(kept.next(epoch), *given) for epoch, given in enumerate(answers, 1)]

    assert told == [(kept.id, [(0, 6)]), (kept.id, [(0, 6)]), (kept.id, [(0, 0)])]


def test_partition_that_had_records_is_the_last_to_be_read_next() -> None:
    kept = Kept()

    kept.end(kept.next(1), answer(("t", 0), records=b"records"), answer(("t", 1)))

    assert numbers(kept.next(2)) == [1, 2, 0]


def test_partition_that_is_asked_for_anew_keeps_its_place_and_new_ones_come_last() -> None:
    kept = Kept()

    turn = kept.next(1, 3, 0, offset=9)

    assert numbers(turn) == [0, 1, 2, 3]
    assert [asked.fetch_offset for _, asked in turn.asked] == [9, 0, 0, 9]


def test_session_that_is_not_kept_is_not_found() -> None:
    kept = Kept()

    with pytest.raises(FetchSessionIdNotFoundError):
        kept.turn(request(session=kept.id + 1, epoch=1))


@pytest.mark.parametrize("epoch", (2, LAST_EPOCH))
def test_epoch_that_is_not_the_next_one_is_refused(epoch: int) -> None:
    kept = Kept()

    with pytest.raises(InvalidFetchSessionEpochError, match=f"is at epoch 1, not {epoch}"):
        kept.next(epoch)


def test_epoch_after_the_last_one_is_1() -> None:
    kept = Kept()
    next(iter(kept.sessions._sessions.values())).epoch = LAST_EPOCH  # noqa: SLF001 - it takes long

    kept.next(LAST_EPOCH)

    assert numbers(kept.next(1)) == [0, 1, 2]


def test_session_of_names_takes_no_ids() -> None:
    kept = Kept()

    with pytest.raises(FetchSessionTopicIdError, match="names topics by name"):
        kept.turn(request(session=kept.id, epoch=1), version=IDS)


def test_session_may_be_of_ids() -> None:
    kept = Kept()
    turn = kept.turn(request(4), version=IDS)
    kept.id = kept.end(turn)[0]

    again = kept.turn(request(session=kept.id, epoch=1), version=IDS)

    assert [key for key, _ in again.asked] == [(b"i" * 16, 4)]


@pytest.mark.parametrize("epoch", (-1, 0))
def test_session_ends_when_its_reader_says_so_or_begins_anew(epoch: int) -> None:
    kept = Kept()

    kept.turn(request(0, session=kept.id, epoch=epoch))

    with pytest.raises(FetchSessionIdNotFoundError):
        kept.next(1)


def test_session_of_which_nothing_is_left_ends() -> None:
    kept = Kept()
    asked = request(session=kept.id, epoch=1)
    asked.forgotten_topics.append(ForgottenTopic(topic="t", partitions=[0, 1, 2]))

    assert kept.end(kept.turn(asked)) == (0, [])
    assert len(kept.sessions) == 0


def test_answer_that_its_successor_has_overtaken_is_refused() -> None:
    kept = Kept()
    slow = kept.next(1)
    kept.next(2)

    with pytest.raises(InvalidFetchSessionEpochError, match="gone on to epoch 3"):
        kept.end(slow)


def test_no_session_begins_where_there_is_no_room() -> None:
    kept = Kept(slots=1)

    assert kept.open(0, 1, 2, 3) == 0
    assert Kept(slots=0).id == 0


def test_session_that_was_silent_for_long_gives_way() -> None:
    kept = Kept(slots=1)

    assert kept.open(0, now_ms=EVICTION_MS) == 0
    assert kept.open(0, now_ms=EVICTION_MS + 1) > 0
    assert len(kept.sessions) == 1


def test_old_session_gives_way_to_a_larger_one_alone() -> None:
    kept = Kept(slots=1)
    now_ms = EVICTION_MS + 1
    kept.next(1, now_ms=now_ms)

    assert kept.open(0, 1, 2, now_ms=now_ms) == 0
    assert kept.open(0, 1, 2, 3, now_ms=now_ms) > 0
    assert len(kept.sessions) == 1


class Repeating:
    """Chance that says the same thing twice before it says another."""

    def __init__(self) -> None:
        self._numbers = iter((7, 7, 8))

    def below(self, limit: int) -> int:
        return next(self._numbers)

    def fraction(self) -> float:
        return 0

    def token(self, size: int) -> bytes:
        return bytes(size)


def test_sessions_never_share_an_id() -> None:
    sessions = FetchSessions(Repeating(), 2)

    turns = [sessions.begin(request(0), NAMES, now_ms=0) for _ in range(2)]

    assert [sessions.end(turn, [], now_ms=0)[0] for turn in turns] == [8, 9]
