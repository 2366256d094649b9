"""Commands of the family `fetch_sessions`: a broker's session cache, over partitions in a table.

The cache is the broker's. The partitions are values of the script: a high watermark, a log start,
and perhaps an error. Session ids are random numbers; scripts print them as S1, S2 in the order of
their creation. Names of topics are used as ids of topics too, by `version` 13 and above.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from cordwood.broker.loop_turns import LoopTurns, TurnQueue
from cordwood.broker.partitions.fetch_sessions import (
    MOST_PARTITIONS,
    NO_SESSION,
    FetchContext,
    FetchSession,
    FetchSessionCache,
    Key,
)
from cordwood.broker.partitions.requested_partitions import partitions_of
from cordwood.core.errors import ERRORS_BY_CODE
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from tests.scripts.transcript import ScriptError, error_name

#: The last version that names topics, and the first with their ids.
NAMES: Final = 12
UNKNOWN_SESSION: Final = 0x5EED
Place: TypeAlias = tuple[str, int]

_CODES: Final = {error_name(each("")).split()[0]: code for code, each in ERRORS_BY_CODE.items()}


@dataclass(frozen=True, slots=True)
class PartitionState:
    """The state of one partition; each offset between the bounds has one record."""

    high_watermark: int = 0
    log_start: int = 0
    error: int = 0


class FetchSessionCommands:
    """A broker that answers fetches, with a clock."""

    def __init__(self) -> None:
        self._clock = VirtualClock()
        self._cache = FetchSessionCache(SeededRandom(1), 0)
        self._partitions: dict[Place, PartitionState] = {}
        self._ids: list[int] = []
        self._sent: dict[str, FetchContext] = {}

    def cache(self, *, slots: int, partitions: int = MOST_PARTITIONS) -> None:
        """Start a broker with this `max.incremental.fetch.session.cache.slots`.

        `partitions` are the most of all sessions together.
        """
        self._cache = FetchSessionCache(SeededRandom(1), slots, most_partitions=partitions)

    def wait(self, time: int) -> str:
        """Advance the clock."""
        self._clock.advance(ms=time)
        return f"now {int(self._clock.monotonic_ms())}"

    def partition(
        self, *names: str, high_watermark: int = -1, log_start: int = -1, error: str = "NONE"
    ) -> None:
        """Set the state of partitions; a bound that is not given stays, an error does not."""
        for place in map(_place, names):
            state = self._partitions.get(place, PartitionState())
            self._partitions[place] = replace(
                state,
                high_watermark=state.high_watermark if high_watermark < 0 else high_watermark,
                log_start=state.log_start if log_start < 0 else log_start,
                error=0 if error == "NONE" else _CODES[error],
            )

    def fetch(
        self,
        *partitions: str,
        session: str = "none",
        epoch: int = 0,
        forget: str = "",
        version: int = NAMES,
    ) -> str:
        """Send a fetch and answer it; `topic-partition@offset` are the request's partitions."""
        request = self._request(partitions, session=session, epoch=epoch, forget=forget)
        return self._answer(self._context(request, version))

    def send(self, name: str, *partitions: str, session: str, epoch: int) -> str:
        """Send a fetch that waits for data, under a name; `answer` answers it."""
        request = self._request(partitions, session=session, epoch=epoch, forget="")
        self._sent[name] = context = self._context(request, NAMES)
        return f"reads {_reads(context)}"

    def answer(self, name: str) -> str:
        """Answer a fetch that was sent."""
        return self._answer(self._sent.pop(name))

    def sessions(self) -> str:
        """Print the cached sessions, the least recently used first."""
        lines = [
            f"{self._name(each.id)}: next epoch {each.epoch}, "
            f"partitions {' '.join(_name_of(key) for key in each.partitions)}, "
            f"created {int(each.created_ms)}, used {int(each.used_ms)}"
            for each in self._cached().values()
        ]
        return "\n".join(lines) or "none"

    def set_epoch(self, session: str, epoch: int) -> None:
        """Set the epoch of a session, since a script cannot send 2^31 requests."""
        self._cached()[self._id(session)].epoch = epoch

    def _cached(self) -> dict[int, FetchSession]:
        return self._cache._sessions  # noqa: SLF001 - the cache has no view of its sessions

    def _request(
        self, partitions: tuple[str, ...], *, session: str, epoch: int, forget: str
    ) -> FetchRequest:
        topics = dict[str, list[FetchPartition]]()
        for each in partitions:
            name, _, offset = each.partition("@")
            topic, index = _place(name)
            wanted = FetchPartition(
                partition=index, fetch_offset=int(offset or 0), partition_max_bytes=1 << 20
            )
            topics.setdefault(topic, []).append(wanted)
        return FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            session_id=self._id(session),
            session_epoch=epoch,
            topics=[
                FetchTopic(topic=topic, topic_id=_topic_id(topic), partitions=wanted)
                for topic, wanted in topics.items()
            ],
            forgotten_topics=[
                ForgottenTopic(topic=topic, topic_id=_topic_id(topic), partitions=[index])
                for topic, index in map(_place, filter(None, forget.split(",")))
            ],
        )

    def _context(self, request: FetchRequest, version: int) -> FetchContext:
        turns = LoopTurns(TurnQueue(self._clock, call_soon=lambda call: call()))
        partitions = asyncio.run(partitions_of(request, version, turns=turns))
        now_ms = self._clock.monotonic_ms()
        return self._cache.new_context(request, partitions, version=version, now_ms=now_ms)

    def _answer(self, context: FetchContext) -> str:
        data = [(each.key, self._data(each.key, each.wanted)) for each in context.requested]
        session_id, sent = self._cache.finish(context, data, now_ms=self._clock.monotonic_ms())
        if session_id != NO_SESSION and session_id not in self._ids:
            self._ids.append(session_id)
        first = f"session {self._name(session_id)}, reads {_reads(context)}"
        return "\n".join((first, *(_described(key, each) for key, each in sent)))

    def _data(self, key: Key, wanted: FetchPartition) -> PartitionData:
        state = self._partitions.get((_topic_of(key), key[1]), PartitionState())
        count = 0 if state.error else max(0, state.high_watermark - wanted.fetch_offset)
        return PartitionData(
            partition_index=key[1],
            error_code=state.error,
            high_watermark=-1 if state.error else state.high_watermark,
            log_start_offset=-1 if state.error else state.log_start,
            aborted_transactions=None,
            records=b"r" * count,
        )

    def _id(self, name: str) -> int:
        if name == "none":
            return NO_SESSION
        number = int(name.removeprefix("S"))
        return self._ids[number - 1] if number <= len(self._ids) else UNKNOWN_SESSION

    def _name(self, session_id: int) -> str:
        return "none" if session_id == NO_SESSION else f"S{self._ids.index(session_id) + 1}"


