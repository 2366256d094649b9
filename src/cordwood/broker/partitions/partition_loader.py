"""Read of a whole partition into a coordinator's state (Kafka: `CoordinatorLoaderImpl`).

    load                   the records from the log start to the log end at the time of the call
    wait_until_committed   until the high watermark has reached the log end

The partition is read in chunks of whole batches, on the worker. The leadership is checked before
the first chunk, before each chunk, and after the last one: a state that was built while another
broker led the partition is worthless.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from cordwood.broker.partitions.partition import Partition
from cordwood.broker.pending_results import wait_for
from cordwood.core.ports import Lane, Worker
from cordwood.records.batch_header import read_header
from cordwood.storage.log.log_read import FetchIsolation

CHUNK_BYTES: Final = 1 << 20


async def load(
    partition: Partition, leader_epoch: int, *, worker: Worker, chunk_bytes: int = CHUNK_BYTES
) -> AsyncIterator[memoryview]:
    """Yield the whole batches of a partition that this broker leads in `leader_epoch`.

    Raises the error of a request with another epoch, or NotLeaderOrFollowerError, if the leadership
    ends meanwhile; KafkaStorageError if the disk fails.
    """
    bounds = partition.leader(leader_epoch).log.bounds
    offset, end = int(bounds.log_start), bounds.log_end
    while offset < end:
        partition.leader(leader_epoch)
        read = partition.read(
            offset, max_bytes=chunk_bytes, isolation=FetchIsolation.LOG_END, min_one=True
        )
        if read.slice is None:
            break
        try:
            data = await wait_for(worker.submit(read.slice.read, lane=Lane.READ))
        except OSError as error:
            raise read.slice.fail(error) from error
        finally:
            read.slice.release()
        whole, offset = _whole_batches(data)
        yield whole
    partition.leader(leader_epoch)


async def wait_until_committed(partition: Partition, leader_epoch: int) -> None:
    """Wait until the high watermark has reached the present log end; raise as `load`.

    The high watermark of a new leader is that of its last fetch as a follower.
    """
    end = partition.leader(leader_epoch).log.bounds.log_end
    position = partition.readable_position(FetchIsolation.LOG_END)
    while partition.leader(leader_epoch).log.bounds.high_watermark < end:
        assert position is not None, "the position of the log end is known in memory"
        reached = asyncio.Event()
        waiter = partition.wait_for(position, reached.set, isolation=FetchIsolation.HIGH_WATERMARK)
        try:
            await reached.wait()
        finally:
            waiter.cancel()


def _whole_batches(data: memoryview) -> tuple[memoryview, int]:
    """Return the whole batches of a chunk, and the offset after them."""
    position, offset = 0, -1
    while (header := read_header(data, position)) is not None and header.end <= len(data):
        position, offset = header.end, header.last_offset + 1
    assert position, "a chunk has at least one whole batch"
    return data[:position], offset
