"""Producer ids, no two of them alike for as long as a cluster lives.

Ids come in blocks of 1,000. A block is taken, durably, before the first of its ids is given out, so
what is left of it when a broker stops is never used. The last block taken stands in the metadata:

    {"version":1,"broker":1,"block_start":"4000","block_end":"4999"}      both ends included
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from cordwood.broker.metadata_writer import MetadataWriter
from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import DamagedFileError, UnknownServerError
from cordwood.core.nodes import CreateNode, NodeChange, SetNode
from cordwood.core.ports import MetadataStore

BLOCK_SIZE: Final = 1000
BLOCK_PATH: Final = "/latest_producer_id_block"


class ProducerIds:
    """Gives ids out; `take_block` makes another block this broker's own."""

    def __init__(self, take_block: Callable[[], Awaitable[range]]) -> None:
        self._take_block = take_block
        self._left = iter(range(0))
        self._taking = asyncio.Lock()

    async def next(self) -> int:
        """Return an id that nobody has had."""
        async with self._taking:
            found = next(self._left, None)
            if found is None:
                self._left = iter(await self._take_block())
                found = next(self._left)
            return found


def block_taker(writer: MetadataWriter, broker_id: int) -> Callable[[], Awaitable[range]]:
    """Return what takes a block in the metadata."""

    async def take_block() -> range:
        taken: list[range] = []

        def claim(store: MetadataStore) -> Sequence[NodeChange]:
            node = store.get(BLOCK_PATH)
            block = block_after(None if node is None else node.data)
            taken.append(block)
            data = format_block(block, broker_id)
            if node is None:
                return [CreateNode(BLOCK_PATH, data)]
            return [SetNode(BLOCK_PATH, data, version=node.version)]

        async with writer.change() as change:
            await change.keep(claim)
        return taken[-1]

    return take_block


def block_after(latest: bytes | None) -> range:
    """Return the block that follows the latest one, as the metadata has it; None if it has none."""
    start = 0 if latest is None else _end_of(latest) + 1
    if start > INT64_MAX - BLOCK_SIZE:
        raise UnknownServerError("there are no producer ids left")
    return range(start, start + BLOCK_SIZE)


def format_block(block: range, broker_id: int) -> bytes:
    """Return a block as the metadata has it."""
    told = {
        "version": 1,
        "broker": broker_id,
        "block_start": str(block.start),
        "block_end": str(block.stop - 1),
    }
    return json.dumps(told, separators=(",", ":")).encode()


def _end_of(latest: bytes) -> int:
    """Return the last id of a block; Kafka writes its numbers as text."""
    try:
        return int(json.loads(latest)["block_end"])
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFileError(
            "a block of producer ids that is none",
            path=BLOCK_PATH,
            remedy="restore the metadata from a copy: ids that were given out must not come again",
        ) from error
