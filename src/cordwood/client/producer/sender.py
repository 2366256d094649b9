"""Sender: sends ready batches to their leaders and retries them (Java: `Sender`).

`offer` may be called on any thread; all other methods run on the loop. A lock guards the
accumulator, which both use. A broker gets a limited number of requests at a time, each with at most
one batch per partition. If a request fails as a whole, all its batches fail alike.
"""

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial
from typing import Final

from cordwood.client.network.broker_connection import BrokerConnection
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.owned_tasks import WakeupSignal
from cordwood.client.network.response_errors import error_of
from cordwood.client.network.runtime import ClientRuntime, completion_of, resolve
from cordwood.client.producer.batch_result import BatchResult
from cordwood.client.producer.delivery import Delivery
from cordwood.client.producer.partition_queue import (
    NewBatch,
    NewRecord,
    PartitionQueue,
    ProducerBatch,
    ProducerIdentity,
)
from cordwood.client.producer.partitioners import PartitionChoice, Partitioner
from cordwood.client.producer.produce_request import produce_request, responses_by_partition
from cordwood.client.producer.produce_retries import (
    decide_error,
    is_delivered,
    is_split,
    may_be_written,
)
from cordwood.client.producer.record_accumulator import RecordAccumulator
from cordwood.client.producer.sender_errors import (
    buffer_timeout,
    delivery_timeout,
    ensure_partition,
)
from cordwood.client.producer.transaction_manager import TransactionManager
from cordwood.client.settings import ProducerSettings
from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import (
    InvalidRequestError,
    KafkaError,
    NetworkError,
    OutdatedError,
    RequestTimedOutError,
)
from cordwood.core.types import NO_OFFSET, NO_TIMESTAMP, TopicPartition
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
)
from cordwood.protocol.schema import NEWEST

_LAST_EXPLICIT: Final = 11

_log = logging.getLogger(__name__)


