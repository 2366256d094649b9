"""Sends what a producer has gathered: to each leader what is due, again where that may help.

`offer` may be called on any thread; everything else happens on the loop. What both touch, the
accumulator, is under one lock. A broker is given at most so many requests at a time, and each has
at most one batch a partition. A request that fails as a whole fails all of its batches alike.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterable
from functools import partial

from cordwood.client.accumulator import Accumulator
from cordwood.client.connection import Connection
from cordwood.client.deliveries import Delivery
from cordwood.client.partition_queue import (
    Identity,
    NewBatch,
    NewRecord,
    PartitionQueue,
    ProducerBatch,
)
from cordwood.client.partitioners import Partitioner, Sticky
from cordwood.client.produce_answers import (
    SUCCESSES,
    answers_by_partition,
    judge,
    produce_request,
)
from cordwood.client.refusals import refusal
from cordwood.client.router import Router
from cordwood.client.settings import ProducerSettings
from cordwood.client.surroundings import ring, until
from cordwood.client.tasks import Signal
from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import (
    InvalidRequestError,
    KafkaError,
    NetworkError,
    OutdatedError,
    RequestTimedOutError,
)
from cordwood.core.types import NO_OFFSET, NO_TIMESTAMP
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
)


class Sender:
    """One producer's way from records to brokers."""

    def __init__(
        self, router: Router, settings: ProducerSettings, partitioner: Partitioner
    ) -> None:
        self.clock = router.surroundings.clock
        self._router = router
        self._settings = settings
        self._surroundings = router.surroundings
        self._partitioner = partitioner
        self._sticky = Sticky(router.surroundings.random, switch_bytes=settings.batch_size)
        self._lock = threading.RLock()
        self._accumulator = Accumulator(settings)
        self._woken = Signal(router.surroundings)
        self.is_woken = False
        self._requests: Counter[int] = Counter()
        self._room: list[asyncio.Future[None]] = []
        self._loop = asyncio.get_running_loop()
        self._identifying: asyncio.Task[None] | None = None
        self._is_closed = False
        self._work = router.tasks.start(self._run())
        router.on_change = self._woken.set

    def offer(self, record: NewRecord | NewBatch) -> Delivery | None:
        """Take a record, or a batch of them.

        None while its topic is not known or there is no room: `make_way` then.
        """
        state = self._router.cluster.topics.get(record.topic)
        if state is None or (record.partition or 0) not in state.partitions:
            return None
        with self._lock:
            if self._is_closed:
                raise InvalidRequestError(f"{record.topic}: the producer is closed")
            partition = self._partition_of(record, len(state.partitions))
            appended = self._accumulator.append(
                record, partition, now_ms=self._surroundings.now_ms()
            )
        if appended is None:
            return None
        if appended.is_news and not self.is_woken:
            self.is_woken = True
            self._loop.call_soon_threadsafe(self._woken.set)
        return Delivery(appended.fate, appended.place, timestamp=record.timestamp)

    async def make_way(self, record: NewRecord | NewBatch, timeout_ms: float) -> None:
        """Return when a record may be offered again; an error says why it never will be taken."""
        state = await self._router.topic(record.topic, timeout_ms=timeout_ms)
        partitions = len(state.partitions)
        if record.partition is not None and not 0 <= record.partition < partitions:
            raise InvalidRequestError(
                f"topic {record.topic!r} has no partition {record.partition}:"
                f" choose one from 0 to {partitions - 1}"
            )
        with self._lock:
            is_full = self._accumulator.taken + record.size > self._settings.buffer_memory
            if not is_full or not self._accumulator.taken:
                return
            room = self._loop.create_future()
            self._room.append(room)
        await self._surroundings.within(timeout_ms, until(room), late=self._no_room)

    async def flush(self) -> None:
        """Send everything, and return when it is known what became of it."""
        with self._lock:
            undone = self._accumulator.undone()
            self._accumulator.flushes += 1
        self._woken.set()
        try:
            for batch in undone:
                known = self._loop.create_future()
                batch.fate.watch(partial(ring, known))
                await known
        finally:
            self._accumulator.flushes -= 1

    def close(self) -> None:
        """Take no more, and give up what is still here."""
        with self._lock:
            self._is_closed = True
            for batch in self._accumulator.undone():
                self._accumulator.fail(
                    batch,
                    NetworkError(
                        f"{batch.fate.partition}: the producer was closed before the broker had"
                        " acknowledged; wait for `flush` first"
                    ),
                )
        self._work.cancel()

    # What is sent, and when.

    async def _run(self) -> None:
        while True:
            self.is_woken = False
            now_ms = self._surroundings.now_ms()
            with self._lock:
                self._expire(now_ms)
                while self._send_due(now_ms):
                    pass
                until_ms = self._accumulator.next_due_ms(now_ms)
            await self._woken.wait(until_ms)

    def _expire(self, now_ms: float) -> None:
        for _, batch in tuple(self._accumulator.expired(now_ms)):
            self._fail(
                batch,
                RequestTimedOutError(
                    f"{batch.fate.partition}: {batch.builder.count} records were not delivered"
                    f" within {self._settings.delivery_timeout_ms} ms (delivery_timeout_ms),"
                    f" in {batch.attempts} attempts; the last problem:"
                    f" {batch.problem or 'its leader could not be reached'}"
                ),
            )

    def _send_due(self, now_ms: float) -> bool:
        """Send each leader a request of what is due; False when there was none to send."""
        by_leader: dict[int, list[PartitionQueue]] = {}
        for queue in self._accumulator.due(now_ms):
            leader = self._router.cluster.leader_of(*queue.partition)
            if leader is None:
                self._router.refresh_soon()
            else:
                by_leader.setdefault(leader, []).append(queue)
        if not by_leader or not self._is_identified(by_leader):
            return False
        sent = [self._send_to(leader, queues) for leader, queues in by_leader.items()]
        return any(sent)

    def _is_identified(self, by_leader: dict[int, list[PartitionQueue]]) -> bool:
        """Say whether sequences can be given; else begin to ask for a producer id."""
        if not self._settings.enable_idempotence:
            return True
        identity = self._accumulator.identity
        queues = (queue for queues in by_leader.values() for queue in queues)
        if identity is not None and any(queue.is_spent(identity) for queue in queues):
            self._accumulator.identity = identity = None
        if identity is None and self._identifying is None:
            self._identifying = self._router.tasks.start(self._identify())
        return identity is not None

    def _send_to(self, leader: int, queues: Iterable[PartitionQueue]) -> bool:
        most = self._settings.max_in_flight_requests_per_connection
        connection = self._router.ready(leader)
        if connection is None or self._requests[leader] >= most:
            return False
        batches: list[ProducerBatch] = []
        size = 0
        for queue in queues:
            size += queue.waiting[0].size
            if batches and size > self._settings.max_request_size:
                break
            batches.append(self._accumulator.take(queue))
        self._requests[leader] += 1
        self._router.tasks.start(self._send(connection, leader, batches=batches))
        return True

    async def _send(
        self, connection: Connection, leader: int, *, batches: list[ProducerBatch]
    ) -> None:
        request = produce_request(batches, self._settings, cluster=self._router.cluster)
        try:
            if request.acks == 0:
                await connection.tell(request)
                self._assume_sent(batches)
            else:
                self._take(batches, await connection.ask(request, ProduceResponse))
        except KafkaError as error:
            self._fail_request(batches, error)
        finally:
            self._requests[leader] -= 1
            self._woken.set()

    async def _identify(self) -> None:
        """Get a producer id; without one nothing can be sent, and what was sent is answered for."""

        async def attempt() -> InitProducerIdResponse:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=INT32_MAX)
            answer = await self._router.ask_any(request, InitProducerIdResponse)
            if answer.error_code:
                raise refusal(answer.error_code, subject="a producer id cannot be had")
            return answer

        try:
            answer = await self._router.persist(attempt, timeout_ms=INT32_MAX)
            self._accumulator.identity = Identity(answer.producer_id, answer.producer_epoch)
        except KafkaError as error:
            with self._lock:
                for batch in self._accumulator.unsent():
                    self._fail(batch, error)
        finally:
            self._identifying = None
            self._woken.set()

    # What brokers say of it.

    def _assume_sent(self, batches: list[ProducerBatch]) -> None:
        with self._lock:
            for batch in batches:
                self._succeed(batch, NO_OFFSET, NO_TIMESTAMP)

    def _take(self, batches: list[ProducerBatch], answer: ProduceResponse) -> None:
        told = answers_by_partition(answer, self._router.cluster)
        self._router.take_leaders(
            (
                (topic, partition, each.current_leader)
                for (topic, partition), each in told.items()
                if each.current_leader is not None
            ),
            answer.node_endpoints,
        )
        with self._lock:
            for batch in batches:
                each = told.get(batch.fate.partition)
                if each is None:
                    self._retry(batch, NetworkError(f"{batch.fate.partition}: no answer"))
                else:
                    self._judge(batch, each)

    def _fail_request(self, batches: list[ProducerBatch], error: KafkaError) -> None:
        with self._lock:
            for batch in batches:
                if error.retriable:
                    self._retry(batch, error)
                else:
                    self._fail(batch, error)

    def _judge(self, batch: ProducerBatch, told: PartitionProduceResponse) -> None:
        """Decide what becomes of a batch by what its leader says."""
        if told.error_code in SUCCESSES:
            offset = NO_OFFSET if told.error_code else told.base_offset
            self._succeed(batch, offset, told.log_append_time_ms)
            return
        queue = self._accumulator.queue(*batch.fate.partition)
        verdict = judge(told, batch, is_next=queue.is_next(batch))
        if verdict.is_restart_due:
            queue.restart()
        if verdict.is_identity_lost:
            self._accumulator.identity = None
        if verdict.is_retried:
            self._retry(batch, verdict.error)
        else:
            self._fail(batch, verdict.error)

    def _succeed(self, batch: ProducerBatch, base_offset: int, log_append_time: int) -> None:
        self._accumulator.succeed(batch, base_offset=base_offset, log_append_time=log_append_time)
        self._free()

    def _fail(self, batch: ProducerBatch, error: KafkaError) -> None:
        self._accumulator.fail(batch, error)
        self._free()

    def _retry(self, batch: ProducerBatch, error: KafkaError) -> None:
        if self._is_closed:
            return
        now_ms = self._surroundings.now_ms()
        backoff = self._router.backoff()
        backoff.failures = batch.attempts - 1
        self._accumulator.queue(*batch.fate.partition).retry(batch, now_ms + backoff.next_ms())
        batch.problem = error
        if isinstance(error, OutdatedError | NetworkError | RequestTimedOutError):
            self._router.refresh_soon()

    def _partition_of(self, record: NewRecord | NewBatch, partitions: int) -> int:
        if record.partition is not None:
            return record.partition
        key = record.key
        chosen = self._partitioner(None if key is None else bytes(key), partitions)
        if chosen is None:
            chosen = self._sticky.choose(record.topic, partitions, size=record.size)
        return chosen

    def _free(self) -> None:
        rooms, self._room = self._room, []
        for room in rooms:
            ring(room)

    def _no_room(self) -> KafkaError:
        return RequestTimedOutError(
            f"{self._settings.buffer_memory} bytes (buffer_memory) wait for brokers, and none"
            f" became free within {self._settings.max_block_ms} ms (max_block_ms)"
        )
