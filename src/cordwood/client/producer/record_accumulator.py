"""Record accumulator: batches of all partitions until they are sent (Java: `RecordAccumulator`).

A batch is ready when it is full, when its linger time is over, or during a flush. The first batch
of a partition is sent first. `buffer_memory` limits the bytes of all pending batches, those in
flight included; above it, appends wait until batches complete. A batch that stays after its
delivery timeout is outside this limit; a partition has at most five.
"""

from collections.abc import Iterator

from cordwood.client.producer.partition_queue import (
    NewBatch,
    NewRecord,
    PartitionQueue,
    ProducerBatch,
    ProducerIdentity,
    RecordAppendResult,
)
from cordwood.client.settings import ProducerSettings
from cordwood.core.errors import KafkaError, MessageTooLargeError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.batch_builder import BatchFields
from cordwood.records.compression import Codec


class RecordAccumulator:
    """Batches of one producer."""

    def __init__(self, settings: ProducerSettings) -> None:
        self.identity: ProducerIdentity | None = None
        self.flushes = 0
        self.used_bytes = 0
        self._settings = settings
        self._fields = BatchFields(
            codec=Codec.from_name(settings.compression_type),
            level=settings.compression_level,
        )
        self._queues: dict[tuple[str, int], PartitionQueue] = {}

    def append(
        self, new: NewRecord | NewBatch, partition: int, *, now_ms: float
    ) -> RecordAppendResult | None:
        """Append a record or an encoded batch; None if the buffer memory is used up."""
        size = new.size
        if size > self._settings.max_request_size:
            raise MessageTooLargeError(
                f"{new.topic}-{partition}: a record of {size} bytes is above"
                f" max_request_size={self._settings.max_request_size};"
                " raise it here, and max.message.bytes of the topic"
            )
        if self.used_bytes and self.used_bytes + size > self._settings.buffer_memory:
            return None
        queue = self.queue(new.topic, partition)
        appended = queue.append(new, now_ms)
        self.used_bytes += size
        return appended

    def restart(self, identity: ProducerIdentity) -> None:
        """Begin all sequences at 0 with another identity; no batch may be pending."""
        assert not any(queue.waiting or queue.in_flight for queue in self._queues.values())
        self._queues = {}
        self.identity = identity._replace(is_transactional=True)

    def queue(self, topic: str, partition: int) -> PartitionQueue:
        """Return a partition's queue."""
        queue = self._queues.get((topic, partition))
        if queue is None:
            queue = self._queues[topic, partition] = PartitionQueue(
                TopicPartition(TopicName(topic), PartitionId(partition)),
                self._fields,
                batch_size=self._settings.batch_size,
            )
        return queue

    def topics_in_use(self, now_ms: float) -> set[str]:
        """Return the topics with pending or recent batches; idle queues without sequences go.

        A queue with sequences stays, as in Java: the next batch has to continue them.
        """
        oldest_ms = now_ms - self._settings.metadata_max_idle_ms
        used = {
            key: queue
            for key, queue in self._queues.items()
            if queue.waiting or queue.in_flight or queue.used_ms >= oldest_ms
        }
        self._queues = {
            key: queue
            for key, queue in self._queues.items()
            if key in used or queue.identity is not None
        }
        return {topic for topic, _ in used}

    def due(self, now_ms: float) -> Iterator[PartitionQueue]:
        """Yield the queues whose first batch may be sent now."""
        for queue in self._queues.values():
            due_ms = self._due_ms(queue)
            if due_ms is not None and due_ms <= now_ms:
                yield queue

    def next_due_ms(self, now_ms: float) -> float | None:
        """Return when the next batch becomes ready or expires; None if no batch is pending."""
        timeout_ms = self._settings.delivery_timeout_ms
        times: list[float] = []
        for queue in self._queues.values():
            due_ms, oldest_ms = self._due_ms(queue), queue.oldest_pending_ms
            if due_ms is not None and due_ms > now_ms:
                times.append(due_ms)
            if oldest_ms is not None:
                times.append(oldest_ms + timeout_ms)
        return min(times, default=None)

    def take(self, queue: PartitionQueue) -> ProducerBatch:
        """Remove and return a queue's first batch, to be sent."""
        return queue.take(self.identity)

    def expired(self, now_ms: float) -> Iterator[ProducerBatch]:
        """Yield the pending batches that are older than `delivery_timeout_ms`."""
        latest_ms = now_ms - self._settings.delivery_timeout_ms
        for queue in self._queues.values():
            oldest_ms = queue.oldest_pending_ms
            if oldest_ms is not None and oldest_ms <= latest_ms:
                yield from (
                    batch
                    for batch in (*queue.in_flight, *queue.waiting)
                    if batch.created_ms <= latest_ms and not batch.result.is_done
                )

    def incomplete(self) -> list[ProducerBatch]:
        """Return every batch whose result is pending."""
        return [
            batch
            for queue in self._queues.values()
            for batch in (*queue.in_flight, *queue.waiting)
            if not batch.result.is_done
        ]

    def unsent(self) -> list[ProducerBatch]:
        """Return the batches that are not in flight."""
        return [batch for queue in self._queues.values() for batch in queue.waiting]

    def succeed(self, batch: ProducerBatch, *, base_offset: int, log_append_time: int) -> None:
        """Remove a batch, and complete it with its base offset."""
        self.queue(*batch.result.partition).acknowledge(batch)
        if not batch.result.is_done:
            self.used_bytes -= batch.reserved
            batch.result.succeed(base_offset, log_append_time)

    def fail(self, batch: ProducerBatch, error: KafkaError) -> None:
        """Remove a batch, and complete it with an error."""
        self.queue(*batch.result.partition).give_up(batch)
        self._report(batch, error)

    def expire(self, batch: ProducerBatch, error: KafkaError) -> None:
        """Complete a batch with an error; it stays if it may have been written."""
        self.queue(*batch.result.partition).expire(batch)
        self._report(batch, error)

    def _report(self, batch: ProducerBatch, error: KafkaError) -> None:
        if not batch.result.is_done:
            self.used_bytes -= batch.reserved
            batch.result.fail(error)

    def _due_ms(self, queue: PartitionQueue) -> float | None:
        """Return when a queue's next batch may be sent; None if it has none to be sent now.

        A batch waits `linger_ms`, unless it is full or during a flush; a retried one waits for its
        backoff instead (Java: `RecordAccumulator.batchReady`).
        """
        batch = queue.next_batch
        if batch is None:
            return None
        if batch.attempts or batch.is_full:
            return batch.not_before_ms
        return batch.created_ms + (0 if self.flushes else self._settings.linger_ms)
