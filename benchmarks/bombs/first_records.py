"""The first record of many partitions, in one request: each needs files and an epoch of its own."""

from collections.abc import Iterable
from typing import Final

from benchmarks.bombs.compressed_batch import compressed_batch
from cordwood.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

#: The topic whose partitions have no record before.
UNUSED: Final = "unused"
_TIMEOUT_MS: Final = 30_000
_ALL_REPLICAS: Final = -1


def first_records(partitions: Iterable[int]) -> ProduceRequest:
    """Return the request with a batch of one record for each partition of the topic."""
    batch = compressed_batch(1)
    data = [PartitionProduceData(index=each, records=batch) for each in partitions]
    return ProduceRequest(
        acks=_ALL_REPLICAS,
        timeout_ms=_TIMEOUT_MS,
        topics=[TopicProduceData(name=UNUSED, partitions=data)],
    )
