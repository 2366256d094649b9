"""Fetch sessions: a reader says once what it reads, and then only what changes, as does the answer.

    epoch -1    no session; one that is named ends
    epoch  0    everything is asked for, and a session begins with it if there is room
    epoch  n    the n-th request of a session: partitions come, change, and are forgotten; all that
                are left are read. 2^31 - 1 is followed by 1.

A partition is left out of the answer when it has no records, no error, and the same high watermark
and log start as were told last. One that has records goes to the end of the session's order, so
that a busy one does not keep others from their turn where bytes are short.

There is room for a session while fewer than `slots` are kept, if one has been silent for two
minutes, or if one that is two minutes old has fewer partitions: then that one goes.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import (
    FetchSessionIdNotFoundError,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpochError,
)
from cordwood.core.ids import Uuid
from cordwood.core.ports import Random
from cordwood.protocol.messages.fetch import FetchPartition, FetchRequest, PartitionData

EVICTION_MS: Final = 120_000
NO_SESSION: Final = 0
_FIRST_EPOCH: Final = 0
_NO_EPOCH: Final = -1
_FIRST_BY_ID: Final = 13
_UNKNOWN: Final = -1

Key: TypeAlias = tuple[str | Uuid, int]
"""A partition as the reader speaks of it: its topic's name or id, and its number."""

Answer: TypeAlias = tuple[Key, PartitionData]


class FetchSession:
    """What one reader reads, in the order of its turns, with the epoch of its next request."""

    __slots__ = ("_told", "asked", "began_ms", "epoch", "id", "is_by_id", "used_ms")

    def __init__(self, session_id: int, *, is_by_id: bool, now_ms: float) -> None:
        self.id: Final = session_id
        self.is_by_id: Final = is_by_id
        self.began_ms: Final = now_ms
        self.used_ms = now_ms
        self.epoch = 1
        self.asked: dict[Key, FetchPartition] = {}
        self._told: dict[Key, tuple[int, int]] = {}

    def forget(self, keys: Iterable[Key]) -> None:
        """Read these no more."""
        for key in keys:
            self.asked.pop(key, None)
            self._told.pop(key, None)

    def tell(self, answers: Iterable[Answer]) -> list[Answer]:
        """Return the answers that say something new, and note what they say."""
        return [answer for answer in answers if self._is_news(*answer)]

    def _is_news(self, key: Key, data: PartitionData) -> bool:
        bounds = data.high_watermark, data.log_start_offset
        is_news = self._told.get(key) != bounds
        if data.records:
            self.asked[key] = self.asked.pop(key)
            is_news = True
        if data.error_code:
            bounds = _UNKNOWN, data.log_start_offset  # so that it is told when the error has gone
            is_news = True
        self._told[key] = bounds
        return is_news or data.diverging_epoch is not None


class Turn(NamedTuple):
    """One request: what is read for it, and the session that it is of or may begin."""

    asked: Sequence[tuple[Key, FetchPartition]]
    session: FetchSession | None = None
    epoch: int = _NO_EPOCH
    is_by_id: bool = False


class FetchSessions:
    """The sessions of a broker, those that were silent for longest first."""

    def __init__(self, random: Random, slots: int) -> None:
        self._random = random
        self._slots = slots
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, request: FetchRequest, version: int, *, now_ms: float) -> Turn:
        """Return what a request is to be given.

        Raises FetchSessionIdNotFoundError, InvalidFetchSessionEpochError, FetchSessionTopicIdError.
        """
        is_by_id = version >= _FIRST_BY_ID
        asked = {
            (topic.topic_id if is_by_id else topic.topic, each.partition): each
            for topic in request.topics
            for each in topic.partitions
        }
        if request.session_epoch in (_NO_EPOCH, _FIRST_EPOCH):
            self._sessions.pop(request.session_id, None)
            return Turn([*asked.items()], epoch=request.session_epoch, is_by_id=is_by_id)
        session = self._find(request, is_by_id=is_by_id)
        session.asked |= asked
        session.forget(
            (topic.topic_id if is_by_id else topic.topic, index)
            for topic in request.forgotten_topics
            for index in topic.partitions
        )
        del self._sessions[session.id]
        if not session.asked:
            return Turn([])
        self._sessions[session.id] = session
        session.used_ms = now_ms
        session.epoch = _after(session.epoch)
        return Turn([*session.asked.items()], session, session.epoch, is_by_id)

    def end(self, turn: Turn, answers: list[Answer], *, now_ms: float) -> tuple[int, list[Answer]]:
        """Return the id of the request's session, and what of the answers is to be sent.

        InvalidFetchSessionEpochError if the session's next request has overtaken this one.
        """
        session = turn.session
        if session is not None:
            if session.epoch != turn.epoch:
                raise InvalidFetchSessionEpochError(
                    f"fetch session {session.id} has gone on to epoch {session.epoch}"
                )
            return session.id, session.tell(answers)
        if turn.epoch != _FIRST_EPOCH or not self._has_room(len(turn.asked), now_ms):
            return NO_SESSION, answers
        session = FetchSession(self._new_id(), is_by_id=turn.is_by_id, now_ms=now_ms)
        session.asked.update(turn.asked)
        session.tell(answers)
        self._sessions[session.id] = session
        return session.id, answers

    def _find(self, request: FetchRequest, *, is_by_id: bool) -> FetchSession:
        session = self._sessions.get(request.session_id)
        if session is None:
            raise FetchSessionIdNotFoundError(f"there is no fetch session {request.session_id}")
        if session.epoch != request.session_epoch:
            raise InvalidFetchSessionEpochError(
                f"fetch session {session.id} is at epoch {session.epoch}, not "
                f"{request.session_epoch}"
            )
        if session.is_by_id != is_by_id:
            raise FetchSessionTopicIdError(
                f"fetch session {session.id} names topics by {'id' if session.is_by_id else 'name'}"
            )
        return session

    def _has_room(self, size: int, now_ms: float) -> bool:
        """Whether a session of `size` partitions may begin; one that is worth less goes for it."""
        if len(self._sessions) < self._slots:
            return True
        silent = next(iter(self._sessions.values()), None)
        if silent is not None and now_ms - silent.used_ms > EVICTION_MS:
            del self._sessions[silent.id]
            return True
        old = [each for each in self._sessions.values() if now_ms - each.began_ms > EVICTION_MS]
        smallest = min(old, key=lambda each: len(each.asked), default=None)
        if smallest is None or len(smallest.asked) >= size:
            return False
        del self._sessions[smallest.id]
        return True

    def _new_id(self) -> int:
        while True:
            session_id = 1 + self._random.below(INT32_MAX)
            if session_id not in self._sessions:
                return session_id


def _after(epoch: int) -> int:
    return 1 if epoch == INT32_MAX else epoch + 1