class Sender:  # tidy: allow[class-lines] one lock and one accumulator for all calls
    """Background task of one producer."""

    def __init__(  # tidy: allow[init-lines] assignments only
        self,
        client: NetworkClient,
        settings: ProducerSettings,
        partitioner: Partitioner,
        *,
        transactions: TransactionManager | None = None,
    ) -> None:
        self.clock = client.runtime.clock
        self._client = client
        self._settings = settings
        self._runtime = client.runtime
        self._choice = PartitionChoice(
            partitioner, client.runtime.random, switch_bytes=settings.batch_size
        )
        self._lock = threading.RLock()
        self._accumulator = RecordAccumulator(settings)
        self._wakeup = WakeupSignal(client.runtime)
        #: Adds partitions to the transaction, before the first batch is sent to them.
        self.add_partitions: Callable[[list[TopicPartition]], Awaitable[None]] | None = None
        self.is_wakeup_pending = False
        self._requests: Counter[int] = Counter()
        self._waiters: list[asyncio.Future[None]] = []
        self._loop = asyncio.get_running_loop()
        self._producer_id_request: asyncio.Task[None] | None = None
        self._is_closed = False
        self._transactions = transactions
        self._adding: asyncio.Task[None] | None = None
        self._idle: list[asyncio.Future[None]] = []
        self._work = client.tasks.start(self._run())
        client.on_change = self._wakeup.set
        client.topics.in_use = partial(
            _topics_in_use, self._accumulator, self._choice, lock=self._lock, runtime=client.runtime
        )

    @property
    def _most_version(self) -> int:
        """The last version with which a leader does not add the partition to a transaction."""
        is_explicit = self._transactions is not None and not self._transactions.is_implicit
        return _LAST_EXPLICIT if is_explicit else NEWEST

    def offer(self, record: NewRecord | NewBatch) -> Delivery | None:
        """Append a record or an encoded batch.

        None while the topic's metadata is missing or the buffer memory is used up: call
        `wait_until_ready` then.
        """
        cluster = self._client.cluster
        state = cluster.topics.get(record.topic)
        if state is None or (record.partition or 0) not in state.partitions:
            return None
        with self._lock:
            if self._is_closed:
                raise InvalidRequestError(f"{record.topic}: the producer is closed")
            if self._transactions is not None:
                self._transactions.ensure_open()
            partition = self._choice.choose(record, cluster)
            appended = self._accumulator.append(record, partition, now_ms=self._runtime.now_ms())
        if appended is None:
            return None
        if appended.is_wakeup_due and not self.is_wakeup_pending:
            self.is_wakeup_pending = True
            self._loop.call_soon_threadsafe(self._wakeup.set)
        return Delivery(appended.batch_result, appended.record_index, timestamp=record.timestamp)

    async def wait_until_ready(self, record: NewRecord | NewBatch, timeout_ms: float) -> None:
        """Return when a record may be offered again; raise an error that will not go away."""
        deadline_ms = self._runtime.now_ms() + timeout_ms  # of both waits
        state = await self._client.topic(record.topic, timeout_ms=timeout_ms)
        ensure_partition(record, len(state.partitions))
        with self._lock:
            is_full = self._accumulator.used_bytes + record.size > self._settings.buffer_memory
            if not is_full or not self._accumulator.used_bytes:
                return
            waiter = self._loop.create_future()
            self._waiters.append(waiter)
        await self._runtime.run_with_timeout(
            deadline_ms - self._runtime.now_ms(),
            completion_of(waiter),
            timeout_error=lambda: buffer_timeout(self._settings),
        )

    async def flush(self) -> None:
        """Send all batches at once, and return when each is acknowledged or has failed."""
        with self._lock:
            incomplete = self._accumulator.incomplete()
            self._accumulator.flushes += 1
        self._wakeup.set()
        try:
            for batch in incomplete:
                await _completion_of(batch.result)
        finally:
            self._accumulator.flushes -= 1

    async def drain(self) -> None:
        """Return when no request is in flight, to a leader or to add partitions."""
        while self._is_busy:
            waiter = self._loop.create_future()
            self._idle.append(waiter)
            await waiter

    def drop_unsent(self, error: KafkaError) -> None:
        """Fail the batches of a transaction that are not in flight."""
        assert self._transactions is not None, "only an abort drops batches"
        if any(batch.base_sequence is not None for batch in self._accumulator.unsent()):
            self._transactions.require_bump()
        self._fail_unsent(error)

    def adopt_identity(self, identity: ProducerIdentity) -> None:
        """Use the identity of the next transaction, with sequences from 0 on."""
        with self._lock:
            self._accumulator.restart(identity)

    def close(self) -> None:
        """Reject further records, and fail the batches that remain."""
        with self._lock:
            self._is_closed = True
            for batch in self._accumulator.incomplete():
                self._accumulator.fail(
                    batch,
                    NetworkError(
                        f"{batch.result.partition}: the producer was closed before the broker had"
                        " acknowledged; wait for `flush` first"
                    ),
                )
        self._work.cancel()

    # Sending.

    async def _run(self) -> None:
        while True:
            self.is_wakeup_pending = False
            now_ms = self._runtime.now_ms()
            try:
                until_ms = self._expire_and_send(now_ms)
            except Exception as error:  # noqa: BLE001 - records would wait forever
                until_ms = None
                self._fail_unsent(_unexpected(error))
            await self._wakeup.wait(until_ms)

    def _expire_and_send(self, now_ms: float) -> float | None:
        with self._lock:
            self._expire(now_ms)
            while self._send_due(now_ms):
                pass
            return self._accumulator.next_due_ms(now_ms)

    def _expire(self, now_ms: float) -> None:
        for batch in tuple(self._accumulator.expired(now_ms)):
            queue = self._accumulator.queue(*batch.result.partition)
            error = delivery_timeout(batch, queue, settings=self._settings)
            self._accumulator.expire(batch, error)
            self._release_waiters()
            if self._transactions is not None:
                self._fail_transaction(error)
                self._wakeup.set()
                return

    def _send_due(self, now_ms: float) -> bool:
        """Send each leader one request with its ready batches; False if none was sent."""
        by_leader: dict[int, list[PartitionQueue]] = {}
        for queue in self._accumulator.due(now_ms):
            if self._transactions is not None and not self._is_in_transaction(queue):
                continue
            leader = self._client.cluster.leader_of(*queue.partition)
            if leader is None:
                self._postpone_unresolved(queue, now_ms)
                self._client.rejected.add(queue.partition)
                self._client.refresh_soon()
            else:
                by_leader.setdefault(leader, []).append(queue)
        if not by_leader or not self._has_producer_id(by_leader):
            return False
        sent = [self._send_to(leader, queues) for leader, queues in by_leader.items()]
        return any(sent)

    def _is_in_transaction(self, queue: PartitionQueue) -> bool:
        """Return whether a partition's batches may be sent; if not, start to add it."""
        assert self._transactions is not None, "the caller has looked"
        if not self._transactions.is_sending:
            return False
        if self._transactions.use(queue.partition):
            return True
        if self._adding is None and self.add_partitions is not None:
            self._adding = self._client.tasks.start(self._add_partitions(self.add_partitions))
        return False

    async def _add_partitions(self, add: Callable[[list[TopicPartition]], Awaitable[None]]) -> None:
        assert self._transactions is not None, "only transactions add partitions"
        try:
            while partitions := self._transactions.partitions_to_add():
                await add(partitions)
                self._transactions.partitions_added(partitions)
        except KafkaError as error:
            self._fail_transaction(error)
        finally:
            self._adding = None
            self._wakeup.set()
            self._release_drains()

    def _fail_transaction(self, error: KafkaError) -> None:
        """Adopt the error, and fail all batches that are not sent."""
        if self._transactions is not None:
            self._transactions.fail(error)
            self._fail_unsent(error)

    def _postpone_unresolved(self, queue: PartitionQueue, now_ms: float) -> None:
        """Slow down the search for a leader once no caller waits for the batch."""
        if queue.waiting[0].result.is_done:
            queue.waiting[0].not_before_ms = now_ms + self._settings.retry_backoff_max_ms

    def _has_producer_id(self, by_leader: dict[int, list[PartitionQueue]]) -> bool:
        """Return whether sequences can be assigned; if not, start to request a producer id."""
        if not self._settings.enable_idempotence:
            return True
        identity = self._accumulator.identity
        if self._transactions is not None:
            return identity is not None
        queues = (queue for queues in by_leader.values() for queue in queues)
        if identity is not None and any(queue.needs_new_producer_id(identity) for queue in queues):
            self._accumulator.identity = identity = None
        if identity is None and self._producer_id_request is None:
            self._producer_id_request = self._client.tasks.start(self._request_producer_id())
        return identity is not None

    def _send_to(self, leader: int, queues: Iterable[PartitionQueue]) -> bool:
        most = self._settings.max_in_flight_requests_per_connection
        connection = self._client.ready(leader)
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
        self._client.tasks.start(self._send(connection, leader, batches=batches))
        return True

    async def _send(
        self, connection: BrokerConnection, leader: int, *, batches: list[ProducerBatch]
    ) -> None:
        try:
            request = produce_request(batches, self._settings, cluster=self._client.cluster)
            if request.acks == 0:
                await connection.send_without_response(request)
                self._assume_sent(batches)
            else:
                response = await connection.send(
                    request, ProduceResponse, most_version=self._most_version
                )
                self._handle_response(batches, response)
        except KafkaError as error:
            self._fail_request(batches, error)
        except Exception as error:  # noqa: BLE001 - batches would stay in flight
            self._fail_request(batches, _unexpected(error))
        finally:
            self._requests[leader] -= 1
            self._wakeup.set()
            self._release_drains()

    async def _request_producer_id(self) -> None:
        """Request a producer id; on failure, fail every unsent batch."""

        async def attempt() -> InitProducerIdResponse:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=INT32_MAX)
            response = await self._client.send_to_any(request, InitProducerIdResponse)
            if response.error_code:
                raise error_of(response.error_code, subject="no producer id")
            return response

        try:
            response = await self._client.retry_until_timeout(attempt, timeout_ms=INT32_MAX)
            self._accumulator.identity = ProducerIdentity(
                response.producer_id, response.producer_epoch
            )
        except KafkaError as error:
            self._fail_unsent(error)
        finally:
            self._producer_id_request = None
            self._wakeup.set()

    # Responses.

    def _assume_sent(self, batches: list[ProducerBatch]) -> None:
        with self._lock:
            for batch in batches:
                self._succeed(batch, NO_OFFSET, NO_TIMESTAMP)

    def _handle_response(self, batches: list[ProducerBatch], response: ProduceResponse) -> None:
        results = responses_by_partition(response, self._client.cluster)
        self._client.update_leaders(
            (
                (topic, partition, each.current_leader)
                for (topic, partition), each in results.items()
                if each.current_leader is not None
            ),
            response.node_endpoints,
        )
        with self._lock:
            for batch in batches:
                each = results.get(batch.result.partition)
                if each is None:
                    self._retry(
                        batch, NetworkError(f"{batch.result.partition}: missing in the response")
                    )
                else:
                    self._complete_batch(batch, each)

    def _fail_unsent(self, error: KafkaError) -> None:
        with self._lock:
            for batch in self._accumulator.unsent():
                self._fail(batch, error)

    def _fail_request(self, batches: list[ProducerBatch], error: KafkaError) -> None:
        """Retry or fail the batches of a request that have no response yet."""
        with self._lock:
            for batch in batches:
                if batch not in self._accumulator.queue(*batch.result.partition).in_flight:
                    continue
                if error.retriable:
                    self._retry(batch, error)
                else:
                    self._fail(batch, error)

    def _complete_batch(self, batch: ProducerBatch, result: PartitionProduceResponse) -> None:
        """Complete, retry or fail a batch by its leader's response."""
        queue = self._accumulator.queue(*batch.result.partition)
        if is_delivered(result, is_written=queue.is_written(batch)):
            offset = NO_OFFSET if result.error_code else result.base_offset
            self._succeed(batch, offset, result.log_append_time_ms)
            return
        if is_split(result.error_code, batch):
            queue.split(batch)
            return
        decision = decide_error(result, batch, is_gap_final=queue.is_gap_final(batch))
        if self._transactions is not None and decision.is_restart_due:
            self._fail(batch, decision.error)
            return
        if decision.is_restart_due:
            queue.restart()
        if decision.is_identity_lost:
            self._accumulator.identity = None
        if decision.is_retried:
            self._retry(batch, decision.error)
        else:
            self._fail(batch, decision.error)

    def _succeed(self, batch: ProducerBatch, base_offset: int, log_append_time: int) -> None:
        self._accumulator.succeed(batch, base_offset=base_offset, log_append_time=log_append_time)
        self._release_waiters()

    def _fail(self, batch: ProducerBatch, error: KafkaError) -> None:
        self._accumulator.fail(batch, error)
        self._release_waiters()
        if self._transactions is not None and self._transactions.is_sending:
            self._fail_transaction(error)

    def _retry(self, batch: ProducerBatch, error: KafkaError) -> None:
        if self._is_closed:
            return
        if self._transactions is not None and not self._transactions.is_sending:
            self._transactions.require_bump()
            self._fail(batch, error)
            return
        queue = self._accumulator.queue(*batch.result.partition)
        batch.problem = error
        if batch.result.is_done or not queue.is_forgotten(batch, error):
            batch.is_uncertain = may_be_written(error.code, before=batch.is_uncertain)
        if batch.result.is_done and not queue.is_unresolved(batch):
            queue.give_up(batch)
        else:
            backoff = self._client.backoff()
            backoff.failures = batch.attempts - 1
            queue.retry(batch, self._runtime.now_ms() + backoff.next_ms())
        if isinstance(error, OutdatedError):
            self._client.rejected.add(batch.result.partition)
        if isinstance(error, OutdatedError | NetworkError | RequestTimedOutError):
            self._client.refresh_soon()

    @property
    def _is_busy(self) -> bool:
        return self._adding is not None or any(self._requests.values())

    def _release_drains(self) -> None:
        if not self._is_busy:
            idle, self._idle = self._idle, []
            for waiter in idle:
                resolve(waiter)

    def _release_waiters(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            resolve(waiter)


def _topics_in_use(
    accumulator: RecordAccumulator,
    choice: PartitionChoice,
    *,
    lock: AbstractContextManager[object],
    runtime: ClientRuntime,
) -> Iterable[str]:
    """Return the topics that a producer uses, and drop the state of the others. Thread-safe."""
    with lock:
        topics = accumulator.topics_in_use(runtime.now_ms())
        choice.retain(topics)
    return topics


def _unexpected(error: Exception) -> KafkaError:
    """Return an error that ends the records concerned, for one that is not part of the protocol."""
    _log.error("batches fail with an unexpected error", exc_info=error)
    made = KafkaError(f"the batch cannot be sent: {type(error).__name__}: {error}")
    made.__cause__ = error
    return made


async def _completion_of(result: BatchResult) -> None:
    """Return when the result of each record is known."""
    done = asyncio.get_running_loop().create_future()
    result.add_callback(partial(resolve, done))
    await done
    for _, part in result.parts:
        await _completion_of(part)
