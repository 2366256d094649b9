"""Large messages: decoded and encoded on the worker, a few at a time."""

import asyncio
import gc
from contextlib import AsyncExitStack

import pytest

from cordwood.broker.large_messages import (
    AT_A_TIME,
    ELEMENTS_PER_TURN,
    MOST_BETWEEN_BROKERS,
    MOST_ELEMENTS,
    LargeMessages,
    decode_small,
    encode_small,
)
from cordwood.core.errors import BytesError
from cordwood.core.ports import Worker
from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from cordwood.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from cordwood.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.memory_files import MemoryFiles, MemorySlice
from tests.unit.broker.broker_samples import run, turns
from tests.unit.storage.manager_samples import HeldWorker

NAMES = 12
STOPS = 4


def large(worker: Worker) -> LargeMessages:
    return LargeMessages(worker, lambda call: asyncio.get_running_loop().call_soon(call))


def body(topics: int) -> memoryview:
    names = [MetadataRequestTopic(name=str(number)) for number in range(topics)]
    return memoryview(joined(encode(MetadataRequest(topics=names), NAMES)))


def answer(partitions: int, records: MemorySlice | None = None) -> FetchResponse:
    data = [
        PartitionData(
            partition_index=index,
            error_code=0,
            high_watermark=0,
            aborted_transactions=None,
            records=records or b"",
        )
        for index in range(partitions)
    ]
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=data)])


async def decoded(messages: LargeMessages, data: memoryview) -> int:
    async with messages.request(MetadataRequest, data, NAMES) as found:
        return len(found.topics or ())


def test_small_request_is_decoded_on_the_loop() -> None:
    found = decode_small(MetadataRequest, body(ELEMENTS_PER_TURN), NAMES)

    assert found is not None
    assert len(found.topics or ()) == ELEMENTS_PER_TURN
    assert decode_small(MetadataRequest, body(ELEMENTS_PER_TURN + 1), NAMES) is None


def test_request_with_many_elements_is_decoded_on_the_worker() -> None:
    worker = HeldWorker()

    async def scene() -> int:
        decoding = asyncio.ensure_future(decoded(large(worker), body(ELEMENTS_PER_TURN + 1)))
        await turns(2)
        assert len(worker.held) == 1
        worker.go_on()
        return await decoding

    assert run(scene()) == ELEMENTS_PER_TURN + 1


def test_request_with_too_many_elements_is_rejected() -> None:
    worker = HeldWorker()

    async def scene() -> None:
        decoding = asyncio.ensure_future(decoded(large(worker), body(MOST_ELEMENTS + 1)))
        await turns(2)
        worker.go_on()
        await decoding

    with pytest.RaisesGroup(BytesError, flatten_subgroups=True, allow_unwrapped=True):
        run(scene())


def stops(partitions: int) -> memoryview:
    states = [
        StopReplicaPartitionState(partition_index=number, delete_partition=False)
        for number in range(partitions)
    ]
    topics = [StopReplicaTopicState(topic_name="t", partition_states=states)]
    request = StopReplicaRequest(controller_id=1, controller_epoch=1, topic_states=topics)
    return memoryview(joined(encode(request, STOPS)))


@pytest.mark.parametrize("elements", (MOST_ELEMENTS + 1, MOST_BETWEEN_BROKERS))
def test_request_of_the_controller_may_have_the_partitions_of_a_cluster(elements: int) -> None:
    async def scene() -> int:
        messages = large(InlineWorker())
        async with messages.request(StopReplicaRequest, stops(elements - 1), STOPS) as found:
            return len(found.topic_states[0].partition_states)

    assert run(scene()) == elements - 1


def test_large_requests_are_handled_a_few_at_a_time() -> None:
    worker = HeldWorker()

    async def scene() -> list[int]:
        messages, data = large(worker), body(ELEMENTS_PER_TURN + 1)
        ended = asyncio.Event()

        async def handle() -> None:
            async with messages.request(MetadataRequest, data, NAMES):
                await ended.wait()

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_A_TIME + 2):
                group.create_task(handle())
            await turns(3)
            counts = [len(worker.held)]
            worker.go_on()
            await turns(3)
            ended.set()
            await turns(9)
            counts.append(len(worker.held))
            worker.go_on()
        return counts

    assert run(scene()) == [AT_A_TIME, 2]


def test_large_request_is_handled_without_full_collections() -> None:
    worker, before = HeldWorker(), gc.get_threshold()

    async def scene() -> tuple[int, ...]:
        async def threshold() -> tuple[int, ...]:
            data = body(ELEMENTS_PER_TURN + 1)
            async with large(worker).request(MetadataRequest, data, NAMES):
                return gc.get_threshold()

        handling = asyncio.ensure_future(threshold())
        await turns(2)
        worker.go_on()
        return await handling

    assert run(scene())[2] > 1_000 * before[2]
    assert gc.get_threshold() == before


def test_large_response_is_encoded_without_full_collections() -> None:
    worker, before = HeldWorker(), gc.get_threshold()

    async def scene() -> tuple[int, ...]:
        encoding = asyncio.ensure_future(large(worker).encode(answer(3), NAMES))
        await turns(2)
        during = gc.get_threshold()
        worker.go_on()
        await encoding
        return during

    assert run(scene())[2] > 1_000 * before[2]
    assert gc.get_threshold() == before


def test_large_response_is_encoded_on_the_worker() -> None:
    worker, response = HeldWorker(), answer(ELEMENTS_PER_TURN)

    async def scene() -> FetchResponse:
        encoding = asyncio.ensure_future(large(worker).encode(response, NAMES))
        await turns(2)
        assert len(worker.held) == 1
        worker.go_on()
        return decode(FetchResponse, joined(await encoding), NAMES)

    assert run(scene()) == response


def test_small_response_is_encoded_on_the_loop() -> None:
    response = answer(ELEMENTS_PER_TURN - 1)

    chunks = encode_small(response, NAMES)

    assert chunks is not None
    assert decode(FetchResponse, joined(chunks), NAMES) == response
    assert encode_small(answer(ELEMENTS_PER_TURN), NAMES) is None


def test_slices_of_a_cancelled_response_are_released(monkeypatch: pytest.MonkeyPatch) -> None:
    file = MemoryFiles().create("/log")
    file.append(bytes(9000))
    part, released, worker = file.slice(0, 9000), list[int](), HeldWorker()
    monkeypatch.setattr(MemorySlice, "release", lambda each: released.append(each.length))

    async def scene() -> None:
        async with AsyncExitStack():
            encoding = asyncio.ensure_future(
                large(worker).encode(answer(ELEMENTS_PER_TURN, part), NAMES)
            )
            await turns(2)
            encoding.cancel()
            await turns(2)
            assert not released
            worker.go_on()
            await turns(2)

    run(scene())
    assert released == [9000] * ELEMENTS_PER_TURN
