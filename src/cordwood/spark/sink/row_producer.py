"""The producer of a sink task: rows become record batches per partition, and are sent.

    rows ──► rows of a topic ──► columns ──► rows of a partition ──► batches ──► producer

Each task has its own producer, and succeeds when brokers have acknowledged all its batches. It
holds only Spark's current batch and the producer's buffer (`buffer.memory`). Spark retries a failed
task from its first row: without a transaction (`exactly_once`) rows are written at least once.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from cordwood.client.blocking import Producer
from cordwood.core.ports import Clock
from cordwood.records import kernels
from cordwood.spark.sink.row_digest import digest_of
from cordwood.spark.sink.sink_columns import record_columns, split_by_partition, split_by_topic
from cordwood.spark.sink.sink_options import SinkOptions

if TYPE_CHECKING:
    from cordwood.client.producer.delivery import Delivery

#: Bytes converted at a time: Spark's batches have up to 64 MB, and casting a column copies it.
_SLICE_BYTES: Final = 8 << 20


class RowProducer:
    """Sends rows; a failed delivery raises in the next call."""

    def __init__(
        self, producer: Producer[bytes, bytes], options: SinkOptions, *, clock: Clock
    ) -> None:
        self.count = 0
        #: The sum of the rows' digests, if they are wanted.
        self.digest = 0
        self.has_digest = False
        self._producer = producer
        self._options = options
        self._clock = clock
        self._encoder = kernels.encoder()
        self._partitions: dict[str, int] = {}
        self._deliveries: deque[Delivery] = deque()

    def send(self, rows: pa.RecordBatch) -> None:
        """Send rows, slice by slice; block while the producer's buffer is full."""
        for part in slices(rows):
            for topic, topic_rows in split_by_topic(part, self._options.topic):
                self._send(topic, topic_rows)
        self.count += rows.num_rows

    def finish(self) -> None:
        """Flush, and return when brokers have acknowledged all batches."""
        self._producer.flush()
        self._ensure_delivered()

    def _send(self, topic: str, rows: pa.RecordBatch) -> None:
        columns = record_columns(rows, now_ms=self._clock.now_ms())
        if self.has_digest:
            self.digest += digest_of(topic, columns, encoder=self._encoder)
        partitions = self._partitions.get(topic)
        if partitions is None:
            partitions = self._partitions[topic] = self._producer.partition_count(topic)
        chosen = split_by_partition(
            rows, columns.keys, partitions=partitions, encoder=self._encoder
        )
        most_bytes = self._options.batch_bytes
        for partition, numbers in chosen:
            for batch in self._encoder.encode(columns, numbers, most_bytes=most_bytes):
                sent = self._producer.send_batch(topic, batch, partition=partition)
                self._deliveries.append(sent)
                self._ensure_delivered()

    def _ensure_delivered(self) -> None:
        """Drop acknowledged deliveries, oldest first; raise the error of a failed one."""
        while self._deliveries and self._deliveries[0].done():
            error = self._deliveries.popleft().exception()
            if error is not None:
                raise error


def slices(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield slices of about `_SLICE_BYTES`."""
    most_rows = max(1, rows.num_rows * _SLICE_BYTES // max(rows.nbytes, 1))
    for first in range(0, rows.num_rows, most_rows):
        yield rows.slice(first, most_rows)


def produce(batches: Iterable[pa.RecordBatch], options: SinkOptions, *, clock: Clock) -> int:
    """Send the rows of a task, and return their number."""
    with Producer[bytes, bytes].from_config(options.producer) as producer:
        rows = RowProducer(producer, options, clock=clock)
        for batch in batches:
            rows.send(batch)
        rows.finish()
        return rows.count
