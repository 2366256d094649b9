"""Records gathered into batches, partition by partition, until they may be sent.

A batch may be sent when it is full, when it has lingered, or when somebody flushes. Of a partition
its first batch goes first. What all batches take together, sent ones included, has a limit; beyond
it nothing more is taken until some of them are done.
"""

from collections.abc import Iterator

from cordwood.client.partition_queue import (
    Appended,
    Identity,
    NewBatch,
    NewRecord,
    PartitionQueue,
    ProducerBatch,
)
from cordwood.client.settings import ProducerSettings
from cordwood.core.errors import KafkaError, MessageTooLargeError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.builder import BatchFields
from cordwood.records.compression import Codec


class Accumulator:
    """The batches of one producer."""

    def __init__(self, settings: ProducerSettings) -> None:
        self.identity: Identity | None = None
        self.flushes = 0
        self.taken = 0
        self._settings = settings
        self._fields = BatchFields(
            codec=Codec.from_name(settings.compression_type), level=settings.compression_level
        )
        self._queues: dict[tuple[str, int], PartitionQueue] = {}

    def append(
        self, new: NewRecord | NewBatch, partition: int, *, now_ms: float
    ) -> Appended | None:
        """Add a record, or a batch of them; None without room."""
        size = new.size
        if size > self._settings.max_request_size:
            raise MessageTooLargeError(
                f"{new.topic}-{partition}: a record of {size} bytes is above"
                f" max_request_size={self._settings.max_request_size};"
                " raise it here, and max.message.bytes of the topic"
            )
        if self.taken and self.taken + size > self._settings.buffer_memory:
            return None
        queue = self.queue(new.topic, partition)
        appended = queue.append(new, now_ms)
        self.taken += size
        return appended

    def queue(self, topic: str, partition: int) -> PartitionQueue:
        """Return a partition's batches."""
        queue = self._queues.get((topic, partition))
        if queue is None:
            queue = self._queues[topic, partition] = PartitionQueue(
                TopicPartition(TopicName(topic), PartitionId(partition)),
                self._fields,
                batch_size=self._settings.batch_size,
            )
        return queue

    def due(self, now_ms: float) -> Iterator[PartitionQueue]:
        """Yield the partitions whose first batch may be sent now."""
        for queue in self._queues.values():
            due_ms = queue.due_ms(self._linger_ms)
            if due_ms is not None and due_ms <= now_ms:
                yield queue

    def next_due_ms(self, now_ms: float) -> float | None:
        """Return when the next batch may be sent or has to be given up; None if nothing waits."""
        timeout_ms = self._settings.delivery_timeout_ms
        times = [
            due_ms if due_ms > now_ms else queue.waiting[0].created_ms + timeout_ms
            for queue in self._queues.values()
            if (due_ms := queue.due_ms(self._linger_ms)) is not None
        ]
        return min(times, default=None)

    def take(self, queue: PartitionQueue) -> ProducerBatch:
        """Return a partition's first batch, to be sent."""
        return queue.take(self.identity)

    def expired(self, now_ms: float) -> Iterator[tuple[PartitionQueue, ProducerBatch]]:
        """Yield the waiting batches whose time is over."""
        for queue in self._queues.values():
            for batch in tuple(queue.waiting):
                if batch.created_ms + self._settings.delivery_timeout_ms > now_ms:
                    break
                yield queue, batch

    def undone(self) -> list[ProducerBatch]:
        """Return every batch of which nothing is known yet."""
        return [
            batch for queue in self._queues.values() for batch in (*queue.in_flight, *queue.waiting)
        ]

    def unsent(self) -> list[ProducerBatch]:
        """Return the batches that are at no broker."""
        return [batch for queue in self._queues.values() for batch in queue.waiting]

    def succeed(self, batch: ProducerBatch, *, base_offset: int, log_append_time: int) -> None:
        """Note where a batch is."""
        self.queue(*batch.fate.partition).acknowledge(batch)
        self.taken -= batch.reserved
        batch.fate.succeed(base_offset, log_append_time)

    def fail(self, batch: ProducerBatch, error: KafkaError) -> None:
        """Note that a batch is given up."""
        self.queue(*batch.fate.partition).give_up(batch)
        self.taken -= batch.reserved
        batch.fate.fail(error)

    @property
    def _linger_ms(self) -> float:
        return 0 if self.flushes else self._settings.linger_ms
