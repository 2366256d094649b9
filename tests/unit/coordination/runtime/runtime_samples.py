"""A runtime for tests: a shard that counts, a log in memory, and virtual time."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Final

from cordwood.broker.network.stop_signal import StopSignal
from cordwood.coordination.coordinator_record import (
    CoordinatorRecord,
    StoredMarker,
    StoredRecord,
)
from cordwood.coordination.outcome import (
    Answer,
    EventCount,
    Outcome,
    Ticket,
    TimerChange,
    TimerKey,
    TransactionalProducer,
)
from cordwood.coordination.ports import InternalLog, TransactionMarker
from cordwood.coordination.runtime.active_shard import ActiveShard
from cordwood.coordination.runtime.coordinator_runtime import CoordinatorRuntime
from cordwood.coordination.runtime.coordinator_timers import CoordinatorTimers
from cordwood.coordination.runtime.internal_batches import encode_batch
from cordwood.coordination.runtime.open_batch import OpenBatch
from cordwood.coordination.runtime.runtime_ports import RuntimePorts, ShardKind
from cordwood.coordination.topic_view import TopicView
from cordwood.core.errors import KafkaError
from cordwood.core.ports import Pending
from cordwood.protocol.messages.heartbeat import HeartbeatResponse
from cordwood.protocol.messages.internal import (
    GROUP_RECORDS,
    GroupMetadataKey,
    GroupMetadataValue,
)
from cordwood.protocol.schema import Response
from cordwood.records.batch_builder import BatchFields
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.records.record_batch import RecordBatch
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.broker_samples import turns

TIMER: Final = ("late", "g")


def group_record(group: str, generation: int = 0) -> CoordinatorRecord:
    """Return the record of a group."""
    value = GroupMetadataValue(
        protocol_type="", generation=generation, protocol=None, leader=None, members=[]
    )
    return CoordinatorRecord(2, GroupMetadataKey(group=group), value, 3)


class CountingShard:
    """A shard that has the groups of its records; `waiting` requests get answers at the end."""

    def __init__(self, log: InternalLog | None = None) -> None:
        self.partition = -1 if log is None else log.partition
        self.groups = list[str]()
        self.stored = list[StoredRecord]()
        self.markers = list[StoredMarker]()
        self.fired = list[tuple[TimerKey, int]]()
        self.versions = list[int]()
        self.waiting = list[Ticket]()
        self.loaded_ms = -1
        self.on_replay: Callable[[StoredRecord], object] = lambda _: None

    def replay(self, stored: StoredRecord) -> None:
        self.on_replay(stored)
        assert isinstance(stored.record.key, GroupMetadataKey)
        self.groups.append(stored.record.key.group)
        self.stored.append(stored)

    def replay_marker(self, stored: StoredMarker) -> None:
        self.markers.append(stored)

    def finish_load(self, now_ms: int) -> Outcome:
        self.loaded_ms = now_ms
        return Outcome()

    def on_timer(self, key: TimerKey, now_ms: int) -> Outcome:
        self.fired.append((key, now_ms))
        return Outcome(records=[group_record(key[1])])

    def on_topics(self, view: TopicView, now_ms: int) -> Outcome:
        self.versions.append(view.version)
        return Outcome()

    def close(self, error: KafkaError) -> Outcome:
        return Outcome(answers=[Answer(each, error) for each in self.waiting])

    # -- requests

    def add(self, *groups: str, ticket: Ticket) -> Outcome:
        """Store groups."""
        records = [group_record(each) for each in groups]
        return Outcome(records=records, answers=[Answer(ticket, HeartbeatResponse(error_code=0))])

    def wait(self, ticket: Ticket) -> Outcome:
        self.waiting.append(ticket)
        return Outcome()

    def set_timer(self, at_ms: int | None, *, ticket: Ticket) -> Outcome:
        answers = [Answer(ticket, HeartbeatResponse(error_code=0))]
        return Outcome(answers=answers, timers=[TimerChange(TIMER, at_ms)])


class MemoryLog:
    """A partition in memory. Appends count at once, or by hand if it `holds`; it can reject."""

    def __init__(self, clock: VirtualClock, *, partition: int = 0, leader_epoch: int = 0) -> None:
        self.partition: Final = partition
        self.leader_epoch: Final = leader_epoch
        self.batches = list[bytearray]()
        #: The results of the appends of the batches.
        self.appended = list[Future[int]]()
        self.end = 0
        self.holds = False
        self.held = list[Future[int]]()
        self.rejection: KafkaError | None = None
        #: The error of an append of a batch that was opened without one.
        self.late_rejection: KafkaError | None = None
        self.most_bytes = 1 << 20
        self.load_error: Exception | None = None
        self.loads = 0
        #: The moment at which loaded records count, if that is not at once.
        self.committed: asyncio.Future[None] | None = None
        self._clock = clock

    def encode(
        self, records: Sequence[CoordinatorRecord], *, producer: TransactionalProducer | None = None
    ) -> bytearray:
        return encode_batch(records, now_ms=self._clock.now_ms(), producer=producer)

    def append(
        self,
        records: Sequence[CoordinatorRecord],
        *,
        producer: TransactionalProducer | None = None,
        batch: bytearray | None = None,
    ) -> Pending[int]:
        if batch is None:
            batch = self.encode(records, producer=producer)
        return self._append(batch, len(records))

    def open_batch(self) -> OpenBatch:
        if self.rejection is not None:
            raise self.rejection
        return OpenBatch(self._append_built, most_bytes=self.most_bytes)

    def _append_built(self, batch: bytearray) -> Pending[int]:
        if self.late_rejection is not None:
            raise self.late_rejection
        return self._append(batch, RecordBatch(batch).count)

    def append_marker(self, marker: TransactionMarker) -> Pending[int]:
        control = EndTransaction(marker.is_commit, marker.coordinator_epoch)
        fields = BatchFields(producer_id=marker.producer_id, producer_epoch=marker.producer_epoch)
        return self._append(control_batch(control, fields, timestamp=self._clock.now_ms()), 1)

    def _append(self, batch: bytearray, count: int) -> Pending[int]:
        if self.rejection is not None:
            raise self.rejection
        batch[:8] = self.end.to_bytes(8, "big")
        self.batches.append(batch)
        pending = Future[int]()
        self.appended.append(pending)
        if self.holds:
            self.held.append(pending)
        else:
            pending.set_result(self.end)
        self.end += count
        return pending

    def count(self, base_offset: int = 0) -> None:
        """Let the first append that is held count."""
        self.held.pop(0).set_result(base_offset)

    async def load(self) -> AsyncIterator[memoryview]:
        self.loads += 1
        if self.load_error is not None:
            raise self.load_error
        for batch in [*self.batches]:
            await turns(1)
            yield memoryview(batch)

    async def wait_until_committed(self) -> None:
        if self.committed is not None:
            await self.committed


class RuntimeHarness:
    """A runtime of counting shards; `shards` are all that it has made."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.network_clock = VirtualClock()
        self.passed_turns = 0
        #: The real time that the replay of a record takes.
        self.shard_time_ms = 0
        self.shards = list[CountingShard]()
        self.counted = list[EventCount]()
        #: The topic and the time of each load.
        self.loads = list[tuple[str, float]]()
        self.ports = RuntimePorts(
            clock=self.clock,
            scheduler=self.clock,
            worker=InlineWorker(),
            network_clock=self.network_clock,
            network_scheduler=self.network_clock,
            next_turn=self._next_turn,
            call_soon=lambda call: call(),
            count=self.counted.append,
            loaded=lambda topic, took_ms: self.loads.append((topic, took_ms)),
        )
        self.kind = ShardKind("__consumer_offsets", GROUP_RECORDS, self._make)
        self.runtime = CoordinatorRuntime(self.kind, self.ports)

    def log(self, partition: int = 0, *, epoch: int = 0) -> MemoryLog:
        return MemoryLog(self.clock, partition=partition, leader_epoch=epoch)

    async def elect(self, log: MemoryLog | None = None) -> CountingShard:
        """Begin to coordinate a partition; return its shard, which is loaded."""
        self.runtime.elect(log or self.log())
        await turns(10)
        return self.shards[-1]

    async def add(self, *groups: str) -> HeartbeatResponse:
        """Store groups in the shard of partition 0."""
        return await self.runtime.call(
            0,
            lambda shard, ticket, _: shard.add(*groups, ticket=ticket),
            answer=HeartbeatResponse,
        )

    async def set_timer(self, at_ms: int | None) -> None:
        """Set the timer of the shard of partition 0 to a time."""
        await self.runtime.call(
            0,
            lambda shard, ticket, _: shard.set_timer(at_ms, ticket=ticket),
            answer=HeartbeatResponse,
        )

    async def wait(self, gone: StopSignal | None = None) -> HeartbeatResponse:
        """Wait in the shard of partition 0, until it ends."""
        return await self.runtime.call(
            0, lambda shard, ticket, _: shard.wait(ticket), answer=HeartbeatResponse, gone=gone
        )

    def _make(self, log: InternalLog) -> CountingShard:
        shard = CountingShard(log)
        shard.on_replay = lambda _: self.network_clock.advance(ms=self.shard_time_ms)
        self.shards.append(shard)
        return shard

    async def _next_turn(self) -> None:
        self.passed_turns += 1
        await turns(1)


class ActiveHarness:
    """A shard that serves, with its log; `broken` are the errors with which it ended."""

    def __init__(self, shard: CountingShard | None = None) -> None:
        harness = RuntimeHarness()
        self.log = harness.log()
        self.shard = CountingShard() if shard is None else shard
        self.clock, self.counted = harness.clock, harness.counted
        self.calls = list[Callable[[], object]]()
        self.call: Callable[[Callable[[], object]], object] = lambda call: call()
        ports = replace(harness.ports, call_soon=self._call_soon)
        self.active = ActiveShard(self.shard, self.log, ports, timers=CoordinatorTimers(ports))
        self.broken = list[KafkaError]()
        self.active.on_broken = self.broken.append

    def _call_soon(self, call: Callable[[], object]) -> None:
        self.call(call)

    def defer_calls(self) -> None:
        """Make the calls of the next turn by hand."""
        self.call = self.calls.append

    def make_calls(self) -> None:
        """Begin the next turn."""
        calls, self.calls[:] = [*self.calls], []
        for each in calls:
            each()

    def begin(self) -> tuple[Ticket, asyncio.Future[Response]]:
        return self.active.calls.begin()
