"""Errors of records that the sender cannot send in time."""

from cordwood.client.producer.partition_queue import (
    NewBatch,
    NewRecord,
    PartitionQueue,
    ProducerBatch,
)
from cordwood.client.settings import ProducerSettings
from cordwood.core.errors import InvalidRequestError, KafkaError, RequestTimedOutError


def ensure_partition(record: NewRecord | NewBatch, partitions: int) -> None:
    """Raise InvalidRequestError for a partition that the topic does not have."""
    if record.partition is not None and not 0 <= record.partition < partitions:
        raise InvalidRequestError(
            f"topic {record.topic!r} has no partition {record.partition}:"
            f" choose one from 0 to {partitions - 1}"
        )


def buffer_timeout(settings: ProducerSettings) -> KafkaError:
    """Return the error of a record that got no buffer memory."""
    return RequestTimedOutError(
        f"the buffer memory of {settings.buffer_memory} bytes (buffer_memory) was used up"
        f" for {settings.max_block_ms} ms (max_block_ms)"
    )


def delivery_timeout(
    batch: ProducerBatch, queue: PartitionQueue, *, settings: ProducerSettings
) -> KafkaError:
    """Return the error of a batch that was not acknowledged in time."""
    nothing = "no response" if batch.attempts else "its leader was not reachable"
    return RequestTimedOutError(
        f"{batch.result.partition}: {batch.builder.count} records were not acknowledged within"
        f" {settings.delivery_timeout_ms} ms (delivery_timeout_ms), in {batch.attempts} attempts,"
        f" and {'may be' if queue.may_be_written(batch) else 'are not'} in the log;"
        f" the last error: {batch.problem or nothing}"
    )
