"""Unique producer ids, allocated in blocks (Kafka: `ProducerIdManager`, `ProducerIdsBlock`).

A block has 1,000 ids. It is stored durably before its first id is handed out, so the rest of a
block is never used after a restart. The metadata contain the last allocated block
(`core.producer_id_block`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from cordwood.broker.metadata.metadata_writer import MetadataWriter
from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import UnknownServerError
from cordwood.core.ports import MetadataStore
from cordwood.core.producer_id_block import (
    BLOCK_PATH,
    BLOCK_SIZE,
    format_block,
    next_producer_id,
)
from cordwood.core.znodes import CreateZNode, SetZNode, ZNodeChange


class ProducerIdManager:
    """Hands out producer ids; `allocate_block` allocates the next block to this broker."""

    def __init__(self, allocate_block: Callable[[], Awaitable[range]]) -> None:
        self._allocate_block = allocate_block
        self._left = iter(range(0))
        self._lock = asyncio.Lock()

    async def next(self) -> int:
        """Return an id that has never been handed out."""
        async with self._lock:
            found = next(self._left, None)
            if found is None:
                self._left = iter(await self._allocate_block())
                found = next(self._left)
            return found


def block_allocator(writer: MetadataWriter, broker_id: int) -> Callable[[], Awaitable[range]]:
    """Return a function that allocates a block in the metadata."""

    async def allocate_block() -> range:
        allocated: list[range] = []

        def claim(store: MetadataStore) -> Sequence[ZNodeChange]:
            node = store.get(BLOCK_PATH)
            block = block_after(None if node is None else node.data)
            allocated.append(block)
            data = format_block(block, broker_id)
            if node is None:
                return [CreateZNode(BLOCK_PATH, data)]
            return [SetZNode(BLOCK_PATH, data, version=node.version)]

        async with writer.change() as change:
            await change.store(claim)
        return allocated[-1]

    return allocate_block


def block_after(latest: bytes | None) -> range:
    """Return the block after `latest`, the stored one; the first block if that is None."""
    start = next_producer_id(latest)
    if start > INT64_MAX - BLOCK_SIZE:
        raise UnknownServerError("all producer ids have been used")
    return range(start, start + BLOCK_SIZE)
