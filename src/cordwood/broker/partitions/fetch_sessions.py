"""Incremental fetch sessions (Kafka: `FetchSession`, `FetchSessionCache`, `FetchManager`).

A fetcher sends its partitions once, and then only changes; responses carry only changes too.

    epoch -1    a request without a session; the named session ends
    epoch  0    a full request, which creates a session if there is room
    epoch  n    the n-th request of a session: it adds, changes and removes partitions; all
                remaining ones are read. 2^31 - 1 is followed by 1.

A response leaves out a partition without records and without an error whose high watermark and log
start are those of the last response. A partition whose reader is idle (`idle_reader`) has these,
so that a poll need not read it.

A session has room while there are fewer than `slots`. Otherwise it replaces a session that has been
unused for two minutes, or one that is two minutes old and has fewer partitions.

Unlike Kafka's, sessions have MOST_PARTITIONS together at most, and each keeps existing partitions
only. A full request gets a response without a session if it does not fit, or if it names a
partition that does not exist. Its fetcher then continues with full requests. A session that
outgrows the limit, or adds such a partition, ends with the response: the next request gets
FETCH_SESSION_ID_NOT_FOUND, and its fetcher sends a full one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from cordwood.broker.partitions.session_readers import SessionReader, SessionReaders
from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import (
    FetchSessionIdNotFoundError,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpochError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.ports import Random
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.fetch import FetchPartition, FetchRequest, PartitionData
from cordwood.storage.log.log_read import FetchIsolation

EVICTION_MS: Final = 120_000
#: A partition takes about 400 bytes, and 600 more while its reader is idle.
MOST_PARTITIONS: Final = 100_000
NO_SESSION: Final = 0
_FIRST_EPOCH: Final = 0
_NO_EPOCH: Final = -1
FIRST_BY_ID: Final = 13
_UNKNOWN: Final = -1
_UNSENT: Final = -2
_MISSING: Final = frozenset({UnknownTopicOrPartitionError.code, UnknownTopicIdError.code})

Key: TypeAlias = tuple[str | Uuid, int]
"""A partition as the request has it: the topic's name or id, and the index."""

KeyedData: TypeAlias = tuple[Key, PartitionData]


class CachedPartition:
    """A partition of a fetcher, and the bounds that were sent last (Kafka: `CachedPartition`)."""

    __slots__ = ("high_watermark", "key", "log_start", "reader", "wanted")

    def __init__(self, key: Key, wanted: FetchPartition) -> None:
        self.key: Final = key
        self.wanted = wanted
        self.high_watermark = _UNSENT
        self.log_start = _UNSENT
        self.reader: SessionReader | None = None

    def idle_reader(self, isolation: FetchIsolation) -> SessionReader | None:
        """Return the reader if a read would find nothing but what was sent."""
        reader = self.reader
        if reader is None or not reader.is_idle(
            isolation, high_watermark=self.high_watermark, log_start=self.log_start
        ):
            return None
        return reader

    def want(self, wanted: FetchPartition) -> None:
        """Read from another position."""
        self.wanted = wanted
        self.keep(None)

    def keep(self, reader: SessionReader | None) -> None:
        """Use another reader, or none."""
        former, self.reader = self.reader, reader
        if former is not None:
            former.release()

    def update(self, data: PartitionData) -> bool:
        """Store the state that a response will have sent; return whether it has to be sent."""
        has_changed = (
            self.high_watermark != data.high_watermark or self.log_start != data.log_start_offset
        )
        # An unknown high watermark makes the first response after an error a change.
        self.high_watermark = _UNKNOWN if data.error_code else data.high_watermark
        self.log_start = data.log_start_offset
        is_sent_anyway = (
            data.records
            or data.error_code
            or data.diverging_epoch is not None
            or data.preferred_read_replica != _UNKNOWN
        )
        return has_changed or bool(is_sent_anyway)


class RequestedPartitions(NamedTuple):
    """The partitions of a request, each once, and those that its session forgets."""

    requested: dict[Key, CachedPartition]
    forgotten: Sequence[Key]


class FetchSession:
    """The partitions of one fetcher in reading order, and the epoch of its next request."""

    __slots__ = ("created_ms", "epoch", "id", "is_by_id", "partitions", "readers", "used_ms")

    def __init__(self, session_id: int, *, is_by_id: bool, now_ms: float) -> None:
        self.id: Final = session_id
        self.is_by_id: Final = is_by_id
        self.created_ms: Final = now_ms
        self.used_ms = now_ms
        self.epoch = 1
        self.partitions: dict[Key, CachedPartition] = {}
        self.readers: Final = SessionReaders()

    def want(self, requested: Mapping[Key, CachedPartition]) -> None:
        """Add partitions, or read them from another position."""
        for key, each in requested.items():
            cached = self.partitions.setdefault(key, each)
            if cached is not each:
                cached.want(each.wanted)

    def forget(self, keys: Iterable[Key]) -> None:
        """Remove partitions from the session."""
        for key in keys:
            cached = self.partitions.pop(key, None)
            if cached is not None:
                cached.keep(None)

    def release(self) -> None:
        """End the waits of all readers."""
        for cached in self.partitions.values():
            cached.keep(None)

    def has_new_missing(self, partitions: Iterable[KeyedData]) -> bool:
        """Whether one of the partitions that the last request added does not exist."""
        return any(
            data.error_code in _MISSING and self.partitions[key].high_watermark == _UNSENT
            for key, data in partitions
        )

    def select_changed(self, partitions: Iterable[KeyedData]) -> list[KeyedData]:
        """Return the partitions that differ from the last response, and store their state."""
        changed = []
        for key, data in partitions:
            if self.partitions[key].update(data):
                changed.append((key, data))
            if data.records:
                # To the end: a busy partition must not starve the others of their bytes.
                self.partitions[key] = self.partitions.pop(key)
        return changed


