"""Producer ids never repeat, whoever asks and whatever stops in between."""

import asyncio
import json

import pytest

from cordwood.broker.metadata_writer import MetadataWriter
from cordwood.broker.producer_ids import (
    BLOCK_PATH,
    ProducerIds,
    block_after,
    block_taker,
    format_block,
)
from cordwood.core.errors import DamagedFileError, UnknownServerError
from cordwood.testing.metadata import MemoryMetadata
from cordwood.testing.worker import InlineWorker
from tests.unit.broker.broker_samples import Blocks, run, turns


async def ids(source: ProducerIds, count: int) -> list[int]:
    return [await source.next() for _ in range(count)]


def test_ids_go_on_in_the_next_block() -> None:
    blocks = Blocks()

    assert run(ids(ProducerIds(blocks.take), 1001))[-2:] == [999, 1000]
    assert blocks.latest == format_block(range(1000, 2000), 1)


def test_ids_begin_with_a_block_of_their_own_after_a_restart() -> None:
    blocks = Blocks()
    run(ids(ProducerIds(blocks.take), 1))

    assert run(ids(ProducerIds(blocks.take), 1)) == [1000]


def test_those_who_ask_while_a_block_is_taken_share_it() -> None:
    gate, blocks = asyncio.Event(), Blocks()

    async def take() -> range:
        await gate.wait()
        return await blocks.take()

    async def scene() -> set[int]:
        source = ProducerIds(take)
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(source.next()) for _ in range(3)]
            await turns()
            gate.set()
        return {task.result() for task in asked}

    assert run(scene()) == {0, 1, 2}


def test_block_is_told_as_kafka_tells_it() -> None:
    told = json.loads(format_block(block_after(None), 7))

    assert told == {"version": 1, "broker": 7, "block_start": "0", "block_end": "999"}


def test_block_follows_the_one_that_kafka_took() -> None:
    latest = b'{"version":1,"broker":1,"block_start":"4000","block_end":"4999"}'

    assert block_after(latest) == range(5000, 6000)


def test_last_block_is_not_followed_by_another() -> None:
    with pytest.raises(UnknownServerError, match="no producer ids left"):
        block_after(format_block(range(2**63 - 1000, 2**63 - 1), 1))


@pytest.mark.parametrize("latest", (b"", b"[]", b"{}", b'{"block_end":"x"}'))
def test_block_that_is_none_is_refused(latest: bytes) -> None:
    with pytest.raises(DamagedFileError, match="must not come again"):
        block_after(latest)


def test_block_is_kept_in_the_metadata_before_it_is_used() -> None:
    store = MemoryMetadata()

    async def scene() -> list[range]:
        take = block_taker(MetadataWriter(store, InlineWorker()), 7)
        return [await take(), await take()]

    assert run(scene()) == [range(1000), range(1000, 2000)]
    node = store.get(BLOCK_PATH)
    assert node is not None
    assert (node.data, node.version) == (format_block(range(1000, 2000), 7), 1)
