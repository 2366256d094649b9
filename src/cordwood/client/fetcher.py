"""Reads ahead for a consumer: of each broker one request at a time, for every partition that has
room, a position and that broker for its leader.

A position that is not known is looked up first. Where a partition has got another leader, the last
epoch that was read is held against the new leader's log before anything more is read of it: that is
how a log is found out that was cut behind the reader's back.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from cordwood.client.fetch_session import FetchSession, Wanted
from cordwood.client.lookups import EARLIEST, LATEST, end_of_epoch, list_offsets
from cordwood.client.positions import Assignment, Position
from cordwood.client.record_set import RecordSet
from cordwood.client.refusals import refusal
from cordwood.client.router import Router
from cordwood.client.settings import ISOLATIONS, ConsumerSettings
from cordwood.client.tasks import Signal
from cordwood.core.errors import (
    KafkaError,
    MessageTooLargeError,
    OffsetOutOfRangeError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import NO_LEADER_EPOCH, TopicPartition
from cordwood.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData
from cordwood.records.chunk import AbortedTransaction

if TYPE_CHECKING:
    import asyncio

_SEEK: Final = "seek to an offset that it has, or choose an auto_offset_reset"
_PLACES: Final = {"earliest": EARLIEST, "latest": LATEST}


class _Asked(NamedTuple):
    """A partition that one fetch is for, as it was when that was decided."""

    position: Position
    generation: int
    wanted: Wanted


class Fetcher:
    """What happens behind a consumer's polls."""

    def __init__(self, router: Router, settings: ConsumerSettings, assignment: Assignment) -> None:
        self.arrived = Signal(router.surroundings)
        self._router = router
        self._settings = settings
        self._surroundings = router.surroundings
        self._assignment = assignment
        self._isolation = ISOLATIONS.index(settings.isolation_level)
        self._sessions: dict[int, FetchSession] = {}
        self._busy: set[int] = set()
        self._finding: set[int | None] = set()
        self._locating: set[str] = set()
        self._validating: asyncio.Task[None] | None = None
        self._woken = Signal(router.surroundings)
        router.on_change = self._woken.set
        router.tasks.start(self._run())

    def wake(self) -> None:
        """Look again what is to be read."""
        self._woken.set()

    async def _run(self) -> None:
        while True:
            now_ms = self._surroundings.now_ms()
            self._find_positions(now_ms)
            by_leader: dict[int, list[_Asked]] = {}
            for position in self._assignment:
                leader = self._leader_of(position) if _is_readable(position, now_ms) else None
                if leader is not None:
                    asked = _Asked(position, position.generation, self._wanted(position))
                    by_leader.setdefault(leader, []).append(asked)
            for leader, all_asked in by_leader.items():
                if leader not in self._busy and self._router.ready(leader) is not None:
                    self._busy.add(leader)
                    self._router.tasks.start(self._fetch(leader, all_asked))
            pauses = [
                each.not_before_ms for each in self._assignment if each.not_before_ms > now_ms
            ]
            await self._woken.wait(min(pauses, default=None))

    # Reading.

    def _leader_of(self, position: Position) -> int | None:
        """Return who is to be asked, once the position is sure to be in that broker's log."""
        state = self._router.cluster.partition(*position.partition)
        leader = self._router.cluster.leader_of(*position.partition)
        if state is None:
            self._locate_soon(position.partition.topic)
            return None
        if leader is None:
            self._router.refresh_soon()
            return None
        if NO_LEADER_EPOCH in {position.last_epoch, position.validated_epoch}:
            position.validated_epoch = state.leader_epoch
        if state.leader_epoch <= position.validated_epoch:
            return leader
        if self._validating is None:
            self._validating = self._router.tasks.start(self._validate(position))
        return None

    def _wanted(self, position: Position) -> Wanted:
        topic, _ = position.partition
        return Wanted(
            position.fetch_offset,
            position.validated_epoch,
            self._settings.max_partition_fetch_bytes,
            self._router.cluster.topic_id(topic),
        )

    async def _fetch(self, leader: int, asked: Sequence[_Asked]) -> None:
        session = self._sessions.setdefault(leader, FetchSession())
        wanted = {each.position.partition: each.wanted for each in asked}
        try:
            answer = await self._router.ask(
                leader, self._request(session, wanted), kind=FetchResponse
            )
            if not session.answered(answer.session_id, answer.error_code):
                raise refusal(answer.error_code, subject=f"fetch session with broker {leader}")
            if answer.error_code:
                raise refusal(answer.error_code, subject=f"fetch from broker {leader}")
            self._take(answer, self._current(asked))
        except KafkaError as error:
            session.end()
            for position in self._current(asked).values():
                self._postpone(position, error)
        finally:
            self._busy.discard(leader)
            self._woken.set()

    def _current(self, asked: Iterable[_Asked]) -> dict[TopicPartition, Position]:
        """Return what is still read, and from where it was when it was asked for."""
        return {
            each.position.partition: each.position
            for each in asked
            if each.position in self._assignment and each.position.generation == each.generation
        }

    def _request(
        self, session: FetchSession, wanted: Mapping[TopicPartition, Wanted]
    ) -> FetchRequest:
        said = session.request(wanted)
        return FetchRequest(
            max_wait_ms=self._settings.fetch_max_wait_ms,
            min_bytes=self._settings.fetch_min_bytes,
            max_bytes=self._settings.fetch_max_bytes,
            isolation_level=self._isolation,
            session_id=said.session_id,
            session_epoch=said.epoch,
            topics=said.topics,
            forgotten_topics=said.forgotten,
        )

    def _take(self, answer: FetchResponse, current: Mapping[TopicPartition, Position]) -> None:
        names = self._router.cluster.names_by_id()
        told = [
            (topic.topic or names.get(topic.topic_id, ""), each)
            for topic in answer.responses
            for each in topic.partitions
        ]
        self._router.take_leaders(
            (
                (topic, each.partition_index, each.current_leader)
                for topic, each in told
                if each.current_leader is not None
            ),
            answer.node_endpoints,
        )
        for topic, each in told:
            position = current.get((topic, each.partition_index))  # type: ignore[call-overload]  # a pair is equal to it
            if position is not None:
                self._judge(position, each)

    def _judge(self, position: Position, told: PartitionData) -> None:
        """Take what was read of a partition, or decide what is to be done."""
        if told.error_code == OffsetOutOfRangeError.code:
            self._reset(position)
        elif told.error_code:
            self._postpone(position, refusal(told.error_code, subject=str(position.partition)))
        else:
            position.high_watermark = told.high_watermark
            position.last_stable_offset = told.last_stable_offset
            position.log_start_offset = told.log_start_offset
            if told.records is not None and len(told.records):  # type: ignore[arg-type]  # what was read is a view
                self._keep(position, told)

    def _keep(self, position: Position, told: PartitionData) -> None:
        before = position.fetch_offset
        aborted = [
            AbortedTransaction(each.producer_id, each.first_offset)
            for each in told.aborted_transactions or ()
        ]
        position.take(
            RecordSet(
                partition=position.partition,
                data=told.records,  # type: ignore[arg-type]  # what was read is a view
                offset=before,
                aborted=tuple(aborted) if self._isolation else None,
                check_crcs=self._settings.check_crcs,
            )
        )
        if position.fetch_offset == before:
            position.fetched.pop()
            position.problem = MessageTooLargeError(
                f"{position.partition}: the batch at offset {before} is larger than"
                " max_partition_fetch_bytes; raise it"
            )
        self.arrived.set()

    def _postpone(self, position: Position, error: KafkaError) -> None:
        """Try again later where that may help; else whoever polls is told."""
        if error.retriable:
            pause_ms = self._settings.retry_backoff_ms
            position.not_before_ms = self._surroundings.now_ms() + pause_ms
            self._router.refresh_soon()
        else:
            self._report(position, error)

    def _report(self, position: Position, problem: KafkaError) -> None:
        """Tell whoever polls."""
        position.problem = problem
        self.arrived.set()

    # Finding and checking positions.

    def _reset(self, position: Position) -> None:
        """Do as `auto_offset_reset` says about an offset that the log does not have."""
        place = _PLACES.get(self._settings.auto_offset_reset)
        if position.fetched:  # what was read before the log lost it is handed out first
            position.not_before_ms = self._surroundings.now_ms() + self._settings.retry_backoff_ms
        elif place is not None:
            position.seek_to(place)
        else:
            text = f"{position.partition}: the log has no offset {position.fetch_offset}"
            self._report(position, OffsetOutOfRangeError(f"{text}; {_SEEK}"))

    def _find_positions(self, now_ms: float) -> None:
        """Look up what is not known, for each leader by itself: none holds up the others."""
        by_leader: dict[int | None, list[Position]] = {}
        for position in self._assignment:
            if position.offset is not None or position.problem or now_ms < position.not_before_ms:
                continue
            if position.place is None:
                self._begin(position)
            if position.place is None:
                continue
            if self._router.cluster.partition(*position.partition) is None:
                self._locate_soon(position.partition.topic)
                continue
            leader = self._router.cluster.leader_of(*position.partition)
            by_leader.setdefault(leader, []).append(position)
        for leader, positions in by_leader.items():
            if leader not in self._finding:
                self._finding.add(leader)
                self._router.tasks.start(self._find(leader, positions))

    def _begin(self, position: Position) -> None:
        """Decide about a partition that nobody has sought in."""
        position.place = _PLACES.get(self._settings.auto_offset_reset)
        if position.place is None:
            text = f"{position.partition} has no position"
            self._report(position, OffsetOutOfRangeError(f"{text}; {_SEEK}"))

    async def _find(self, leader: int | None, unknown: list[Position]) -> None:
        wanted = {each.partition: each.place for each in unknown if each.place is not None}
        generations = {each.partition: each.generation for each in unknown}
        try:
            found = await list_offsets(self._router, wanted, isolation_level=self._isolation)
            late = {each: LATEST for each, place in found.items() if place.offset < 0}
            if late:  # nothing is so late: go on with what comes
                found |= await list_offsets(self._router, late, isolation_level=self._isolation)
            for position in unknown:
                is_wanted = position.generation == generations[position.partition]
                if is_wanted and position.partition in found:
                    place = found[position.partition]
                    position.seek(place.offset, epoch=NO_LEADER_EPOCH)
        except KafkaError as error:
            for position in unknown:
                if position.generation == generations[position.partition]:
                    self._report(position, error)
        finally:
            self._finding.discard(leader)
            self._woken.set()
            self.arrived.set()

    def _locate_soon(self, topic: str) -> None:
        if topic not in self._locating:
            self._locating.add(topic)
            self._router.tasks.start(self._locate(topic))

    async def _locate(self, topic: str) -> None:
        """Learn of a topic that nobody has asked for yet, or of its new partitions."""
        try:
            await self._router.topic(topic, timeout_ms=self._settings.default_api_timeout_ms)
            if self._not_located(topic):
                await self._router.persist(self._router.refresh)
            for position in self._not_located(topic):
                text = f"there is no partition {position.partition}"
                self._report(position, UnknownTopicOrPartitionError(text))
        except KafkaError as error:
            for position in self._not_located(topic):
                self._report(position, error)
        finally:
            self._locating.discard(topic)
            self._woken.set()

    def _not_located(self, topic: str) -> list[Position]:
        cluster = self._router.cluster
        of_topic = [each for each in self._assignment if each.partition.topic == topic]
        return [each for each in of_topic if cluster.partition(*each.partition) is None]

    async def _validate(self, position: Position) -> None:
        state = self._router.cluster.partition(*position.partition)
        generation = position.generation
        try:
            epoch, end = await end_of_epoch(
                self._router, position.partition, epoch=position.last_epoch
            )
            if state is not None and position.generation == generation:
                if 0 <= end < position.fetch_offset:
                    self._cut_back(position, end, epoch)
                position.validated_epoch = state.leader_epoch
        except KafkaError as error:
            self._postpone(position, error)
        finally:
            self._validating = None
            self._woken.set()

    def _cut_back(self, position: Position, end: int, epoch: int) -> None:
        """Go on where the log of the new leader is no longer what was read."""
        if self._settings.auto_offset_reset == "none":
            text = (
                f"{position.partition}: the log was cut at offset {end}, before"
                f" {position.fetch_offset} that was reached"
            )
            self._report(position, OffsetOutOfRangeError(f"{text}; {_SEEK}"))
        else:
            position.seek(end, epoch=epoch)


def _is_readable(position: Position, now_ms: float) -> bool:
    return (
        position.offset is not None
        and position.problem is None
        and not position.is_paused
        and position.has_room
        and now_ms >= position.not_before_ms
    )