class FetchContext(NamedTuple):
    """One request: the partitions to read, and its session or the one it may create."""

    requested: Sequence[CachedPartition]
    session: FetchSession | None = None
    epoch: int = _NO_EPOCH
    is_by_id: bool = False


class FetchSessionCache:
    """The sessions of a broker, the least recently used first."""

    def __init__(
        self, random: Random, slots: int, *, most_partitions: int = MOST_PARTITIONS
    ) -> None:
        self._random = random
        self._slots = slots
        self._most_partitions = most_partitions
        self._sessions: dict[int, FetchSession] = {}
        #: The partitions of all sessions together. Each request of a session checks their limit.
        self.partitions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def new_context(
        self,
        request: FetchRequest,
        partitions: RequestedPartitions,
        *,
        version: int,
        now_ms: float,
    ) -> FetchContext:
        """Return the context of a request, with the changes to its session applied.

        Raises FetchSessionIdNotFoundError, InvalidFetchSessionEpochError, FetchSessionTopicIdError.
        """
        is_by_id = version >= FIRST_BY_ID
        if request.session_epoch in (_NO_EPOCH, _FIRST_EPOCH):
            self._remove(request.session_id)
            requested = [*partitions.requested.values()]
            return FetchContext(requested, epoch=request.session_epoch, is_by_id=is_by_id)
        session = self._find(request, is_by_id=is_by_id)
        # Taken out and added again, a session is the most recently used one.
        self._take(session.id)
        session.want(partitions.requested)
        session.forget(partitions.forgotten)
        if not session.partitions:
            return FetchContext([])
        self._add(session)
        session.used_ms = now_ms
        session.epoch = _after(session.epoch)
        return FetchContext([*session.partitions.values()], session, session.epoch, is_by_id)

    def finish(
        self, context: FetchContext, partitions: list[KeyedData], *, now_ms: float
    ) -> tuple[int, list[KeyedData]]:
        """Return the session id for the response, and the partitions to send.

        Raises InvalidFetchSessionEpochError if a later request of the session has overtaken this
        one.
        """
        session = context.session
        if session is not None:
            if session.epoch != context.epoch:
                raise InvalidFetchSessionEpochError(
                    f"fetch session {session.id} has advanced to epoch {session.epoch}"
                )
            if session.has_new_missing(partitions) or self.partitions > self._most_partitions:
                self._remove(session.id)
            return session.id, session.select_changed(partitions)
        is_full = context.epoch == _FIRST_EPOCH
        has_missing = any(data.error_code in _MISSING for _, data in partitions)
        if not is_full or has_missing or not self._make_room(len(context.requested), now_ms):
            return NO_SESSION, partitions
        session = FetchSession(self._new_id(), is_by_id=context.is_by_id, now_ms=now_ms)
        session.partitions.update((each.key, each) for each in context.requested)
        session.select_changed(partitions)
        self._add(session)
        return session.id, partitions

    def keep_readers(
        self, context: FetchContext, readers: Iterable[tuple[CachedPartition, SessionReader]]
    ) -> None:
        """Keep the readers of a fetch for the next one, unless its session is over."""
        session = context.session
        is_next = session is not None and session.epoch == context.epoch
        if session is None or not is_next or self._sessions.get(session.id) is not session:
            for _, reader in readers:
                reader.release()
            return
        for cached, reader in readers:
            cached.keep(reader)

    def _add(self, session: FetchSession) -> None:
        self._sessions[session.id] = session
        self.partitions += len(session.partitions)

    def _remove(self, session_id: int) -> None:
        """Remove a session, if it is there, and end its waits."""
        session = self._take(session_id)
        if session is not None:
            session.release()

    def _take(self, session_id: int) -> FetchSession | None:
        """Take a session out, if it is there; its partitions change only while it is out."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self.partitions -= len(session.partitions)
        return session

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

    def _make_room(self, size: int, now_ms: float) -> bool:
        """Evict sessions if a new one of `size` partitions needs it; return whether it fits."""
        if size > self._most_partitions:
            return False
        while self._is_full_with(size):
            unused = next(iter(self._sessions.values()), None)
            if unused is None or now_ms - unused.used_ms <= EVICTION_MS:
                break
            self._remove(unused.id)
        else:
            return True
        old = [each for each in self._sessions.values() if now_ms - each.created_ms > EVICTION_MS]
        smallest = min(old, key=lambda each: len(each.partitions), default=None)
        if smallest is None or len(smallest.partitions) >= size:
            return False
        self._remove(smallest.id)
        return not self._is_full_with(size)

    def _is_full_with(self, size: int) -> bool:
        has_slot = len(self._sessions) < self._slots
        return not has_slot or self.partitions + size > self._most_partitions

    def _new_id(self) -> int:
        while True:
            session_id = 1 + self._random.below(INT32_MAX)
            if session_id not in self._sessions:
                return session_id


def _after(epoch: int) -> int:
    return 1 if epoch == INT32_MAX else epoch + 1
