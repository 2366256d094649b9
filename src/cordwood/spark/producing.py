"""What a task of the sink does: rows become batches, partition by partition, and are sent.

    rows ──► of one topic ──► columns ──► of one partition ──► batches ──► producer

A task has a producer of its own, and is done when brokers have acknowledged all that it sent. It
holds no more than Spark's batch at hand and what the producer may have under way. When it fails
Spark runs it again from its beginning, so rows are written at least once.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from cordwood.client.blocking import Producer
from cordwood.core.ports import Clock
from cordwood.records import kernels
from cordwood.spark.sink_columns import by_partition, by_topic, record_columns
from cordwood.spark.sink_options import SinkOptions

if TYPE_CHECKING:
    from cordwood.client.deliveries import Delivery

#: Spark hands over batches of up to 64 MB; columns that are not as they have to be are copied.
_SLICE_BYTES: Final = 8 << 20


class RowProducer:
    """Sends rows; the first error that a broker gives back is raised by what is called next."""

    def __init__(
        self, producer: Producer[bytes, bytes], options: SinkOptions, *, clock: Clock
    ) -> None:
        self.count = 0
        self._producer = producer
        self._options = options
        self._clock = clock
        self._encoder = kernels.encoder()
        self._partitions: dict[str, int] = {}
        self._deliveries: deque[Delivery] = deque()

    def send(self, rows: pa.RecordBatch) -> None:
        """Take rows, some at a time, waiting for room."""
        for some in _slices(rows):
            for topic, of_topic in by_topic(some, self._options.topic):
                self._send(topic, of_topic)
        self.count += rows.num_rows

    def finish(self) -> None:
        """Return when brokers have all of it."""
        self._producer.flush()
        self._ensure_delivered()

    def _send(self, topic: str, rows: pa.RecordBatch) -> None:
        columns = record_columns(rows, now_ms=self._clock.now_ms())
        partitions = self._partitions.get(topic)
        if partitions is None:
            partitions = self._partitions[topic] = self._producer.partition_count(topic)
        chosen = by_partition(rows, columns.keys, partitions=partitions, encoder=self._encoder)
        most_bytes = self._options.batch_bytes
        for partition, numbers in chosen:
            for batch in self._encoder.encode(columns, numbers, most_bytes=most_bytes):
                sent = self._producer.send_batch(topic, batch, partition=partition)
                self._deliveries.append(sent)
                self._ensure_delivered()

    def _ensure_delivered(self) -> None:
        """Forget what brokers have, oldest first; raise what they said of one they have not."""
        while self._deliveries and self._deliveries[0].done():
            error = self._deliveries.popleft().exception()
            if error is not None:
                raise error


def _slices(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield rows in slices of about as many bytes as are copied at a time."""
    most_rows = max(1, rows.num_rows * _SLICE_BYTES // max(rows.nbytes, 1))
    for first in range(0, rows.num_rows, most_rows):
        yield rows.slice(first, most_rows)


def produce(batches: Iterable[pa.RecordBatch], options: SinkOptions, *, clock: Clock) -> int:
    """Send rows, and return how many there were."""
    with Producer[bytes, bytes].from_config(options.producer) as producer:
        rows = RowProducer(producer, options, clock=clock)
        for batch in batches:
            rows.send(batch)
        rows.finish()
        return rows.count