def _place(name: str) -> Place:
    topic, dash, index = name.rpartition("-")
    if not (dash and index.isdigit()):
        raise ScriptError(f"{name} is not a partition")
    return topic, int(index)


def _topic_id(topic: str) -> Uuid:
    return Uuid(topic.encode().ljust(16, b"."))


def _topic_of(key: Key) -> str:
    return key[0] if isinstance(key[0], str) else bytes(key[0]).decode().rstrip(".")


def _name_of(key: Key) -> str:
    return f"{_topic_of(key)}-{key[1]}"


def _reads(context: FetchContext) -> str:
    reads = [f"{_name_of(each.key)}@{each.wanted.fetch_offset}" for each in context.requested]
    return " ".join(reads) or "nothing"


def _described(key: Key, data: PartitionData) -> str:
    if data.error_code:
        return f"{_name_of(key)}: error {error_name(ERRORS_BY_CODE[data.error_code](''))}"
    records = data.records
    assert isinstance(records, bytes), "partitions are values of the script"
    bounds = f"high watermark {data.high_watermark}, log start {data.log_start_offset}"
    return f"{_name_of(key)}: {bounds}{_counted(len(records))}"


def _counted(records: int) -> str:
    if not records:
        return ""
    return ", 1 record" if records == 1 else f", {records} records"
