"""Tests of producer ids and their blocks."""

import asyncio

import pytest

from cordwood.broker.metadata.metadata_writer import MetadataWriter
from cordwood.broker.metadata.producer_id_manager import (
    ProducerIdManager,
    block_after,
    block_allocator,
)
from cordwood.core.errors import UnknownServerError
from cordwood.core.producer_id_block import BLOCK_PATH, format_block
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.memory_metadata import MemoryMetadata
from tests.unit.broker.broker_samples import BlockAllocator, run, turns


async def ids(source: ProducerIdManager, count: int) -> list[int]:
    return [await source.next() for _ in range(count)]


def test_ids_continue_in_the_next_block() -> None:
    blocks = BlockAllocator()

    assert run(ids(ProducerIdManager(blocks.take), 1001))[-2:] == [999, 1000]
    assert blocks.latest == format_block(range(1000, 2000), 1)


def test_ids_start_with_a_new_block_after_a_restart() -> None:
    blocks = BlockAllocator()
    run(ids(ProducerIdManager(blocks.take), 1))

    assert run(ids(ProducerIdManager(blocks.take), 1)) == [1000]


def test_concurrent_requests_share_an_allocated_block() -> None:
    gate, blocks = asyncio.Event(), BlockAllocator()

    async def take() -> range:
        await gate.wait()
        return await blocks.take()

    async def scene() -> set[int]:
        source = ProducerIdManager(take)
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(source.next()) for _ in range(3)]
            await turns()
            gate.set()
        return {task.result() for task in asked}

    assert run(scene()) == {0, 1, 2}


def test_block_follows_the_last_block_of_kafka() -> None:
    latest = b'{"version":1,"broker":1,"block_start":"4000","block_end":"4999"}'

    assert block_after(latest) == range(5000, 6000)


def test_last_block_is_not_followed_by_another() -> None:
    with pytest.raises(UnknownServerError, match="all producer ids have been used"):
        block_after(format_block(range(2**63 - 1000, 2**63 - 1), 1))


def test_block_is_stored_before_it_is_used() -> None:
    store = MemoryMetadata()

    async def scene() -> list[range]:
        take = block_allocator(MetadataWriter(store, InlineWorker()), 7)
        return [await take(), await take()]

    assert run(scene()) == [range(1000), range(1000, 2000)]
    node = store.get(BLOCK_PATH)
    assert node is not None
    assert (node.data, node.version) == (format_block(range(1000, 2000), 7), 1)
